package import MediaCore
internal import Synchronization

/// A clock that a test turns by hand.
package final class ManualClock: HostClock {
    private let time: Atomic<Int64>
    private let asleep = Atomic<Int64>(0)

    package init(_ start: HostInstant = HostInstant(nanoseconds: 1_000_000_000_000)) {
        time = Atomic(start.nanoseconds)
    }

    package var now: HostInstant { HostInstant(nanoseconds: time.load(ordering: .acquiring)) }

    package var runsByItself: Bool { false }
    package var suspended: Duration { .nanoseconds(asleep.load(ordering: .acquiring)) }

    /// The machine sleeps for so long: this clock stands still, the boot clock goes on.
    package func suspend(for duration: Duration) {
        asleep.add(duration.wholeNanoseconds, ordering: .acquiringAndReleasing)
    }

    package func advance(by duration: Duration) {
        time.add(duration.wholeNanoseconds, ordering: .acquiringAndReleasing)
    }

    /// Jumps to a moment; never backwards.
    package func advance(to instant: HostInstant) {
        if instant > now { time.store(instant.nanoseconds, ordering: .releasing) }
    }
}
