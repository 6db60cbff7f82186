public import Glibc

/// A moment on this computer's monotonic clock, in nanoseconds (`CLOCK_MONOTONIC`, clock_gettime(2)).
///
/// It never steps and does not run while the machine is suspended. Moments of other clocks have types of their
/// own, so that adding two clocks does not compile; `ClockMapping` translates between them.
public struct HostInstant: InstantProtocol, Hashable, Sendable, BitwiseCopyable {
    /// Nanoseconds since the clock's own origin, which is some time around boot.
    public var nanoseconds: Int64

    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    @inlinable public func advanced(by duration: Duration) -> HostInstant {
        HostInstant(nanoseconds: nanoseconds + duration.wholeNanoseconds)
    }

    @inlinable public func duration(to other: HostInstant) -> Duration {
        .nanoseconds(other.nanoseconds - nanoseconds)
    }

    @inlinable public static func < (left: HostInstant, right: HostInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    @inlinable public static func - (left: HostInstant, right: HostInstant) -> Duration {
        .nanoseconds(left.nanoseconds - right.nanoseconds)
    }

    /// The present moment. Wait-free.
    @inlinable public static var now: HostInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return HostInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}

/// Where a component reads the present moment: the machine's clock, or one that a test turns by hand.
public protocol HostClock: Sendable {
    /// The present moment. Must be wait-free: it is read on real-time threads.
    var now: HostInstant { get }
}

/// The machine's own monotonic clock.
public struct MonotonicClock: HostClock {
    public init() {}
    @inlinable public var now: HostInstant { .now }
}
