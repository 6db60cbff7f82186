internal import CSockets
internal import Glibc
internal import MediaCore
internal import Synchronization

/// A listening TCP socket on one local address.
package final class TCPListener: Sendable {
    package let descriptor: Int32
    package let port: UInt16
    private let address: IPv4Address
    private let starved = Atomic<Bool>(false)

    /// - Parameters:
    ///   - port: 0 for one that the system chooses.
    ///   - listens: false only takes the port; connections are refused until `listen`.
    package init(address: IPv4Address, port: UInt16 = 0, listens: Bool = true) throws(SocketError) {
        let socket = openSocket(SOCK_STREAM)
        guard socket >= 0 else { throw SocketError(binding: errno) }
        // A restart must not wait for old connections; two listeners on one port stay impossible (socket(7)).
        if port != 0 { setOption(socket, SOL_SOCKET, SO_REUSEADDR, 1) }
        guard bindSocket(socket, address, port), !listens || Glibc.listen(socket, 16) == 0 else {
            let cause = errno
            close(socket)
            throw SocketError(binding: cause)
        }
        descriptor = socket
        self.address = address
        self.port = boundPort(socket)
    }

    deinit { close(descriptor) }

    /// From now on connections are taken; false when the system refuses.
    package func listen() -> Bool { Glibc.listen(descriptor, 16) == 0 }

    /// The connection that waits could not be taken, because the system gives no further descriptor: it goes on waiting, and the
    /// listener stays readable. Whoever polls it rests a while first.
    package var isStarved: Bool { starved.load(ordering: .relaxed) }

    /// The next connection that waits; nil when there is none, or none can be taken (`isStarved`).
    package func accept() -> TCPSocket? {
        var from = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = withUnsafeMutablePointer(to: &from) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.accept(descriptor, $0, &size)
            }
        }
        starved.store(socket < 0 && [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno), ordering: .relaxed)
        guard socket >= 0 else { return nil }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        setOption(socket, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
        return TCPSocket(descriptor: socket, local: address, remote: IPv4Address(from))
    }
}

private func openSocket(_ type: __socket_type) -> Int32 {
    socket(AF_INET, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
}

private func setOption(_ socket: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    setsockopt(socket, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}

private func bindSocket(_ socket: Int32, _ address: IPv4Address, _ port: UInt16) -> Bool {
    var local = address.socketAddress(port: port)
    return withUnsafePointer(to: &local) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}

private func boundPort(_ socket: Int32) -> UInt16 {
    var local = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &local) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) }
    }
    return UInt16(bigEndian: local.sin_port)
}
