import Glibc

/// The address of a Unix domain socket (unix(7)) in the notation of service managers: an absolute path, or an abstract
/// name with a leading "@".
package struct LocalSocketAddress: Sendable, Equatable {
    /// The contents of `sun_path`: a path with its terminator, or a name after a zero byte.
    private let bytes: [UInt8]

    /// Parses an address; nil for other notations and if it is too long.
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

    /// Calls `body` with the address; the pointer is valid during the call only.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + bytes.count
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }
}

/// Sends datagrams to Unix domain sockets. Any thread; non-blocking.
package final class LocalDatagramSocket: Sendable {
    package let descriptor: Int32

    /// Creates an unbound socket; nil if no descriptor is available.
    package init?() {
        descriptor = socket(
            AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return nil }
    }

    /// Creates a socket that receives at an address; nil if the address is in use.
    package convenience init?(receivingAt address: LocalSocketAddress) {
        self.init()
        guard address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Sends one datagram.
    ///
    /// - Returns: nil on success, otherwise an errno value: no receiver, or its queue is full.
    package func send(_ text: String, to address: LocalSocketAddress) -> Int32? {
        let bytes = Array(text.utf8)
        let count = address.withSocketAddress { address, length in
            sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, length)
        }
        return count < 0 ? errno : nil
    }

    /// Returns the next queued datagram, at most 64 KiB of it; nil if there is none.
    package func receive() -> String? {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }
}
