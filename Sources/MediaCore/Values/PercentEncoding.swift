/// Percent-encoding of addresses (RFC 3986, 2.1).
package enum PercentEncoding {
    /// Decodes `%41` to `A`; malformed sequences are preserved.
    package static func decoded(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var rest = Array(bytes)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = Hexadecimal.bytes(String(decoding: rest.prefix(2), as: UTF8.self))?.first
            {
                decoded.append(value)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }

    /// Encodes the bytes that are not allowed as `%XX`.
    package static func encoded(_ bytes: some Sequence<UInt8>, allowing isAllowed: (UInt8) -> Bool) -> String {
        var encoded: [UInt8] = []
        for byte in bytes {
            if isAllowed(byte) { encoded.append(byte) } else { encoded += "%\(Hexadecimal.text([byte]))".utf8 }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
