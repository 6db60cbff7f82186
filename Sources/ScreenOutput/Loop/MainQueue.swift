internal import CShim
// libdispatch contains the two functions that CShim declares.
internal import Dispatch
internal import MediaCore

/// Drains the main dispatch queue. A loop on the main thread must do this, as no other code serves the queue.
package struct MainQueue {
    /// Readable while work is pending.
    private let descriptor: Int32
    private var turn = MainQueueTurn()

    // ignored: without a descriptor the queue is not served.
    private static let taken = (try? PollableSignal()) == nil ? nil : _dispatch_get_main_queue_handle_4CF()

    /// Gets the queue's descriptor from libdispatch, once. Does nothing off the main thread.
    ///
    /// libdispatch aborts the process if there is no descriptor. Whether there is one is checked first, but another
    /// thread can open the last one meanwhile. Call this before other threads are started.
    package static func acquire() {
        if cshim_is_main_thread() != 0 { _ = taken }
    }

    /// Returns nil off the main thread, where the queue belongs to another loop, and without a descriptor.
    init?() {
        guard cshim_is_main_thread() != 0, let taken = Self.taken else { return nil }
        descriptor = taken
    }

    /// The descriptor to wait on; nil while known work is deferred.
    var waited: Int32? { turn.since == nil ? descriptor : nil }
    /// When deferred work is executed at the latest; nil without such work.
    var deadline: HostInstant? { turn.latest }

    /// Records that work is pending.
    mutating func markPending() { turn.markPending(at: .now) }

    /// Executes pending work, unless a frame is due soon.
    mutating func serve(before frameDue: HostInstant?) {
        guard turn.isDue(at: .now, before: frameDue) else { return }
        cshim_event_clear(descriptor)
        _dispatch_main_queue_callback_4CF(nil)
    }
}

/// Schedules the work of the main queue: not shortly before a frame, which it would delay, but within `longest`.
struct MainQueueTurn {
    /// The time to convert and present a frame on a slow machine.
    static let framePreparationTime: Duration = .milliseconds(8)
    /// The maximum deferral, even if frames are always late.
    static let longest: Duration = .milliseconds(50)

    /// When the pending work was first seen; nil without work.
    private(set) var since: HostInstant?

    var latest: HostInstant? { since?.advanced(by: Self.longest) }

    mutating func markPending(at now: HostInstant) { since = since ?? now }

    /// Returns whether the work should run now; it counts as done then.
    mutating func isDue(at now: HostInstant, before frameDue: HostInstant?) -> Bool {
        guard let latest else { return false }
        if let frameDue, frameDue - now < Self.framePreparationTime, now < latest { return false }
        since = nil
        return true
    }
}
