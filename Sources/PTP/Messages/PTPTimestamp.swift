package import MediaCore

/// A PTP timestamp: 48 bits of seconds, 32 bits of nanoseconds (IEEE 1588-2008, section 5.3.3).
package struct PTPTimestamp: Hashable, Sendable, BitwiseCopyable {
    var seconds: UInt64
    var nanoseconds: UInt32

    init(seconds: UInt64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Creates a timestamp; instants before the epoch become the epoch.
    package init(_ instant: PTPInstant) {
        let total = UInt64(max(0, instant.nanoseconds))
        seconds = total / 1_000_000_000
        nanoseconds = UInt32(total % 1_000_000_000)
    }

    /// The instant; nil beyond 292 years or if `nanoseconds` is not below 10⁹.
    package var instant: PTPInstant? {
        guard nanoseconds < 1_000_000_000, seconds < 9_223_372_036 else { return nil }
        return PTPInstant(nanoseconds: Int64(seconds) * 1_000_000_000 + Int64(nanoseconds))
    }
}
