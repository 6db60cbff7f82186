/// An exact media time: `value / timescale` seconds, like CoreMedia's `CMTime`.
///
/// Media times are rational because frame rates are (24000/1001); the sum of 100,000 frame durations is still exact.
/// Undefined times are nil, never a special value.
///
/// Sums stay exact while the reduced denominator fits 32 bits, otherwise they are rounded to nanoseconds. Values beyond
/// ±292 years saturate; no operation traps for any input.
public struct MediaTime: Sendable, BitwiseCopyable {
    /// Units of `1 / timescale` seconds.
    public let value: Int64
    /// Units per second; always positive.
    public let timescale: Int32

    /// Creates a time.
    ///
    /// - Parameter timescale: units per second. Zero and negative values, which occur in files, become 1.
    @inlinable public init(value: Int64, timescale: Int32) {
        self.value = value
        self.timescale = timescale > 0 ? timescale : 1
    }

    /// Creates a time from nanoseconds.
    @inlinable public init(nanoseconds: Int64) { self.init(value: nanoseconds, timescale: 1_000_000_000) }

    /// Creates a time rounded to nanoseconds; NaN becomes zero, large values saturate.
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

    /// Creates a time rounded to `1 / preferredTimescale` seconds, like `CMTime`; NaN becomes zero, large values
    /// saturate.
    public init(seconds: Double, preferredTimescale: Int32) {
        let units = (seconds * Double(max(1, preferredTimescale))).rounded()
        let value: Int64 = units.isNaN ? 0 : units >= 9.2e18 ? .max : units <= -9.2e18 ? .min : Int64(units)
        self.init(value: value, timescale: preferredTimescale)
    }

    /// Media time 0.
    public static let zero = MediaTime(value: 0, timescale: 1)

    /// The time in seconds, for display and floating-point filters.
    @inlinable public var seconds: Double { Double(value) / Double(timescale) }

    /// The time in nanoseconds, rounded, ties away from zero; saturates.
    public var nanoseconds: Int64 { rescaled(to: 1_000_000_000) }

    /// Returns the time in units of `1 / newTimescale` seconds, rounded, ties away from zero; saturates.
    package func rescaled(to newTimescale: Int32) -> Int64 {
        if newTimescale == timescale { return value }
        let (units, isLarge) = value.multipliedReportingOverflow(by: Int64(newTimescale))
        if !isLarge, let quotient = Self.dividedRounding(units, by: Int64(timescale)) { return quotient }
        return Self.dividedRounding(Int128(value) * Int128(newTimescale), by: Int128(timescale))
    }

    /// The time as a duration, for arithmetic on host clocks.
    public var duration: Duration { .nanoseconds(nanoseconds) }

    // The values of films fit 64 bits. 128 bits are for the rest: without optimization each conversion to `Int128` is a
    // generic call of 100 ns.

    /// Returns both values in units of `1 / (left.timescale * right.timescale)` seconds; nil if they exceed 64 bits.
    private static func commonUnits(_ left: MediaTime, _ right: MediaTime) -> (left: Int64, right: Int64)? {
        let (first, isFirstLarge) = left.value.multipliedReportingOverflow(by: Int64(right.timescale))
        let (second, isSecondLarge) = right.value.multipliedReportingOverflow(by: Int64(left.timescale))
        return isFirstLarge || isSecondLarge ? nil : (first, second)
    }

    private static func greatestCommonDivisor(_ first: UInt64, _ second: UInt64) -> UInt64 {
        var (a, b) = (first, second)
        while b != 0 { (a, b) = (b, a % b) }
        return a
    }

    /// Returns the quotient, rounded, ties away from zero; nil if that takes more than 64 bits.
    private static func dividedRounding(_ numerator: Int64, by denominator: Int64) -> Int64? {
        let half = denominator / 2
        let (sum, isLarge) = numerator.addingReportingOverflow(numerator >= 0 ? half : -half)
        return isLarge ? nil : sum / denominator
    }

    /// As the function of 128 bits; nil if the result takes these.
    private static func normalized(numerator: Int64, denominator: Int64) -> MediaTime? {
        if denominator <= Int64(Int32.max) { return MediaTime(value: numerator, timescale: Int32(denominator)) }
        let divisor = Int64(greatestCommonDivisor(numerator.magnitude, denominator.magnitude))
        let bottom = denominator / divisor
        if bottom <= Int64(Int32.max) { return MediaTime(value: numerator / divisor, timescale: Int32(bottom)) }
        // A sum with a number of nanoseconds.
        guard denominator % 1_000_000_000 == 0 else { return nil }
        return dividedRounding(numerator, by: denominator / 1_000_000_000).map(MediaTime.init(nanoseconds:))
    }

