internal import CShim
internal import Glibc
internal import Synchronization

/// A named thread with one owner. The owner tells it to stop in its own way and then joins it.
///
/// `@unchecked Sendable`: the thread handle is written once before `start` returns and read only by `join`, which
/// an atomic lets through once.
public final class WorkerThread: @unchecked Sendable {
    /// What the kernel's scheduler is asked for.
    public enum Priority: Sendable {
        /// After everybody else (nice 10): records and statistics.
        case background
        /// Like everybody else.
        case normal
        /// Before ordinary work (nice −10 when permitted).
        case elevated
        /// SCHED_FIFO at the given level (1…99, sched(7)); falls back to `elevated` when not permitted.
        case realtime(Int32)
    }

    /// What was granted.
    public enum Grant: Int, Sendable { case normal, elevated, realtime }

    private var handle = pthread_t()
    private let joined = Atomic<Bool>(false)
    private let granted = Atomic<Int>(Grant.normal.rawValue)

    /// What the kernel granted; meaningful once the body has begun.
    public var grant: Grant { Grant(rawValue: granted.load(ordering: .relaxed)) ?? .normal }

    private init() {}

    /// A thread that nobody waited for gives its memory back by itself, whether it has ended or not.
    deinit {
        if !joined.load(ordering: .acquiring) { pthread_detach(handle) }
    }

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: shown by `ps -L` and debuggers; the kernel keeps 15 bytes.
    ///   - body: runs on the new thread; the thread ends when it returns. It is let go unrun when there is no thread.
    /// - Throws: when the system gives no further thread.
    public static func start(
        name: String, priority: Priority = .normal, _ body: @escaping @Sendable () -> Void
    ) throws(ExhaustionError) -> WorkerThread {
        let worker = WorkerThread()
        let start = Start(name: name, priority: priority, worker: worker, body: body)
        let passed = Unmanaged.passRetained(start)
        let code = pthread_create(
            &worker.handle, nil,
            { @Sendable raw in
                let start = Unmanaged<Start>.fromOpaque(raw!).takeRetainedValue()
                cshim_name_this_thread(String(decoding: start.name.utf8.prefix(15), as: UTF8.self))
                start.run()
                return nil
            }, passed.toOpaque())
        guard code == 0 else {
            // There is nothing to wait for.
            worker.joined.store(true, ordering: .relaxed)
            passed.release()
            throw .thread(code)
        }
        return worker
    }

    /// Asks whether the system gives what a task needs that is begun now: where it gives no thread libdispatch keeps the caller
    /// waiting, and where it gives no descriptors it ends the program.
    package static func checkForTask() throws(ExhaustionError) {
        let descriptors = [try PollableSignal(), try PollableSignal(), try PollableSignal()]
        defer { withExtendedLifetime(descriptors) {} }
        try start(name: "check") {}.join()
    }

    /// Waits until the body has returned. Calling it again does nothing; never call it on the thread itself.
    public func join() {
        if joined.exchange(true, ordering: .acquiringAndReleasing) { return }
        pthread_join(handle, nil)
    }

    /// What travels to the new thread. A method of it, because a C function pointer may not capture anything.
    private final class Start: Sendable {
        package func run() {
            worker.granted.store(requestPriority(priority).rawValue, ordering: .relaxed)
            body()
        }

        package let name: String
        package let priority: Priority
        package let worker: WorkerThread
        package let body: @Sendable () -> Void
        init(name: String, priority: Priority, worker: WorkerThread, body: @escaping @Sendable () -> Void) {
            (self.name, self.priority, self.worker, self.body) = (name, priority, worker, body)
        }
    }
}

private func requestPriority(_ priority: WorkerThread.Priority) -> WorkerThread.Grant {
    switch priority {
    case .background:
        cshim_renice_this_thread(10)
        return .normal
    case .normal: return .normal
    case .elevated: break
    case .realtime(let level):
        var parameter = sched_param()
        parameter.sched_priority = level
        if pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter) == 0 { return .realtime }
    }
    return cshim_renice_this_thread(-10) == 0 ? .elevated : .normal
}

extension HostInstant {
    /// Sleeps the calling thread until this moment (clock_nanosleep(2), absolute); returns at once when it has passed.
    public func sleep() {
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}
