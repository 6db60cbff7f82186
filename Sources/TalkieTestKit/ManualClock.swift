public import MediaCore
internal import Synchronization

/// A clock that a test turns by hand.
public final class ManualClock: HostClock {
    private let time: Atomic<Int64>
    private let asleep = Atomic<Int64>(0)

    public init(_ start: HostInstant = HostInstant(nanoseconds: 1_000_000_000_000)) { time = Atomic(start.nanoseconds) }

    public var now: HostInstant { HostInstant(nanoseconds: time.load(ordering: .acquiring)) }

    public var runsByItself: Bool { false }
    public var suspended: Duration { .nanoseconds(asleep.load(ordering: .acquiring)) }

    /// The machine sleeps for so long: this clock stands still, the boot clock goes on.
    public func suspend(for duration: Duration) {
        asleep.add(duration.wholeNanoseconds, ordering: .acquiringAndReleasing)
    }

    public func advance(by duration: Duration) { time.add(duration.wholeNanoseconds, ordering: .acquiringAndReleasing) }

    /// Jumps to a moment; never backwards.
    public func advance(to instant: HostInstant) {
        if instant > now { time.store(instant.nanoseconds, ordering: .releasing) }
    }
}
