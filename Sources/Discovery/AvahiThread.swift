internal import CAvahi
internal import Glibc
internal import MediaCore
internal import Synchronization

/// An event loop of libavahi-client on a thread of its own, on which its callbacks, timers and requests run.
///
/// The library's calls block until the daemon has replied, up to 25 s each where the daemon is stopped (the default
/// time limit of libdbus). Therefore they are made on this thread only, and no other one waits for it except in `stop`,
/// for at most two seconds. Avahi's own threaded poll has a lock for which others wait, and joins a thread that was not
/// created.
///
/// `@unchecked Sendable`: the loop is used by its thread, before `start` by the owner, and afterwards by `deinit`.
final class AvahiThread: @unchecked Sendable {
    /// The maximum time for which `stop` waits.
    private static let stopTimeout = Duration.seconds(2)

    private let poll: OpaquePointer
    private let wakeup: PollableSignal
    /// Nil after the end of the thread: a request retains what retains this object.
    private let requests = Lock<[@Sendable () -> Void]?>([])
    private let isStopping = Atomic<Bool>(false)
    /// Raised when the thread ends.
    private let ended = Signal()
    private let thread = Lock<WorkerThread?>(nil)
    /// When `stop` no longer waits; nil before `cancel`.
    private let deadline = Lock<HostInstant?>(nil)

    /// A call that takes as long has got no answer: the time limit is 25 s.
    static let silence = Duration.seconds(20)

    /// Creates a loop without a thread.
    ///
    /// - Throws: `daemonMissing` if the system is out of descriptors or memory.
    init() throws(DiscoveryError) {
        do { wakeup = try PollableSignal() } catch { throw DiscoveryError(.daemonMissing, error.message) }
        // It is nil without a pipe; the library ends the process where there is no memory.
        guard let poll = avahi_simple_poll_new() else {
            throw DiscoveryError(.daemonMissing, ExhaustionError.descriptor(errno).message)
        }
        self.poll = poll
        try watch(wakeup.descriptor, Unmanaged.passUnretained(self).toOpaque()) { _, _, _, raw in
            Unmanaged<AvahiThread>.fromOpaque(raw!).takeUnretainedValue().wakeup.clear()
        }
    }

    deinit { avahi_simple_poll_free(poll) }

    /// For the library's functions. They are called on the thread, or before it starts.
    var api: UnsafePointer<AvahiPoll> { avahi_simple_poll_get(poll) }

    /// Calls back on the thread when a descriptor is readable. Only before `start`; the loop frees the watch.
    func watch(
        _ descriptor: Int32, _ argument: UnsafeMutableRawPointer, _ callback: @escaping AvahiWatchCallback
    ) throws(DiscoveryError) {
        guard api.pointee.watch_new(api, descriptor, AVAHI_WATCH_IN, callback, argument) != nil else {
            throw DiscoveryError(.daemonMissing, "out of memory")
        }
    }

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - first: Called on the thread.
    ///   - last: Called on the thread when it ends, after all callbacks. Like `first`, it retains what these access.
    /// - Throws: `daemonMissing` if the system has no thread.
    func start(_ first: @escaping @Sendable () -> Void, atEnd last: @escaping @Sendable () -> Void)
        throws(DiscoveryError)
    {
        do throws(ExhaustionError) {
            let worker = try WorkerThread.start(name: "avahi") { [self] in
                runRequests()
                first()
                while !isStopped {
                    // Before the loop's own callbacks, of which there may be many.
                    runRequests()
                    // Without memory for a step there may be some later.
                    if avahi_simple_poll_iterate(poll, -1) != 0 { HostInstant.now.advanced(by: .seconds(1)).sleep() }
                }
                last()
                // Released outside of the lock.
                let unserved = requests.withLock { $0.take() }
                withExtendedLifetime(unserved) {}
                ended.raise()
            }
            thread.withLock { $0 = worker }
        } catch { throw DiscoveryError(.daemonMissing, error.message) }
    }

    /// Runs a closure on the thread; does not wait. Any thread; not run after `cancel`.
    func perform(_ request: @escaping @Sendable () -> Void) {
        requests.withLock { $0?.append(request) }
        wakeup.raise()
    }

    /// Requests the end of the thread. Does not block. Any thread.
    func cancel() {
        deadline.withLock { $0 = $0 ?? .now.advanced(by: Self.stopTimeout) }
        isStopping.store(true, ordering: .releasing)
        wakeup.raise()
    }

    /// Ends the thread, and waits for it. One that waits for a daemon that does not answer is abandoned two seconds
    /// after `cancel`: it ends with the call that it is in. Not on the thread itself.
    func stop() {
        cancel()
        guard let worker = thread.withLock({ $0.take() }), let deadline = deadline.withLock({ $0 }) else { return }
        if ended.wait(until: deadline) { worker.join() }
    }

    /// Whether the end was requested. An abandoned thread must not call the daemon again or report anything then.
    var isStopped: Bool { isStopping.load(ordering: .acquiring) }

    private func runRequests() {
        let requests = requests.withLock { requests in
            defer { if requests != nil { requests = [] } }
            return requests ?? []
        }
        for request in requests where !isStopped { request() }
    }
}
