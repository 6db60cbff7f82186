package import Glibc

/// An IPv4 address.
package struct IPv4Address: Hashable, Sendable, BitwiseCopyable, CustomStringConvertible {
    /// Host byte order: 10.0.0.1 is 0x0A000001.
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Parses four decimal numbers; nil for anything else, including host names.
    package init?(_ text: String) {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false)
        guard fields.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in fields {
            guard part.utf8.count <= 3, part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let byte = UInt8(part)
            else { return nil }
            value = value << 8 | UInt32(byte)
        }
        rawValue = value
    }

    /// Dotted decimal notation.
    package var description: String {
        (0..<4).map { String(rawValue >> UInt32(24 - 8 * $0) & 0xFF) }.joined(separator: ".")
    }

    /// Returns the socket address with a port.
    package func socketAddress(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = rawValue.bigEndian
        return address
    }

    init(_ address: sockaddr_in) { rawValue = UInt32(bigEndian: address.sin_addr.s_addr) }
}
