package import MediaCore
internal import Synchronization

/// The machine's clock with simulated suspensions: the boot clock appears to have advanced. Callable from any thread.
package final class DrowsyClock: HostClock {
    private let asleep = Atomic<Int64>(0)

    package init() {}

    package var now: HostInstant { .now }
    package var suspended: Duration { .nanoseconds(asleep.load(ordering: .acquiring)) }

    /// Simulates that the machine was suspended for `duration` until now.
    package func suspend(for duration: Duration) {
        asleep.add(duration.wholeNanoseconds, ordering: .acquiringAndReleasing)
    }
}
