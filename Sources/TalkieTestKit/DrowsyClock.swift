package import MediaCore
internal import Synchronization

/// The machine's own clock, with suspensions that a test commands: to those who read it, the boot clock has gone on.
package final class DrowsyClock: HostClock {
    private let asleep = Atomic<Int64>(0)

    package init() {}

    package var now: HostInstant { .now }
    package var suspended: Duration { .nanoseconds(asleep.load(ordering: .acquiring)) }

    /// The machine has been asleep for so long until now.
    package func suspend(for duration: Duration) {
        asleep.add(duration.wholeNanoseconds, ordering: .acquiringAndReleasing)
    }
}
