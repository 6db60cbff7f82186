public import Glibc

/// An instant on the host's monotonic clock in nanoseconds (`CLOCK_MONOTONIC`, clock_gettime(2)).
///
/// The clock never steps and stops during a suspension. Instants of other clocks have separate types, so that mixing
/// clocks does not compile; `ClockMapping` converts. Arithmetic saturates at 63 bits (292 years), because operands may
/// be untrusted.
public struct HostInstant: InstantProtocol, Hashable, Sendable, BitwiseCopyable {
    /// Nanoseconds since the clock's origin, which is about the time of boot.
    public var nanoseconds: Int64

    /// Creates an instant.
    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Returns the instant a duration later; saturates.
    @inlinable public func advanced(by duration: Duration) -> HostInstant {
        HostInstant(nanoseconds: nanoseconds.addingClamped(duration.wholeNanoseconds))
    }

    /// Returns the duration until another instant; saturates.
    @inlinable public func duration(to other: HostInstant) -> Duration {
        .nanoseconds(other.nanoseconds.subtractingClamped(nanoseconds))
    }

    /// Compares instants.
    @inlinable public static func < (left: HostInstant, right: HostInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Returns the duration from `right` to `left`; saturates.
    @inlinable public static func - (left: HostInstant, right: HostInstant) -> Duration {
        .nanoseconds(left.nanoseconds.subtractingClamped(right.nanoseconds))
    }

    /// The current instant. Wait-free.
    @inlinable public static var now: HostInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return HostInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}

/// A source of host time: the monotonic clock, or a test clock.
public protocol HostClock: Sendable {
    /// The current instant. Must be wait-free, because real-time threads read it.
    var now: HostInstant { get }
    /// The total time of suspension since boot, during which `now` does not advance. Too small by the duration of a
    /// preemption of the reader, never too large. Wait-free.
    var suspended: Duration { get }
    /// True if time advances independently, so that threads may wait for an instant.
    var isRealTime: Bool { get }
    /// Converts an instant of this clock to the machine's monotonic clock, which timeouts use. Wait-free.
    func machineInstant(of instant: HostInstant) -> HostInstant
    /// Converts an instant of the machine's monotonic clock, which kernel timestamps use, to this clock. Wait-free.
    func instant(ofMachine instant: HostInstant) -> HostInstant
}

extension HostClock {
    /// Zero: a clock without suspensions.
    public var suspended: Duration { .zero }
    /// True.
    public var isRealTime: Bool { true }
    /// Returns `instant`: the machine's clock.
    public func machineInstant(of instant: HostInstant) -> HostInstant { instant }
    /// Returns `instant`: the machine's clock.
    public func instant(ofMachine instant: HostInstant) -> HostInstant { instant }
}

/// The machine's monotonic clock.
public struct MonotonicClock: HostClock {
    /// Creates a reference to the clock; it has no state.
    public init() {}
    /// The current instant. Wait-free.
    @inlinable public var now: HostInstant { .now }

    /// CLOCK_BOOTTIME minus CLOCK_MONOTONIC (clock_gettime(2)). The former includes suspensions and is read first, so
    /// that a preemption makes the difference too small. The maximum of three readings is rarely affected.
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

/// Detects suspensions of the machine by polling. Not thread-safe.
package struct SuspensionWatch: Sendable {
    /// Minimum suspension to report: no machine suspends for less, and no reading is wrong by as much.
    package static let minDuration: Duration = .milliseconds(100)
    private var known: Duration

    /// Starts at the clock's current value.
    package init(_ clock: any HostClock) { known = clock.suspended }

    /// Returns the duration of suspensions since the last report; nil below `minDuration`. Wait-free.
    package mutating func check(_ clock: any HostClock) -> Duration? {
        let asleep = clock.suspended - known
        guard asleep >= Self.minDuration else { return nil }
        known += asleep
        return asleep
    }
}
