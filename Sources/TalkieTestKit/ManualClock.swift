public import MediaCore
internal import Synchronization

/// A clock that advances only by `advance`. Callable from any thread.
public final class ManualClock: HostClock {
    private let time: Atomic<Int64>
    private let asleep = Atomic<Int64>(0)

    /// Creates a clock at an instant.
    public init(_ start: HostInstant = HostInstant(nanoseconds: 1_000_000_000_000)) {
        time = Atomic(start.nanoseconds)
    }

    /// The current instant.
    public var now: HostInstant { HostInstant(nanoseconds: time.load(ordering: .acquiring)) }

    /// False.
    public var isRealTime: Bool { false }
    /// The simulated time of suspension.
    public var suspended: Duration { .nanoseconds(asleep.load(ordering: .acquiring)) }

    /// Simulates a suspension: this clock stops, the boot clock advances.
    package func suspend(for duration: Duration) {
        asleep.add(duration.wholeNanoseconds, ordering: .acquiringAndReleasing)
    }

    /// Advances the clock.
    public func advance(by duration: Duration) {
        time.add(duration.wholeNanoseconds, ordering: .acquiringAndReleasing)
    }

    /// Advances the clock to an instant; never backwards.
    public func advance(to instant: HostInstant) {
        if instant > now { time.store(instant.nanoseconds, ordering: .releasing) }
    }
}
