internal import Glibc

/// An IPv4 or IPv6 address, with the interface of a link-local one.
package struct NetworkAddress: Hashable, Sendable, CustomStringConvertible {
    /// 4 or 16 bytes in network byte order.
    package let bytes: [UInt8]
    /// Interface index of a link-local IPv6 address (RFC 4007, section 6); otherwise 0.
    package let scope: UInt32

    /// Creates an address; nil unless there are 4 or 16 bytes. `scope` is ignored where it has no meaning.
    package init?(bytes: [UInt8], scope: UInt32 = 0) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
        self.scope = Self.isLinkLocal(bytes) && bytes.count == 16 ? scope : 0
    }

    /// Parses `10.0.0.1`, `fd00::1` or `fe80::1%eth0` without a name lookup. Nil for other text and unknown interfaces.
    package init?(_ text: String) {
        guard text.utf8.count <= 64, !text.utf8.contains(0) else { return nil }
        let fields = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = fields.first.map(String.init) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        if fields.count == 1, inet_pton(AF_INET, address, &bytes) == 1 {
            self.init(bytes: Array(bytes.prefix(4)))
            return
        }
        guard inet_pton(AF_INET6, address, &bytes) == 1 else { return nil }
        var scope: UInt32 = 0
        if fields.count == 2 {
            scope = UInt32(fields[1]) ?? if_nametoindex(String(fields[1]))
            guard scope != 0 else { return nil }
        }
        self.init(bytes: bytes, scope: scope)
    }

    package var isIPv4: Bool { bytes.count == 4 }
    var isLoopback: Bool {
        isIPv4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }
    /// True for 169.254/16 (RFC 3927) and fe80::/10 (RFC 4291, section 2.5.6).
    package var isLinkLocal: Bool { Self.isLinkLocal(bytes) }

    private static func isLinkLocal(_ bytes: [UInt8]) -> Bool {
        bytes.count == 4 ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
    }

    /// True unless the address is unspecified (all zeros) or multicast (224/4, ff00::/8).
    package var isUnicast: Bool {
        if bytes.allSatisfy({ $0 == 0 }) { return false }
        return isIPv4 ? bytes[0] < 224 : bytes[0] != 0xFF
    }

    /// Order in which to try addresses, lowest first. IPv4 first, because every receiver supports it; link-local IPv6
    /// after all others; loopback last, because only local services announce it.
    package var rank: Int {
        if isLoopback { return isIPv4 ? 4 : 5 }
        if isIPv4 { return isLinkLocal ? 1 : 0 }
        return isLinkLocal ? 3 : 2
    }

    /// The address as text; a link-local IPv6 address with its interface name, or its index if there is none.
    package var description: String {
        // INET6_ADDRSTRLEN is 46 bytes, enough for both families.
        var text = [CChar](repeating: 0, count: 46)
        inet_ntop(isIPv4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        let address = Self.string(text)
        guard scope != 0 else { return address }
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        return if_indextoname(scope, &name) == nil ? "\(address)%\(scope)" : "\(address)%\(Self.string(name))"
    }

    private static func string(_ text: [CChar]) -> String {
        String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// An address and a TCP port.
package struct NetworkEndpoint: Hashable, Sendable, CustomStringConvertible {
    package var address: NetworkAddress
    package var port: UInt16

    package init(_ address: NetworkAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    package var description: String { address.isIPv4 ? "\(address):\(port)" : "[\(address)]:\(port)" }
}
