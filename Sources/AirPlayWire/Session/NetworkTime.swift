package import MediaCore

/// An instant on the grandmaster's timeline as in requests: whole seconds, and a fraction in units of 2⁻⁶⁴ s.
package struct NetworkTime: Hashable, Sendable {
    let seconds: Int64
    let fraction: UInt64

    package init(seconds: Int64, fraction: UInt64) {
        self.seconds = seconds
        self.fraction = fraction
    }

    init(_ instant: PTPInstant) {
        let (whole, rest) = instant.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        seconds = rest < 0 ? whole - 1 : whole
        let remainder = UInt64(rest < 0 ? rest + 1_000_000_000 : rest)
        // 32 bits of fraction resolve 0.23 ns; receivers use no more.
        fraction = ((remainder << 32) / 1_000_000_000) << 32
    }

    /// The instant, rounded to nanoseconds; nil if it overflows 64 bits.
    package var instant: PTPInstant? {
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        // (fraction × 10⁹ + half) / 2⁶⁴ never exceeds 10⁹.
        let product = fraction.multipliedFullWidth(by: 1_000_000_000)
        let rounded = Int64(product.high) + (product.low >> 63 == 1 ? 1 : 0)
        let (sum, overflowed) = scaled.addingReportingOverflow(rounded)
        return overflow || overflowed ? nil : PTPInstant(nanoseconds: sum)
    }
}
