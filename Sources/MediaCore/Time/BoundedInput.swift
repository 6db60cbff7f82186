/// Limits of numbers that files, servers and devices send.
///
/// Modules that parse build media times, durations, sizes, byte positions and rates with the initializers of this file. A value beyond a
/// limit is missing (nil), so that the modules above can use plain arithmetic. `make lint` (Tools/unbounded) looks for
/// conversions that go past them.
package enum InputLimit {
    /// Media times and durations: ten Julian years, in seconds.
    package static let maxSeconds: Int64 = 315_576_000
    /// Magnitude of raw timestamps in ticks of a stream: the difference of two of them fits into 64 bits.
    package static let maxTicks: Int64 = 1 << 62 - 1
    /// Byte positions and lengths: the sum of two of them fits into 64 bits.
    package static let maxBytes: Int64 = 1 << 62 - 1
    /// Sample rates in Hz. libavfilter's `atempo` aborts below 24 Hz; the highest is that of DSD 128 as PCM.
    package static let sampleRates: ClosedRange<Int32> = 1000...6_144_000
    /// The longest tick of a time base, in seconds.
    package static let maxTick: Int32 = 3600
}

extension MediaTime {
    /// Creates the time of a timestamp or length in ticks of `numerator / timescale` seconds.
    ///
    /// - Returns: nil for more than ten years, and for a time base that is not positive.
    package init?(boundedTicks ticks: Int64, numerator: Int32 = 1, timescale: Int32) {
        guard numerator > 0, timescale > 0 else { return nil }
        let value = Int128(ticks) * Int128(numerator)
        guard value.magnitude <= Int128(InputLimit.maxSeconds).magnitude * Int128(timescale).magnitude else {
            return nil
        }
        // Ten years in the finest time base are less than 2^60 ticks.
        self.init(value: Int64(value), timescale: timescale)
    }

    /// Creates the nearest nanosecond to a number of seconds; nil for not-a-number and for more than ten years.
    package init?(boundedSeconds seconds: Double) {
        guard seconds.magnitude <= Double(InputLimit.maxSeconds) else { return nil }
        self.init(seconds: seconds)
    }

    /// Returns this time, or nil for more than ten years before or after zero.
    package var bounded: MediaTime? {
        let limit = MediaTime(value: InputLimit.maxSeconds, timescale: 1)
        return self <= limit && -limit <= self ? self : nil
    }
}

extension FixedWidthInteger {
    /// Creates the integer part of a number; nil for not-a-number and for a number outside `limits`.
    package init?(bounded value: Double, in limits: ClosedRange<Self>) {
        guard let whole = Self(exactly: value.rounded(.towardZero)), limits.contains(whole) else { return nil }
        self = whole
    }

    /// Creates the integer nearest to a number; beyond the limits the nearer of them, for not-a-number the lower.
    @inlinable package init(clamping value: Double, in limits: ClosedRange<Self>) {
        guard let whole = Self(exactly: value.rounded()) else {
            self = value > 0 ? limits.upperBound : limits.lowerBound
            return
        }
        self = Swift.min(Swift.max(whole, limits.lowerBound), limits.upperBound)
    }
}

extension Int64 {
    /// Returns this raw timestamp, or nil where its magnitude exceeds `InputLimit.maxTicks` (also libavformat's "no timestamp").
    package var boundedTicks: Int64? { (-InputLimit.maxTicks...InputLimit.maxTicks).contains(self) ? self : nil }

    /// Returns this byte position or length, or nil where it is negative or exceeds `InputLimit.maxBytes`.
    package var boundedBytes: Int64? { (0...InputLimit.maxBytes).contains(self) ? self : nil }

    /// Creates a byte position or length from its decimal digits; nil for other text, negative numbers and beyond the limit.
    package init?(boundedBytes text: some StringProtocol) {
        guard let value = Int64(text)?.boundedBytes else { return nil }
        self = value
    }
}

extension Range where Bound == Int64 {
    /// Creates the byte range of so many bytes from a position on; nil where its end exceeds `InputLimit.maxBytes`.
    package init?(firstByte: Int64, count: Int64) {
        guard let first = firstByte.boundedBytes, let count = count.boundedBytes, let end = (first + count).boundedBytes
        else { return nil }
        self = first..<end
    }

    /// Creates the byte range up to and including a last byte; nil where that is before the first or beyond the limit.
    package init?(firstByte: Int64, lastByte: Int64) {
        guard let first = firstByte.boundedBytes, let last = lastByte.boundedBytes, first <= last else { return nil }
        self = first..<last + 1
    }
}
