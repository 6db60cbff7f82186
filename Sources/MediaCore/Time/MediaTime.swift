/// An exact position on a film: `value / timescale` seconds, as CoreMedia's `CMTime` keeps it.
///
/// Film positions are rational because film rates are (24000/1001); a sum of a hundred thousand frame durations
/// is still exact. Undefined times are optionals, never a special value.
///
/// Sums keep the exact rational as long as its reduced denominator fits 32 bits, and are rounded to the nearest
/// nanosecond otherwise. Values beyond ±292 years saturate; nothing here traps, whatever a file says.
public struct MediaTime: Sendable, BitwiseCopyable {
    /// Units of `1 / timescale` seconds.
    public let value: Int64
    /// Units per second; always positive.
    public let timescale: Int32

    /// - Parameter timescale: units per second. Zero and negative are taken as 1, because files say such things.
    @inlinable public init(value: Int64, timescale: Int32) {
        self.value = value
        self.timescale = timescale > 0 ? timescale : 1
    }

    /// Whole nanoseconds.
    @inlinable public init(nanoseconds: Int64) { self.init(value: nanoseconds, timescale: 1_000_000_000) }

    /// The nearest nanosecond to a number of seconds; not-a-number is zero, the far ends saturate.
    public init(seconds: Double) {
        let scaled = (seconds * 1e9).rounded()
        if scaled.isNaN {
            self.init(nanoseconds: 0)
        } else if scaled >= 9.2e18 {
            self.init(nanoseconds: .max)
        } else if scaled <= -9.2e18 {
            self.init(nanoseconds: .min)
        } else {
            self.init(nanoseconds: Int64(scaled))
        }
    }

    /// The nearest whole number of `1 / preferredTimescale` seconds, as `CMTime` has it; not-a-number is zero, the far ends
    /// saturate.
    public init(seconds: Double, preferredTimescale: Int32) {
        let units = (seconds * Double(max(1, preferredTimescale))).rounded()
        let value: Int64 = units.isNaN ? 0 : units >= 9.2e18 ? .max : units <= -9.2e18 ? .min : Int64(units)
        self.init(value: value, timescale: preferredTimescale)
    }

    public static let zero = MediaTime(value: 0, timescale: 1)

    /// The position in seconds, for display and floating-point filters.
    @inlinable public var seconds: Double { Double(value) / Double(timescale) }

    /// The nearest nanosecond, ties away from zero; saturating.
    public var nanoseconds: Int64 { rescaled(to: 1_000_000_000) }

    /// The nearest whole number of `1 / timescale` seconds, ties away from zero; saturating.
    public func rescaled(to newTimescale: Int32) -> Int64 {
        if newTimescale == timescale { return value }
        return Self.dividedRounding(Int128(value) * Int128(newTimescale), by: Int128(timescale))
    }

    /// This position from nanoseconds of film onward, as a duration for arithmetic on clocks.
    public var duration: Duration { .nanoseconds(nanoseconds) }

    static func dividedRounding(_ numerator: Int128, by denominator: Int128) -> Int64 {
        // Never near the ends of 128 bits: callers multiply 64 by 32 bits or check for overflow themselves.
        let half = numerator >= 0 ? denominator / 2 : -(denominator / 2)
        let quotient = numerator.addingReportingOverflow(half).partialValue / denominator
        return Int64(clamping: quotient)
    }

    /// Brings any rational back into 64 over 32 bits: reduced when that suffices, else the nearest nanosecond.
    static func normalized(numerator: Int128, denominator: Int128) -> MediaTime {
        if denominator <= Int128(Int32.max), let value = Int64(exactly: numerator) {
            return MediaTime(value: value, timescale: Int32(denominator))
        }
        var (a, b) = (numerator.magnitude, denominator.magnitude)
        while b != 0 { (a, b) = (b, a % b) }
        let divisor = Int128(a == 0 ? 1 : a)
        let (top, bottom) = (numerator / divisor, denominator / divisor)
        if bottom <= Int128(Int32.max), let value = Int64(exactly: top) {
            return MediaTime(value: value, timescale: Int32(bottom))
        }
        let (scaled, overflow) = top.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return MediaTime(nanoseconds: top < 0 ? .min : .max) }
        return MediaTime(nanoseconds: dividedRounding(scaled, by: bottom))
    }
}

extension MediaTime: Comparable, Hashable {
    public static func == (left: MediaTime, right: MediaTime) -> Bool {
        if left.timescale == right.timescale { return left.value == right.value }
        return Int128(left.value) * Int128(right.timescale) == Int128(right.value) * Int128(left.timescale)
    }

    public static func < (left: MediaTime, right: MediaTime) -> Bool {
        if left.timescale == right.timescale { return left.value < right.value }
        return Int128(left.value) * Int128(right.timescale) < Int128(right.value) * Int128(left.timescale)
    }

    public func hash(into hasher: inout Hasher) {
        // Equal times of different timescales must hash alike: reduce first.
        var (a, b) = (value.magnitude, UInt64(timescale))
        while b != 0 { (a, b) = (b, a % b) }
        let divisor = Int64(clamping: a == 0 ? 1 : a)
        hasher.combine(value / divisor)
        hasher.combine(Int64(timescale) / divisor)
    }
}

extension MediaTime {
    public static func + (left: MediaTime, right: MediaTime) -> MediaTime {
        if left.timescale == right.timescale {
            let (sum, overflow) = left.value.addingReportingOverflow(right.value)
            return MediaTime(value: overflow ? (left.value < 0 ? .min : .max) : sum, timescale: left.timescale)
        }
        return normalized(
            numerator: Int128(left.value) * Int128(right.timescale) + Int128(right.value) * Int128(left.timescale),
            denominator: Int128(left.timescale) * Int128(right.timescale))
    }

    public static prefix func - (time: MediaTime) -> MediaTime {
        MediaTime(value: time.value == .min ? .max : -time.value, timescale: time.timescale)
    }

    public static func - (left: MediaTime, right: MediaTime) -> MediaTime { left + (-right) }

    public static func += (left: inout MediaTime, right: MediaTime) { left = left + right }
    public static func -= (left: inout MediaTime, right: MediaTime) { left = left - right }

    /// This time a whole number of times over.
    public static func * (time: MediaTime, factor: Int64) -> MediaTime {
        normalized(numerator: Int128(time.value) * Int128(factor), denominator: Int128(time.timescale))
    }

    /// The position a host duration later at rate 1.
    public func advanced(by duration: Duration) -> MediaTime {
        self + MediaTime(nanoseconds: duration.wholeNanoseconds)
    }
}

extension MediaTime: CustomStringConvertible {
    /// Seconds with milliseconds, as in `12.345 s`.
    public var description: String {
        let milliseconds = rescaled(to: 1000)
        let magnitude = milliseconds.magnitude
        let fraction = String(magnitude % 1000)
        let zeros = String(repeating: "0", count: 3 - fraction.count)
        return "\(milliseconds < 0 ? "-" : "")\(magnitude / 1000).\(zeros)\(fraction) s"
    }
}

/// A half-open stretch of film: `start` belongs to it, `end` does not.
public struct MediaTimeRange: Hashable, Sendable, BitwiseCopyable {
    public var start: MediaTime
    public var end: MediaTime

    @inlinable public init(start: MediaTime, end: MediaTime) {
        self.start = start
        self.end = end < start ? start : end
    }

    public var duration: MediaTime { end - start }
    public var isEmpty: Bool { end <= start }
    public func contains(_ time: MediaTime) -> Bool { start <= time && time < end }
}
