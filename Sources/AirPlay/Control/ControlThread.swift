internal import MediaCore

/// The one thread that speaks to a speaker on its request channel. Jobs run one after the other; between them it
/// keeps the session alive.
///
/// The session's state is made on the thread and handed to jobs only, so it needs no lock. Where the system gives no thread it is
/// closed from the beginning, and every job fails with the reason.
final class ControlThread: Sendable {
    typealias Job = @Sendable (SessionCore) -> Void

    private struct Queue {
        var jobs: [Job] = []
        var isClosed = false
        /// Why there is no thread.
        var refusal: ExhaustionError?
    }

    private let queue = Lock(Queue())
    private let arrival = Signal()
    private let thread = Lock<WorkerThread?>(nil)

    init(_ make: @escaping @Sendable () -> SessionCore) {
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

    /// Why no job is taken.
    private var refusal: AirPlayError {
        queue.withLock { $0.refusal }.map { AirPlayError($0) }
            ?? AirPlayError(.outOfOrder, "This session has been ended; make a new one.")
    }

    /// Adds a job; returns at once. False when the thread has been closed: the job will not run.
    @discardableResult
    func post(_ job: @escaping Job) -> Bool {
        let accepted = queue.withLock { queue in
            guard !queue.isClosed else { return false }
            queue.jobs.append(job)
            return true
        }
        if accepted { arrival.raise() }
        return accepted
    }

    /// Runs a job and waits for its result; as long as the jobs before it and its own requests take.
    func perform<Result: Sendable>(
        _ body: @escaping @Sendable (SessionCore) throws(AirPlayError) -> Result
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

    /// Lets the jobs already added run and the thread end, without waiting for it.
    func closeWithoutWaiting() {
        queue.withLock { $0.isClosed = true }
        arrival.raise()
    }

    /// Lets the jobs already added run, then ends the thread and waits for it. Never call it on the thread itself.
    func close() {
        closeWithoutWaiting()
        thread.withLock({ $0 })?.join()
    }
}