    static func dividedRounding(_ numerator: Int128, by denominator: Int128) -> Int64 {
        // Does not overflow 128 bits: callers multiply 64 by 32 bits or check for overflow themselves.
        let half = numerator >= 0 ? denominator / 2 : -(denominator / 2)
        let quotient = numerator.addingReportingOverflow(half).partialValue / denominator
        return Int64(clamping: quotient)
    }

    /// Returns a rational as 64 over 32 bits: reduced if that suffices, otherwise rounded to nanoseconds.
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
    /// Compares the rational values.
    public static func == (left: MediaTime, right: MediaTime) -> Bool {
        if left.timescale == right.timescale { return left.value == right.value }
        if let (first, second) = commonUnits(left, right) { return first == second }
        return Int128(left.value) * Int128(right.timescale) == Int128(right.value) * Int128(left.timescale)
    }

    /// Compares the rational values.
    public static func < (left: MediaTime, right: MediaTime) -> Bool {
        if left.timescale == right.timescale { return left.value < right.value }
        if let (first, second) = commonUnits(left, right) { return first < second }
        return Int128(left.value) * Int128(right.timescale) < Int128(right.value) * Int128(left.timescale)
    }

    /// Hashes the reduced fraction.
    public func hash(into hasher: inout Hasher) {
        // Equal times with different timescales must hash equally.
        let divisor = Int64(Self.greatestCommonDivisor(value.magnitude, UInt64(timescale)))
        hasher.combine(value / divisor)
        hasher.combine(Int64(timescale) / divisor)
    }
}

extension MediaTime {
    /// Returns the sum; exact if the reduced denominator fits 32 bits.
    public static func + (left: MediaTime, right: MediaTime) -> MediaTime {
        if left.timescale == right.timescale {
            let (sum, overflow) = left.value.addingReportingOverflow(right.value)
            return MediaTime(value: overflow ? (left.value < 0 ? .min : .max) : sum, timescale: left.timescale)
        }
        if let (first, second) = commonUnits(left, right) {
            let (sum, isLarge) = first.addingReportingOverflow(second)
            let denominator = Int64(left.timescale) * Int64(right.timescale)
            if !isLarge, let time = normalized(numerator: sum, denominator: denominator) { return time }
        }
        return normalized(
            numerator: Int128(left.value) * Int128(right.timescale) + Int128(right.value) * Int128(left.timescale),
            denominator: Int128(left.timescale) * Int128(right.timescale))
    }

    /// Returns the negated time.
    public static prefix func - (time: MediaTime) -> MediaTime {
        MediaTime(value: time.value == .min ? .max : -time.value, timescale: time.timescale)
    }

    /// Returns the difference; exact if the reduced denominator fits 32 bits.
    public static func - (left: MediaTime, right: MediaTime) -> MediaTime { left + (-right) }

    /// Adds a time.
    public static func += (left: inout MediaTime, right: MediaTime) { left = left + right }
    /// Subtracts a time.
    public static func -= (left: inout MediaTime, right: MediaTime) { left = left - right }

    /// Returns an integer multiple of this time.
    public static func * (time: MediaTime, factor: Int64) -> MediaTime {
        let (value, isLarge) = time.value.multipliedReportingOverflow(by: factor)
        if !isLarge { return MediaTime(value: value, timescale: time.timescale) }
        return normalized(numerator: Int128(time.value) * Int128(factor), denominator: Int128(time.timescale))
    }

    /// Returns the media time a host duration later at rate 1.
    public func advanced(by duration: Duration) -> MediaTime {
        self + MediaTime(nanoseconds: duration.wholeNanoseconds)
    }
}

extension MediaTime: CustomStringConvertible {
    /// Seconds with three decimals, as in `12.345 s`.
    public var description: String {
        let milliseconds = rescaled(to: 1000)
        let magnitude = milliseconds.magnitude
        let fraction = String(magnitude % 1000)
        let zeros = String(repeating: "0", count: 3 - fraction.count)
        return "\(milliseconds < 0 ? "-" : "")\(magnitude / 1000).\(zeros)\(fraction) s"
    }
}

/// A half-open range of media time: includes `start`, excludes `end`.
public struct MediaTimeRange: Hashable, Sendable, BitwiseCopyable {
    /// The first media time in the range.
    public var start: MediaTime
    /// The media time after the range.
    public var end: MediaTime

    /// Creates a range; an `end` before `start` becomes `start`.
    @inlinable public init(start: MediaTime, end: MediaTime) {
        self.start = start
        self.end = end < start ? start : end
    }

    /// The length of the range.
    public var duration: MediaTime { end - start }
    /// True if the range contains no time.
    public var isEmpty: Bool { end <= start }
    /// Returns true if the range contains a time.
    public func contains(_ time: MediaTime) -> Bool { start <= time && time < end }
}
