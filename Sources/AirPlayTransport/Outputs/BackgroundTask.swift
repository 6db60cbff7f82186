package import MediaCore
internal import Synchronization

/// Background work on its own thread for a speaker that may be closed meanwhile.
package final class BackgroundTask: Sendable {
    /// How long `stop` waits for a connection attempt; one still in progress then ends on its own timeout.
    private static let timeout: Duration = .seconds(1)

    private let done = Signal()
    private let stopping = Signal()
    private let isStopped = Atomic<Bool>(false)

    package init() {}

    /// Starts the thread. The task is stored before, so that a `stop` meanwhile waits for it.
    ///
    /// - Parameter body: Runs on the thread; calls `rest` for pauses and ends when that returns false. Also runs after
    ///   `stop`: it ends what it took over.
    /// - Throws: `ExhaustionError` if the system provides no thread; `body` is not run.
    package func start(name: String, _ body: @escaping @Sendable (BackgroundTask) -> Void) throws(ExhaustionError) {
        do throws(ExhaustionError) {
            _ = try WorkerThread.start(name: name) {
                body(self)
                self.done.raise()
            }
        } catch {
            done.raise()
            throw error
        }
    }

    /// Requests the end and waits up to `timeout`. May be called once, also before `start`.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        stopping.raise()
        done.wait(until: .now.advanced(by: Self.timeout))
    }

    /// Waits until `deadline`. Returns false if `stop` was called.
    package func rest(until deadline: HostInstant) -> Bool {
        stopping.wait(until: deadline)
        return !isStopped.load(ordering: .acquiring)
    }
}
