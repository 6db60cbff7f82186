/// Escapes strings for JSON (RFC 8259, section 7).
enum JSONText {
    /// Appends a quoted string. Control characters, quotes and backslashes are escaped; everything else stays UTF-8.
    ///
    /// - Parameter limit: maximum number of bytes without the quotes; the scalars after it are dropped.
    static func append(_ text: String, to bytes: inout [UInt8], limit: Int = .max) {
        bytes.append(UInt8(ascii: "\""))
        var room = limit
        for scalar in text.unicodeScalars {
            let before = bytes.count
            append(scalar, to: &bytes)
            room -= bytes.count - before
            if room < 0 {
                bytes.removeLast(bytes.count - before)
                break
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        switch scalar {
        case "\"", "\\":
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(UInt8(scalar.value))
        case _ where scalar.value < 0x20 || scalar.value == 0x7F:
            for byte in "\\u00".utf8 { bytes.append(byte) }
            bytes.append(hexDigit(scalar.value >> 4))
            bytes.append(hexDigit(scalar.value & 15))
        default:
            for byte in String(scalar).utf8 { bytes.append(byte) }
        }
    }

    private static func hexDigit(_ value: UInt32) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + UInt8(value) : UInt8(ascii: "a") + UInt8(value - 10)
    }
}
