/// Formats numbers with a fixed number of decimals, for display and JSON.
package enum Decimals {
    /// The maximum number of units of the last decimal.
    private static let maxUnits = 9.2e18

    /// Returns for instance `-0.250` for (-0.25, 3). Never "-0.000". Saturates at ±9.2e18 units of the last decimal;
    /// NaN is 0.
    package static func text(_ value: Double, _ decimals: Int) -> String {
        let scaled = units(value, decimals)
        let rounded = scaled.isNaN ? 0 : Int64(max(-maxUnits, min(maxUnits, scaled)))
        guard decimals > 0 else { return String(rounded) }
        let digits = String(rounded.magnitude)
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return (rounded < 0 ? "-" : "") + padded.dropLast(decimals) + "." + padded.suffix(decimals)
    }

    /// Whether `text` returns another number because the value is too large.
    static func isSaturated(_ value: Double, _ decimals: Int) -> Bool { units(value, decimals).magnitude > maxUnits }

    private static func units(_ value: Double, _ decimals: Int) -> Double {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        return (value * scale).rounded()
    }

    /// Formats a number without trailing zeros: `1`, `1.25`.
    package static func short(_ value: Double, atMost decimals: Int = 2) -> String {
        var text = text(value, decimals)[...]
        if text.contains(".") {
            while text.hasSuffix("0") { text.removeLast() }
            if text.hasSuffix(".") { text.removeLast() }
        }
        return String(text)
    }

    /// Formats like `text`, always with a sign, for offsets.
    package static func signed(_ value: Double, _ decimals: Int) -> String {
        let text = text(value, decimals)
        return text.hasPrefix("-") ? text : "+" + text
    }

    /// Formats seconds as `1:02:03` or `02:03`.
    package static func clock(seconds: Double) -> String {
        let rounded = Int(max(0, min(3.6e8, seconds.isNaN ? 0 : seconds)))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (rounded / 3600, rounded / 60 % 60)
        return (hours > 0 ? "\(hours):" : "") + two(minutes) + ":" + two(rounded % 60)
    }
}
