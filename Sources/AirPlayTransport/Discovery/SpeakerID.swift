/// The permanent identifier of a receiver: the bytes of its `deviceid`, normally a MAC address.
///
/// Pairings, remembered routes and calibrations are stored under it.
package struct SpeakerID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// 12 or 16 upper-case hexadecimal digits; safe as a file name.
    package let digits: String

    /// Parses six or eight hexadecimal bytes, plain or separated by colons or hyphens.
    ///
    /// Returns nil for anything else, and for all zeros, which receivers without an identifier announce.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8.prefix(24))
        guard text.utf8.count == bytes.count else { return nil }
        let separator = bytes.first { $0 == 0x3A || $0 == 0x2D }
        var digits: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if let separator, index % 3 == 2 {
                guard byte == separator else { return nil }
            } else {
                guard let digit = Self.upperCaseDigit(byte) else { return nil }
                digits.append(digit)
            }
        }
        let isValid = separator == nil || bytes.count % 3 == 2
        guard isValid, digits.count == 12 || digits.count == 16, digits.contains(where: { $0 != 0x30 }) else {
            return nil
        }
        self.digits = String(decoding: digits, as: UTF8.self)
    }

    private static func upperCaseDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39, 0x41...0x46: byte
        case 0x61...0x66: byte - 0x20
        default: nil
        }
    }

    /// The usual notation, `A1:B2:C3:D4:E5:F6`.
    package var description: String {
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, index.isMultiple(of: 2) { text.append(":") }
            text.append(digit)
        }
        return text
    }

    package static func < (left: SpeakerID, right: SpeakerID) -> Bool { left.digits < right.digits }
}
