internal import CShim
internal import Glibc
internal import Synchronization

/// A named thread with one owner, who stops and then joins it.
///
/// `@unchecked Sendable`: `handle` is written once before `start` returns and read only by `join`, which an atomic lets
/// through once.
package final class WorkerThread: @unchecked Sendable {
    /// The scheduling priority to request.
    package enum Priority: Sendable {
        /// Below normal (nice 10), for recording and statistics.
        case background
        /// The default of the system.
        case normal
        /// Above normal (nice −10 if permitted). Threads that it creates, for instance in a library, are normal.
        case elevated
        /// SCHED_FIFO at the given level (1…99, sched(7)); `elevated` if not permitted. Threads that it creates are
        /// normal.
        case realtime(Int32)
    }

    /// The scheduling priority that was granted.
    package enum Grant: Int, Sendable { case normal, elevated, realtime }

    /// Written by `start` before the worker is published.
    private var handle = pthread_t()
    /// True after `join`, or if no thread was created.
    private let joined = Atomic<Bool>(false)
    /// Raw value of `grant`; stored once by the new thread.
    private let granted = Atomic<Int>(Grant.normal.rawValue)

    /// The granted priority; valid once the body has started.
    package var grant: Grant { Grant(rawValue: granted.load(ordering: .relaxed)) ?? .normal }

    private init() {}

    /// Detaches a thread that was not joined, so that its resources are freed when it ends.
    deinit {
        if !joined.load(ordering: .acquiring) { pthread_detach(handle) }
    }

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: shown by `ps -L` and debuggers; the kernel keeps 15 bytes.
    ///   - body: runs on the new thread, which ends when it returns. Released without a call on an error.
    /// - Throws: if the system cannot create a thread.
    package static func start(
        name: String, priority: Priority = .normal, _ body: @escaping @Sendable () -> Void
    ) throws(ExhaustionError) -> WorkerThread {
        let worker = WorkerThread()
        let start = Start(name: name, priority: priority, worker: worker, body: body)
        let passed = Unmanaged.passRetained(start)
        let code = pthread_create(
            &worker.handle, nil,
            { @Sendable raw in
                let start = Unmanaged<Start>.fromOpaque(raw!).takeRetainedValue()
                cshim_begin_thread(String(decoding: start.name.utf8.prefix(15), as: UTF8.self))
                start.run()
                return nil
            }, passed.toOpaque())
        guard code == 0 else {
            // No thread to join.
            worker.joined.store(true, ordering: .relaxed)
            passed.release()
            throw .thread(code)
        }
        return worker
    }

    /// Whether libdispatch has opened its descriptors.
    private static let isDispatchReady = Atomic<Bool>(false)

    /// Checks that the resources for a new task are available. Without threads libdispatch blocks the caller; without
    /// descriptors it aborts the program.
    ///
    /// The first call makes libdispatch open what it keeps, an epoll(7), an eventfd(2) and a timerfd(2), which takes a
    /// millisecond. A program calls it before its other threads exist: these may take the last descriptors between the
    /// check and the task.
    ///
    /// - Throws: if a thread or three descriptors are unavailable.
    package static func checkForTask() throws(ExhaustionError) {
        guard !isDispatchReady.load(ordering: .acquiring) else { return try start(name: "check") {}.join() }
        do {
            let descriptors = [try PollableSignal(), try PollableSignal(), try PollableSignal()]
            defer { withExtendedLifetime(descriptors) {} }
            // A worker and the manager, which waits for timers.
            let mayEnd = Signal()
            let first = try start(name: "check") { mayEnd.wait() }
            defer {
                mayEnd.raise()
                first.join()
            }
            try start(name: "check") {}.join()
        }
        let isReady = Signal()
        Task.detached {
            // ignored: nothing cancels this task.
            try? await Task.sleep(for: .milliseconds(1))
            isReady.raise()
        }
        isReady.wait(until: .now.advanced(by: .seconds(1)))
        isDispatchReady.store(true, ordering: .releasing)
    }

    /// Waits until the body has returned. Further calls return immediately. Must not be called on the thread itself.
    package func join() {
        if joined.exchange(true, ordering: .acquiringAndReleasing) { return }
        pthread_join(handle, nil)
    }

    /// The argument of the thread's entry point, because a C function pointer cannot capture.
    private final class Start: Sendable {
        func run() {
            worker.granted.store(requestPriority(priority).rawValue, ordering: .relaxed)
            body()
        }

        let name: String
        let priority: Priority
        let worker: WorkerThread
        let body: @Sendable () -> Void
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
        if cshim_schedule_this_thread_realtime(level) == 0 { return .realtime }
    }
    return cshim_elevate_this_thread(-10) == 0 ? .elevated : .normal
}

extension HostInstant {
    /// Sleeps the calling thread until this instant (clock_nanosleep(2), absolute). Returns immediately if it has
    /// passed.
    public func sleep() {
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}
