internal import Glibc

/// A UDP socket that another process created and bound: its descriptor and its local address.
package struct BoundSocket: Hashable, Sendable {
    package let descriptor: Int32
    /// Unspecified for all local addresses.
    package let address: NetworkAddress
    package let port: UInt16

    /// Reads the properties of a descriptor. Nil if it is not a UDP socket; the descriptor stays open.
    package init?(_ descriptor: Int32) {
        guard let local = NetworkAddress.read({ getsockname(descriptor, $0, $1) }),
            Self.option(SO_TYPE, of: descriptor) == Int32(SOCK_DGRAM.rawValue),
            Self.option(SO_PROTOCOL, of: descriptor) == Int32(IPPROTO_UDP)
        else { return nil }
        self.descriptor = descriptor
        (address, port) = local
    }

    /// Returns a duplicate descriptor of the same socket, closed on exec; nil if no descriptor is available.
    package func copy() -> BoundSocket? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        return copy < 0 ? nil : BoundSocket(copy)
    }

    private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }
}
