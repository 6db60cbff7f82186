internal import CShim
// libdispatch contains the two functions that CShim declares.
internal import Dispatch
internal import MediaCore

/// Drains the main dispatch queue. A loop on the main thread must do this, as no other code serves the queue.
struct MainQueue {
    /// Readable while work is pending.
    private let descriptor: Int32
    private var turn = MainQueueTurn()

    /// Whether the calling thread is the main one. On another the queue belongs to another loop.
    static var isHere: Bool { cshim_is_main_thread() != 0 }

    /// Returns nil off the main thread and without a descriptor.
    ///
    /// libdispatch aborts the process if it gets no descriptor: call this before other threads open some.
    init?() {
        // ignored: without a descriptor the queue is not served.
        guard Self.isHere, (try? PollableSignal()) != nil else { return nil }
        descriptor = _dispatch_get_main_queue_handle_4CF()
    }

    /// The descriptor to wait on; nil while known work is deferred.
    var waited: Int32? { turn.since == nil ? descriptor : nil }
    /// When deferred work is executed at the latest; nil without such work.
    var deadline: HostInstant? { turn.latest }

    /// Records that work is pending.
    mutating func noteWork() { turn.markPending(at: .now) }

    /// Executes pending work, unless a frame is due soon.
    mutating func serve(before picture: HostInstant?) {
        guard turn.isDue(at: .now, before: picture) else { return }
        cshim_event_clear(descriptor)
        _dispatch_main_queue_callback_4CF(nil)
    }
}

/// Schedules the work of the main queue: not shortly before a frame, which it would delay, but within `longest`.
struct MainQueueTurn {
    /// The time to convert and present a frame on a slow machine.
    static let picturesTime: Duration = .milliseconds(8)
    /// The maximum deferral, even if frames are always late.
    static let longest: Duration = .milliseconds(50)

    /// When the pending work was first seen; nil without work.
    private(set) var since: HostInstant?

    var latest: HostInstant? { since?.advanced(by: Self.longest) }

    mutating func markPending(at now: HostInstant) { since = since ?? now }

    /// Returns whether the work should run now; it counts as done then.
    mutating func isDue(at now: HostInstant, before picture: HostInstant?) -> Bool {
        guard let latest else { return false }
        if let picture, picture - now < Self.picturesTime, now < latest { return false }
        since = nil
        return true
    }
}
