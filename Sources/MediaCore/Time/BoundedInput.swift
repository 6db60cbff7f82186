/// Limits for numbers from files, servers and devices.
///
/// Parsers create media times, durations, sizes, byte positions and rates with the initializers of this file. A value
/// beyond a limit becomes nil, so that higher modules can use plain arithmetic. `make lint` (Tools/unbounded) finds
/// conversions that bypass them.
package enum InputLimit {
    /// Media times and durations: ten Julian years, in seconds.
    package static let maxSeconds: Int64 = 315_576_000
    /// Magnitude of timestamps in ticks of a stream; the difference of two fits into 64 bits.
    package static let maxTicks: Int64 = 1 << 62 - 1
    /// Byte positions and lengths; the sum of two fits into 64 bits.
    package static let maxBytes: Int64 = 1 << 62 - 1
    /// Sample rates in Hz. libavfilter's `atempo` aborts below 24 Hz; the maximum is DSD 128 as PCM.
    package static let sampleRates: ClosedRange<Int32> = 1000...6_144_000
    /// Maximum length of a time base's tick in seconds.
    package static let maxTick: Int32 = 3600
}

extension MediaTime {
    /// Creates the time of a timestamp or length in ticks of `numerator / timescale` seconds.
    ///
    /// - Returns: nil beyond ten years, or if the time base is not positive.
    package init?(boundedTicks ticks: Int64, numerator: Int32 = 1, timescale: Int32) {
        guard numerator > 0, timescale > 0 else { return nil }
        let value = Int128(ticks) * Int128(numerator)
        guard value.magnitude <= Int128(InputLimit.maxSeconds).magnitude * Int128(timescale).magnitude else {
            return nil
        }
        // Ten years in the finest time base are less than 2^60 ticks.
        self.init(value: Int64(value), timescale: timescale)
    }

    /// Creates a time rounded to nanoseconds; nil for NaN and beyond ten years.
    package init?(boundedSeconds seconds: Double) {
        guard seconds.magnitude <= Double(InputLimit.maxSeconds) else { return nil }
        self.init(seconds: seconds)
    }

    /// This time, or nil if it is more than ten years before or after zero.
    package var bounded: MediaTime? {
        let limit = MediaTime(value: InputLimit.maxSeconds, timescale: 1)
        return self <= limit && -limit <= self ? self : nil
    }
}

extension FixedWidthInteger {
    /// Creates the integer part of a number; nil for NaN and outside `limits`.
    package init?(bounded value: Double, in limits: ClosedRange<Self>) {
        guard let integer = Self(exactly: value.rounded(.towardZero)), limits.contains(integer) else { return nil }
        self = integer
    }

    /// Creates the nearest integer, clamped to `limits`; NaN becomes the lower limit.
    @inlinable package init(clamping value: Double, in limits: ClosedRange<Self>) {
        guard let integer = Self(exactly: value.rounded()) else {
            self = value > 0 ? limits.upperBound : limits.lowerBound
            return
        }
        self = Swift.min(Swift.max(integer, limits.lowerBound), limits.upperBound)
    }
}

extension Int64 {
    /// This timestamp, or nil if its magnitude exceeds `InputLimit.maxTicks`, which includes AV_NOPTS_VALUE.
    package var boundedTicks: Int64? { (-InputLimit.maxTicks...InputLimit.maxTicks).contains(self) ? self : nil }

    /// This byte position or length, or nil if negative or above `InputLimit.maxBytes`.
    package var boundedBytes: Int64? { (0...InputLimit.maxBytes).contains(self) ? self : nil }

    /// Parses decimal digits as a byte position or length; nil for other text, negative numbers and beyond the limit.
    package init?(boundedBytes text: some StringProtocol) {
        guard let value = Int64(text)?.boundedBytes else { return nil }
        self = value
    }
}

extension Range where Bound == Int64 {
    /// Creates a byte range from position and length; nil if its end exceeds `InputLimit.maxBytes`.
    package init?(firstByte: Int64, count: Int64) {
        guard let first = firstByte.boundedBytes, let count = count.boundedBytes, let end = (first + count).boundedBytes
        else { return nil }
        self = first..<end
    }

    /// Creates a byte range from its inclusive bounds; nil if it is empty or beyond the limit.
    package init?(firstByte: Int64, lastByte: Int64) {
        guard let first = firstByte.boundedBytes, let last = lastByte.boundedBytes, first <= last else { return nil }
        self = first..<last + 1
    }
}
