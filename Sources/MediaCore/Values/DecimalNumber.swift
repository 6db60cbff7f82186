/// A parser of decimal notation in user input: no exponents, no hexadecimal, no infinities.
package enum DecimalNumber {
    /// Parses digits with at most one decimal point. Returns the exact value in units of 10⁻⁹; nil for other text or
    /// overflow. Digits after the ninth decimal are dropped.
    package static func billionths(_ text: Substring) -> Int64? {
        var value: Int64 = 0
        var decimals = -1
        var digits = 0
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "."):
                if decimals >= 0 { return nil }
                decimals = 0
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                digits += 1
                if decimals >= 9 { continue }
                let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
                let (sum, carry) = tens.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
                if overflow || carry { return nil }
                value = sum
                if decimals >= 0 { decimals += 1 }
            default: return nil
            }
        }
        guard digits > 0 else { return nil }
        for _ in max(0, decimals)..<9 {
            let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
            if overflow { return nil }
            value = tens
        }
        return value
    }

    /// Parses a number with an optional sign; see `billionths`.
    package static func signedBillionths(_ text: String) -> Int64? {
        if text.hasPrefix("-") { return billionths(text.dropFirst()).map { -$0 } }
        return billionths(text.hasPrefix("+") ? text.dropFirst() : text[...])
    }

    /// Parses an unsigned decimal number.
    package static func parse(_ text: String) -> Double? { billionths(text[...]).map { Double($0) / 1e9 } }

    /// Parses an unsigned integer without sign or spaces.
    package static func integer(_ text: some StringProtocol) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int(text)
    }
}
