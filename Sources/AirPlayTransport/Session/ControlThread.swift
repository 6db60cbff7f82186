package import MediaCore

/// The session of a control thread. Used on that thread only.
package protocol ControlledSession: AnyObject, SendableMetatype {
    /// This computer's clock.
    var host: any HostClock { get }
    /// When `tick` is due.
    var nextTick: HostInstant { get }
    /// Performs all due periodic work.
    func tick()
}

/// The thread that sends all requests to one speaker. Jobs run in order; between them it keeps the session alive.
///
/// The session state is created on the thread and only passed to jobs, so it needs no lock. If the system provides no
/// thread, it is closed from the start and every job fails with the reason.
package final class ControlThread<Session: ControlledSession>: Sendable {
    package typealias Job = @Sendable (Session) -> Void

    private struct Queue {
        var jobs: [Job] = []
        var isClosed = false
        /// Why the thread could not be started.
        var refusal: ExhaustionError?
    }

    private let queue = Lock(Queue())
    private let arrival = Signal()
    private let thread = Lock<WorkerThread?>(nil)

    package init(_ make: @escaping @Sendable () -> Session) {
        let queue = queue
        let arrival = arrival
        do throws(ExhaustionError) {
            let worker = try WorkerThread.start(name: "airplay control") {
                let core = make()
                while true {
                    let (job, isClosed) = queue.withLock { queue in
                        (queue.jobs.isEmpty ? nil : queue.jobs.removeFirst(), queue.isClosed)
                    }
                    if let job {
                        job(core)
                    } else if isClosed {
                        return
                    } else if !arrival.wait(until: core.host.machineInstant(of: core.nextTick)) {
                        core.tick()
                    }
                }
            }
            thread.withLock { $0 = worker }
        } catch {
            queue.withLock { ($0.isClosed, $0.refusal) = (true, error) }
        }
    }

    /// The error of jobs that are not accepted.
    private var refusal: AirPlayError {
        queue.withLock { $0.refusal }.map { AirPlayError($0) }
            ?? AirPlayError(.outOfOrder, "This session has ended; create a new one.")
    }

    /// Queues a job. Returns at once; false if the thread is closed and the job will not run.
    @discardableResult
    package func post(_ job: @escaping Job) -> Bool {
        let accepted = queue.withLock { queue in
            guard !queue.isClosed else { return false }
            queue.jobs.append(job)
            return true
        }
        if accepted { arrival.raise() }
        return accepted
    }

    /// Runs a job and blocks for its result: until all earlier jobs and its own requests have finished.
    package func perform<Result: Sendable>(
        _ body: @escaping @Sendable (Session) throws(AirPlayError) -> Result
    ) throws(AirPlayError) -> Result {
        let box = Lock<Swift.Result<Result, AirPlayError>?>(nil)
        let done = Signal()
        let posted = post { core in
            let result: Swift.Result<Result, AirPlayError>
            do throws(AirPlayError) { result = .success(try body(core)) } catch { result = .failure(error) }
            box.withLock { $0 = result }
            done.raise()
        }
        guard posted else { throw refusal }
        done.wait()
        guard let result = box.withLock({ $0 }) else { throw refusal }
        return try result.get()
    }

    /// Ends the thread after the queued jobs, without blocking.
    package func closeWithoutWaiting() {
        queue.withLock { $0.isClosed = true }
        arrival.raise()
    }

    /// Ends the thread after the queued jobs and joins it. Must not be called on the thread itself.
    package func close() {
        closeWithoutWaiting()
        thread.withLock({ $0 })?.join()
    }
}
