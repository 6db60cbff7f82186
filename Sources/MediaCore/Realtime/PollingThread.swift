internal import Synchronization

/// A thread that waits in poll(2), with the signal that wakes it and the request to end. Any thread may call the
/// members; only `stop` blocks.
package final class PollingThread: Sendable {
    /// Wakes the thread.
    package let wake: PollableSignal
    private let name: String
    private let priority: WorkerThread.Priority
    private let stopping = Atomic<Bool>(false)
    private let worker = Lock<WorkerThread?>(nil)

    /// Creates a thread that `start` starts.
    ///
    /// - Throws: if the system has no descriptor.
    package init(name: String, priority: WorkerThread.Priority = .normal) throws(ExhaustionError) {
        (self.name, self.priority) = (name, priority)
        wake = try PollableSignal()
    }

    /// Starts the thread, once.
    ///
    /// - Parameter body: runs on the thread, and returns once `isStopping` is true. Released then.
    /// - Throws: if the system has no thread.
    package func start(_ body: @escaping @Sendable () -> Void) throws(ExhaustionError) {
        let started = try WorkerThread.start(name: name, priority: priority, body)
        worker.withLock { $0 = started }
    }

    /// Whether `stop` was called.
    package var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// Wakes the thread and waits until its body has returned. Without a thread it returns at once.
    package func stop() {
        stopping.store(true, ordering: .releasing)
        wake.raise()
        worker.withLock { $0 }?.join()
    }
}
