internal import CAvahi
internal import Glibc
internal import MediaCore

/// A one-shot timer on the thread of an avahi poll, based on the monotonic clock.
///
/// Avahi's own timers use the wall clock. If that is set back by an hour, a pending timer fires an hour late, and a
/// restarted daemon is not noticed until then.
final class PollTimer {
    /// Called on the poll's thread. Must be set before the poll starts.
    var action: () -> Void = {}
    private let descriptor: Int32

    /// Creates an unarmed timer. The poll frees its watch and must outlive the last expiry.
    ///
    /// - Throws: `daemonMissing` if the system is out of descriptors or memory.
    init(on poll: OpaquePointer) throws(DiscoveryError) {
        descriptor = cavahi_open_timer()
        guard descriptor >= 0 else {
            throw DiscoveryError(
                .daemonMissing, "the system cannot create a timer (\(String(cString: strerror(errno))))")
        }
        let api = avahi_threaded_poll_get(poll)!
        let watch = api.pointee.watch_new(
            api, descriptor, AVAHI_WATCH_IN,
            { @Sendable _, descriptor, _, raw in
                guard cavahi_take_timer(descriptor) != 0 else { return }
                Unmanaged<PollTimer>.fromOpaque(raw!).takeUnretainedValue().action()
            }, Unmanaged.passUnretained(self).toOpaque())
        guard watch != nil else { throw DiscoveryError(.daemonMissing, "out of memory") }
    }

    deinit { close(descriptor) }

    /// Arms the timer, replacing a pending expiry.
    func fire(after duration: Duration) { cavahi_set_timer(descriptor, duration.wholeNanoseconds / 1_000_000) }
}
