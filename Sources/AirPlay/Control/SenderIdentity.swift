package import PTP

/// Who this installation is to speakers: eight bytes from which every identity on the wire derives.
///
/// The PTP clock, the device id, the MAC-shaped address and the remote-control id are all the same bytes, so that a
/// receiver that compares them never finds two senders in one.
package struct SenderIdentity: Hashable, Sendable {
    package let clock: ClockIdentity
    /// What speakers show as the sender.
    package let name: String

    /// - Parameter rawValue: kept for the life of the installation; 0 is not an identity.
    package init(rawValue: UInt64, name: String) {
        clock = ClockIdentity(rawValue: rawValue == 0 ? 1 : rawValue)
        self.name = name
    }

    /// A new identity. The locally administered bit is set and the group bit clear (IEEE 802, section 8.2), so that
    /// the address never collides with a real one.
    package static func random(name: String) -> SenderIdentity {
        let random = UInt64.random(in: 0 ... .max)
        return SenderIdentity(rawValue: (random & ~(0x03 << 56)) | (0x02 << 56), name: name)
    }

    private var bytes: [String] {
        (0..<8).map { index in
            let byte = UInt8(truncatingIfNeeded: clock.rawValue >> UInt64(56 - 8 * index))
            return (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
    }

    /// `A1:B2:…`, eight bytes.
    var deviceID: String { bytes.joined(separator: ":") }
    /// `A1:B2:…`, six bytes.
    var macAddress: String { bytes.prefix(6).joined(separator: ":") }
    /// Sixteen upper-case digits.
    package var remoteControlID: String { bytes.joined() }
}

/// Names that must not be met twice.
enum UniqueName {
    /// An upper-case UUID of random bits (RFC 9562, section 5.4).
    static func uuid() -> String {
        let high = UInt64.random(in: 0 ... .max) & ~0xF000 | 0x4000
        let low = UInt64.random(in: 0 ... .max) & ~(0xC0 << 56) | (0x80 << 56)
        func digits(_ value: UInt64) -> String {
            let text = String(value, radix: 16, uppercase: true)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        let text = Array(digits(high) + digits(low))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(text[$0]) }.joined(separator: "-")
    }
}
