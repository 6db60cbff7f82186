package import Glibc

/// The address of a socket of this computer (unix(7)), as service managers write it: a path from the root of the disk, or a name that only the
/// kernel knows, with "@" before it.
package struct LocalSocketAddress: Sendable, Equatable {
    /// As it stands in `sun_path`: a path with its end, or a name after a zero.
    private let bytes: [UInt8]

    /// Nil for what is neither, or does not fit.
    package init?(_ text: String) {
        var bytes = Array(text.utf8)
        guard bytes.count > 1, !bytes.contains(0) else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "/"): bytes.append(0)
        case UInt8(ascii: "@"): bytes[0] = 0
        default: return nil
        }
        guard bytes.count <= MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
        self.bytes = bytes
    }

    package func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + bytes.count
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }
}

/// Sends datagrams to sockets of this computer. Any thread; nothing ever waits.
package final class LocalDatagramSocket: Sendable {
    package let descriptor: Int32

    /// Nil when the system gives no further descriptor.
    package init?() {
        descriptor = socket(
            AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return nil }
    }

    /// One that receives at an address, which must be free.
    package convenience init?(receivingAt address: LocalSocketAddress) {
        self.init()
        guard address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// - Returns: nil when it was taken, otherwise the errno value: nobody is there, or who is there reads too slowly.
    package func send(_ text: String, to address: LocalSocketAddress) -> Int32? {
        let bytes = Array(text.utf8)
        let count = address.withSocketAddress { address, length in
            sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, length)
        }
        return count < 0 ? errno : nil
    }

    /// The next datagram that waits, its first 64 KiB; nil when there is none.
    package func receive() -> String? {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }
}
