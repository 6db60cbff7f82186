internal import MediaCore
internal import Synchronization

/// Background work on its own thread for a speaker that may be closed meanwhile.
final class BackgroundTask: Sendable {
    /// How long `stop` waits for a connection attempt; one still in progress then ends on its own timeout.
    private static let timeout: Duration = .seconds(1)

    private let done = Signal()
    private let stopping = Signal()
    private let isStopped = Atomic<Bool>(false)

    /// Starts the thread.
    ///
    /// - Parameter body: Runs on the thread; calls `rest` for pauses and ends when that returns false.
    /// - Throws: `ExhaustionError` if the system provides no thread; `body` is not run.
    init(name: String, _ body: @escaping @Sendable (BackgroundTask) -> Void) throws(ExhaustionError) {
        _ = try WorkerThread.start(name: name) {
            body(self)
            self.done.raise()
        }
    }

    /// Requests the end and waits up to `timeout`. May be called once.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        stopping.raise()
        done.wait(until: .now.advanced(by: Self.timeout))
    }

    /// Waits until `moment`. Returns false if `stop` was called.
    func rest(until moment: HostInstant) -> Bool {
        stopping.wait(until: moment)
        return !isStopped.load(ordering: .acquiring)
    }
}
