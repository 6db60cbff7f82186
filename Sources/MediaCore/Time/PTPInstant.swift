/// An instant on the timeline of a PTP grandmaster, in nanoseconds since the master's epoch.
///
/// If this computer is the grandmaster, the timeline is its monotonic clock; otherwise a `ClockMapping` converts.
public struct PTPInstant: InstantProtocol, Hashable, Sendable, BitwiseCopyable {
    /// Nanoseconds on the grandmaster's timeline. 63 bits suffice for the 48-bit seconds that occur in practice.
    public var nanoseconds: Int64

    /// Creates an instant.
    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Returns the instant a duration later; wraps at 64 bits.
    @inlinable public func advanced(by duration: Duration) -> PTPInstant {
        PTPInstant(nanoseconds: nanoseconds &+ duration.wholeNanoseconds)
    }

    /// Returns the duration until another instant; wraps at 64 bits.
    @inlinable public func duration(to other: PTPInstant) -> Duration {
        .nanoseconds(other.nanoseconds &- nanoseconds)
    }

    /// Compares instants.
    @inlinable public static func < (left: PTPInstant, right: PTPInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
