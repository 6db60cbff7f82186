internal import CAvahi
internal import Glibc
internal import MediaCore

/// A one-shot timer on avahi's thread, based on the monotonic clock.
///
/// Avahi's own timers use the wall clock. If that is set back by an hour, a pending timer fires an hour late, and a
/// restarted daemon is not noticed until then.
final class PollTimer {
    /// Called on the thread. Must be set before it starts.
    var action: () -> Void = {}
    private let descriptor: Int32

    /// Creates an unarmed timer, which must outlive the thread. Only before that starts.
    ///
    /// - Throws: `daemonMissing` if the system is out of descriptors or memory.
    init(on thread: AvahiThread) throws(DiscoveryError) {
        descriptor = cavahi_open_timer()
        guard descriptor >= 0 else {
            throw DiscoveryError(
                .daemonMissing, "the system cannot create a timer (\(String(cString: strerror(errno))))")
        }
        try thread.watch(descriptor, Unmanaged.passUnretained(self).toOpaque()) { _, descriptor, _, raw in
            guard cavahi_take_timer(descriptor) != 0 else { return }
            Unmanaged<PollTimer>.fromOpaque(raw!).takeUnretainedValue().action()
        }
    }

    deinit { close(descriptor) }

    /// Arms the timer, replacing a pending expiry.
    func fire(after duration: Duration) { cavahi_set_timer(descriptor, duration.wholeNanoseconds / 1_000_000) }
}
