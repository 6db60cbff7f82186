internal import CSockets
package import Glibc

/// An IPv4 or IPv6 address, with the interface of a link-local one.
///
/// IPv4 in IPv6 (`::ffff:10.0.0.1`, RFC 4291, section 2.5.5.2) is the IPv4 address: sockets for both families report it
/// that way.
package struct NetworkAddress: Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
    /// The upper and lower 64 bits in host byte order. An IPv4 address is the lower 32 bits of `low`.
    private let high: UInt64
    private let low: UInt64
    package let isIPv4: Bool
    /// Interface index of a link-local IPv6 address (RFC 4007, section 6); otherwise 0.
    package let scope: UInt32

    /// The IPv4 loopback address.
    package static let loopback = NetworkAddress(ipv4: 0x7F00_0001)
    /// All local addresses of IPv4, 0.0.0.0.
    package static let anyIPv4 = NetworkAddress(ipv4: 0)
    /// All local addresses of both families, `::`.
    package static let any = NetworkAddress(high: 0, low: 0)

    /// Creates an IPv4 address in host byte order: 10.0.0.1 is 0x0A000001.
    package init(ipv4: UInt32) { (high, low, isIPv4, scope) = (0, UInt64(ipv4), true, 0) }

    /// Creates an IPv6 address. `scope` is ignored unless it is link-local.
    private init(high: UInt64, low: UInt64, scope: UInt32 = 0) {
        let isMapped = high == 0 && low >> 32 == 0xFFFF
        (self.high, self.low, isIPv4) = (high, isMapped ? low & 0xFFFF_FFFF : low, isMapped)
        self.scope = Self.isLinkLocal(high) ? scope : 0
    }

    /// Creates an address from 4 or 16 bytes in network byte order; nil for another number. `scope` is ignored where it
    /// has no meaning.
    package init?(bytes: [UInt8], scope: UInt32 = 0) {
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        switch bytes.count {
        case 4: self.init(ipv4: UInt32(number(bytes[...])))
        case 16: self.init(high: number(bytes[..<8]), low: number(bytes[8...]), scope: scope)
        default: return nil
        }
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

    // MARK: Properties

    /// 4 or 16 bytes in network byte order.
    package var bytes: [UInt8] {
        func bytes(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
        return isIPv4 ? bytes(low).suffix(4) : bytes(high) + bytes(low)
    }

    package var isLoopback: Bool { isIPv4 ? low >> 24 == 127 : high == 0 && low == 1 }
    /// True for 169.254/16 (RFC 3927) and fe80::/10 (RFC 4291, section 2.5.6).
    package var isLinkLocal: Bool { isIPv4 ? low >> 16 == 0xA9FE : Self.isLinkLocal(high) }
    /// True for 0.0.0.0 and `::`.
    package var isUnspecified: Bool { high == 0 && low == 0 }

    private static func isLinkLocal(_ high: UInt64) -> Bool { high >> 54 == 0xFE80 >> 6 }

    /// True unless the address is unspecified (all zeros) or multicast (224/4, ff00::/8).
    package var isUnicast: Bool { !isUnspecified && (isIPv4 ? low >> 24 < 224 : high >> 56 != 0xFF) }

    /// Order in which to try addresses, lowest first. IPv4 first, because every receiver supports it; link-local IPv6
    /// after all others; loopback last, because only local services announce it.
    package var rank: Int {
        if isLoopback { return isIPv4 ? 4 : 5 }
        if isIPv4 { return isLinkLocal ? 1 : 0 }
        return isLinkLocal ? 3 : 2
    }

    /// IPv4 first, then by number.
    package static func < (left: NetworkAddress, right: NetworkAddress) -> Bool {
        if left.isIPv4 != right.isIPv4 { return left.isIPv4 }
        return (left.high, left.low, left.scope) < (right.high, right.low, right.scope)
    }

    // MARK: Text

    /// The address as text without its interface, which has no meaning on another computer.
    package var literal: String {
        // INET6_ADDRSTRLEN is 46 bytes, enough for both families.
        var text = [CChar](repeating: 0, count: 46)
        inet_ntop(family, bytes, &text, socklen_t(text.count))
        return Self.string(text)
    }

    /// The address as text; a link-local IPv6 address with its interface name, or its index if there is none.
    package var description: String {
        guard scope != 0 else { return literal }
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        return "\(literal)%" + (if_indextoname(scope, &name) == nil ? String(scope) : Self.string(name))
    }

    /// The address as the host of a URL, without its interface (RFC 3986, section 3.2.2).
    package var urlHost: String { isIPv4 ? literal : "[\(literal)]" }

    private static func string(_ text: [CChar]) -> String {
        String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: Sockets

    /// The address family of its sockets.
    package var family: Int32 { isIPv4 ? AF_INET : AF_INET6 }

    /// Calls `body` with the socket address; the pointer is valid during the call only.
    package func withSocketAddress<Result>(
        port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var storage = sockaddr_storage()
        let size: Int
        if isIPv4 {
            var address = sockaddr_in()
            (address.sin_family, address.sin_port) = (sa_family_t(AF_INET), port.bigEndian)
            address.sin_addr.s_addr = UInt32(low).bigEndian
            size = MemoryLayout<sockaddr_in>.size
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in.self) }
        } else {
            var address = sockaddr_in6()
            (address.sin6_family, address.sin6_port) = (sa_family_t(AF_INET6), port.bigEndian)
            withUnsafeMutableBytes(of: &address.sin6_addr) {
                $0.storeBytes(of: high.bigEndian, as: UInt64.self)
                $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            address.sin6_scope_id = scope
            size = MemoryLayout<sockaddr_in6>.size
            withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: sockaddr_in6.self) }
        }
        return withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(size)) }
        }
    }

    /// Reads a socket address; nil for other families than IPv4 and IPv6.
    init?(_ storage: sockaddr_storage) {
        switch Int32(storage.ss_family) {
        case AF_INET:
            let address = withUnsafeBytes(of: storage) { $0.load(as: sockaddr_in.self) }
            self.init(ipv4: UInt32(bigEndian: address.sin_addr.s_addr))
        case AF_INET6:
            let address = withUnsafeBytes(of: storage) { $0.load(as: sockaddr_in6.self) }
            let (high, low) = withUnsafeBytes(of: address.sin6_addr) {
                // `in6_addr` is aligned to four bytes.
                ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            self.init(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low), scope: address.sin6_scope_id)
        default: return nil
        }
    }

    /// Returns the address and the port that a system call writes, such as getsockname(2); nil if it fails, and for
    /// other families than IPv4 and IPv6.
    static func read(
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> (address: NetworkAddress, port: UInt16)? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &size) }
        }
        guard code >= 0, let address = NetworkAddress(storage) else { return nil }
        return (address, Self.port(of: storage))
    }

    /// Returns the port of a socket address, which is at the same position in both families (ip(7), ipv6(7)).
    static func port(of storage: sockaddr_storage) -> UInt16 {
        UInt16(bigEndian: withUnsafeBytes(of: storage) { $0.load(fromByteOffset: 2, as: UInt16.self) })
    }
}

/// An address and a port.
package struct NetworkEndpoint: Hashable, Sendable, CustomStringConvertible {
    package var address: NetworkAddress
    package var port: UInt16

    package init(_ address: NetworkAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    package var description: String { address.isIPv4 ? "\(address):\(port)" : "[\(address)]:\(port)" }
}
