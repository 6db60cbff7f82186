public import Glibc

/// A moment on this computer's monotonic clock, in nanoseconds (`CLOCK_MONOTONIC`, clock_gettime(2)).
///
/// It never steps and does not run while the machine is suspended. Moments of other clocks have types of their
/// own, so that adding two clocks does not compile; `ClockMapping` translates between them. Arithmetic stops at the ends
/// of the 63 bits, 292 years away: what is added may be a stranger's.
public struct HostInstant: InstantProtocol, Hashable, Sendable, BitwiseCopyable {
    /// Nanoseconds since the clock's own origin, which is some time around boot.
    public var nanoseconds: Int64

    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    @inlinable public func advanced(by duration: Duration) -> HostInstant {
        HostInstant(nanoseconds: nanoseconds.addingClamped(duration.wholeNanoseconds))
    }

    @inlinable public func duration(to other: HostInstant) -> Duration {
        .nanoseconds(other.nanoseconds.subtractingClamped(nanoseconds))
    }

    @inlinable public static func < (left: HostInstant, right: HostInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    @inlinable public static func - (left: HostInstant, right: HostInstant) -> Duration {
        .nanoseconds(left.nanoseconds.subtractingClamped(right.nanoseconds))
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
    /// How long the machine has been suspended altogether since it booted; `now` stands still meanwhile. May be too
    /// small by as long as the reader was interrupted, never too large. Wait-free.
    var suspended: Duration { get }
    /// Time passes without anybody turning it, so that threads may wait for a moment of it.
    var runsByItself: Bool { get }
    /// When the machine's monotonic clock, which threads sleep by, shows what this one shows at a moment. Wait-free.
    func machineInstant(of instant: HostInstant) -> HostInstant
    /// What this clock shows when the machine's, which the kernel stamps by, shows that moment. Wait-free.
    func instant(ofMachine instant: HostInstant) -> HostInstant
}

extension HostClock {
    /// A clock that knows no suspension.
    public var suspended: Duration { .zero }
    public var runsByItself: Bool { true }
    /// The machine's own clock.
    public func machineInstant(of instant: HostInstant) -> HostInstant { instant }
    public func instant(ofMachine instant: HostInstant) -> HostInstant { instant }
}

/// The machine's own monotonic clock.
public struct MonotonicClock: HostClock {
    public init() {}
    @inlinable public var now: HostInstant { .now }

    /// CLOCK_BOOTTIME goes on during suspension (clock_gettime(2)). Read before CLOCK_MONOTONIC, so that an
    /// interruption in between makes the difference too small; the largest of three is hardly ever interrupted.
    public var suspended: Duration {
        var largest = Int64.min
        for _ in 0..<3 {
            var boot = timespec()
            clock_gettime(CLOCK_BOOTTIME, &boot)
            let asleep = Int64(boot.tv_sec) * 1_000_000_000 + Int64(boot.tv_nsec) - HostInstant.now.nanoseconds
            largest = max(largest, asleep)
        }
        return .nanoseconds(max(0, largest))
    }
}

/// Notices that the machine was suspended: asked now and then, it says for how long since it was asked last.
public struct SuspensionWatch: Sendable {
    /// No machine falls asleep and wakes within less, and no reading is wrong by as much.
    public static let least: Duration = .milliseconds(100)
    private var known: Duration

    public init(_ clock: any HostClock) { known = clock.suspended }

    /// How long the machine was suspended since this was asked last; nil when it was not. Wait-free.
    public mutating func check(_ clock: any HostClock) -> Duration? {
        let asleep = clock.suspended - known
        guard asleep >= Self.least else { return nil }
        known += asleep
        return asleep
    }
}
