internal import CAvahi
internal import Glibc
internal import MediaCore

/// A timer that fires on the thread of an avahi poll, by the monotonic clock.
///
/// Avahi's own timers lie on the wall clock: after that is set back, one that was armed is due an hour too late, and until then a daemon that
/// has returned is not asked again.
final class PollTimer {
    /// Called on the poll's thread. Set before the poll starts.
    var action: () -> Void = {}
    private let descriptor: Int32

    /// The poll outlives the timer's last moment: it frees its watch itself.
    init(on poll: OpaquePointer) throws(DiscoveryError) {
        descriptor = cavahi_open_timer()
        guard descriptor >= 0 else {
            throw DiscoveryError(
                .daemonMissing, "the system gives no timer (\(String(cString: strerror(errno))))")
        }
        let api = avahi_threaded_poll_get(poll)!
        let watch = api.pointee.watch_new(
            api, descriptor, AVAHI_WATCH_IN,
            { @Sendable _, descriptor, _, raw in
                guard cavahi_take_timer(descriptor) != 0 else { return }
                Unmanaged<PollTimer>.fromOpaque(raw!).takeUnretainedValue().action()
            }, Unmanaged.passUnretained(self).toOpaque())
        guard watch != nil else { throw DiscoveryError(.daemonMissing, "the system gives no memory") }
    }

    deinit { close(descriptor) }

    /// Once, so long from now, in place of what was set before.
    func fire(after duration: Duration) { cavahi_set_timer(descriptor, duration.wholeNanoseconds / 1_000_000) }
}
