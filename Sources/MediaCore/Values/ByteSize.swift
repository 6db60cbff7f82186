/// Parses sizes in bytes in mpv's notation.
package enum ByteSize {
    /// Returns the number of bytes of `150MiB`, `150M` or `157286400`; nil for other text and beyond 63 bits. The units
    /// are powers of 1024, in either case.
    package static func parse(_ text: String) -> Int? {
        let lower = text.lowercased()
        for (power, letter) in ["k", "m", "g", "t"].enumerated() {
            for unit in [letter + "ib", letter] where lower.hasSuffix(unit) {
                guard let number = DecimalNumber.integer(lower.dropLast(unit.count)) else { return nil }
                let (size, overflow) = number.multipliedReportingOverflow(by: 1 << (10 * (power + 1)))
                return overflow ? nil : size
            }
        }
        return DecimalNumber.integer(lower[...])
    }
}
