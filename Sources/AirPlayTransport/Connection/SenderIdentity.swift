internal import Glibc
internal import MediaCore
package import PTP

/// The identity of this installation: eight bytes from which all identifiers in the protocol derive.
///
/// The PTP clock identity, device ID, MAC-shaped address and remote-control ID are the same bytes. A receiver that
/// compares them never sees two senders.
package struct SenderIdentity: Hashable, Sendable {
    package let clock: ClockIdentity
    /// The sender name displayed by speakers.
    package let name: String

    /// Creates an identity.
    ///
    /// - Parameter rawValue: Constant for the lifetime of the installation; 0 is replaced by 1.
    package init(rawValue: UInt64, name: String) {
        clock = ClockIdentity(rawValue: rawValue == 0 ? 1 : rawValue)
        self.name = name
    }

    /// Returns a random identity. The locally administered bit is set and the group bit clear (IEEE 802, section 8.2),
    /// so it cannot collide with a real MAC address.
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

    /// Eight bytes as `A1:B2:…`.
    package var deviceID: String { bytes.joined(separator: ":") }
    /// The first six bytes as `A1:B2:…`.
    package var macAddress: String { bytes.prefix(6).joined(separator: ":") }
    /// Sixteen upper-case hexadecimal digits.
    package var remoteControlID: String { bytes.joined() }
    /// The same without leading zeros, as in `DACP-ID`: shairport-sync removes those in the name of the service before
    /// it compares the two.
    package var dacpID: String { String(remoteControlID.drop { $0 == "0" }) }
}

/// Generates unique identifiers.
package enum UniqueName {
    /// Returns a random upper-case UUID (RFC 9562, section 5.4).
    package static func uuid() -> String {
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

extension SenderIdentity {
    /// The host name without its domain.
    package static var computerName: String {
        // HOST_NAME_MAX is 64 (gethostname(2)).
        var buffer = [CChar](repeating: 0, count: 65)
        guard gethostname(&buffer, 64) == 0 else { return "Talkie" }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let label = name.prefix { $0 != "." }
        return label.isEmpty ? "Talkie" : PrintableText.of(String(label))
    }
}
