internal import MediaCore
internal import Synchronization

/// Something that takes a while, on a thread of its own, for a speaker that may be closed meanwhile.
final class BackgroundTask: Sendable {
    /// Closing a speaker waits so long for an attempt to reach it; one that is under way then ends by itself.
    private static let patience: Duration = .seconds(1)

    private let done = Signal()
    private let stopping = Signal()
    private let isStopped = Atomic<Bool>(false)

    /// - Parameter body: asks the errand whether it is still wanted, and rests with it.
    /// - Throws: when the system gives no thread; nothing has been done.
    init(name: String, _ body: @escaping @Sendable (BackgroundTask) -> Void) throws(ExhaustionError) {
        _ = try WorkerThread.start(name: name) {
            body(self)
            self.done.raise()
        }
    }

    /// Ends it, and waits for that a short while. Once.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        stopping.raise()
        done.wait(until: .now.advanced(by: Self.patience))
    }

    /// Rests until the moment comes; false when the errand is over.
    func rest(until moment: HostInstant) -> Bool {
        stopping.wait(until: moment)
        return !isStopped.load(ordering: .acquiring)
    }
}
