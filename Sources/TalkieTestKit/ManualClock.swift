public import MediaCore
internal import Synchronization

/// A clock that a test turns by hand.
public final class ManualClock: HostClock {
    private let time: Atomic<Int64>

    public init(_ start: HostInstant = HostInstant(nanoseconds: 1_000_000_000_000)) { time = Atomic(start.nanoseconds) }

    public var now: HostInstant { HostInstant(nanoseconds: time.load(ordering: .acquiring)) }

    public func advance(by duration: Duration) { time.add(duration.wholeNanoseconds, ordering: .acquiringAndReleasing) }

    /// Jumps to a moment; never backwards.
    public func advance(to instant: HostInstant) {
        if instant > now { time.store(instant.nanoseconds, ordering: .releasing) }
    }
}
