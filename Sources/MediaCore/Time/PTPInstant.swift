/// A moment on the timeline of a PTP grandmaster, in nanoseconds since that master's own origin.
///
/// When this computer is the grandmaster the timeline is its monotonic clock; otherwise a `ClockMapping` relates
/// the two.
public struct PTPInstant: InstantProtocol, Hashable, Sendable, BitwiseCopyable {
    /// Nanoseconds on the grandmaster's timeline. 63 bits reach past the 48-bit seconds that are met in practice.
    public var nanoseconds: Int64

    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    @inlinable public func advanced(by duration: Duration) -> PTPInstant {
        PTPInstant(nanoseconds: nanoseconds &+ duration.wholeNanoseconds)
    }

    @inlinable public func duration(to other: PTPInstant) -> Duration {
        .nanoseconds(other.nanoseconds &- nanoseconds)
    }

    @inlinable public static func < (left: PTPInstant, right: PTPInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
