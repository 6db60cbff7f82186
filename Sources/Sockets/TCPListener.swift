internal import CSockets
internal import Glibc
package import MediaCore
internal import Synchronization

/// A listening TCP socket on one local address. Any thread.
package final class TCPListener: Sendable {
    package let descriptor: Int32
    package let port: UInt16
    private let address: NetworkAddress
    /// Written by `accept`, read by any thread.
    private let starved = Atomic<Bool>(false)

    /// - Parameters:
    ///   - port: 0 lets the system choose.
    ///   - listens: false only reserves the port; connections are refused until `listen`.
    package init(address: NetworkAddress, port: UInt16 = 0, listens: Bool = true) throws(SocketError) {
        let socket = openSocket(SOCK_STREAM, address.family)
        guard socket >= 0 else { throw SocketError(binding: errno) }
        // A restart need not wait for old connections. Two listeners on one port remain impossible (socket(7)).
        if port != 0 { setOption(socket, level: SOL_SOCKET, name: SO_REUSEADDR, value: 1) }
        // `::` takes connections of both families, whatever the system's default is (ipv6(7)).
        if address == .any { setOption(socket, level: Int32(IPPROTO_IPV6), name: IPV6_V6ONLY, value: 0) }
        guard address.withSocketAddress(port: port, { bind(socket, $0, $1) }) == 0,
            !listens || Glibc.listen(socket, 16) == 0
        else {
            let cause = errno
            close(socket)
            throw SocketError(binding: cause)
        }
        descriptor = socket
        self.address = address
        self.port = NetworkAddress.read { getsockname(socket, $0, $1) }?.port ?? port
    }

    deinit { close(descriptor) }

    /// Starts to accept connections; returns false if the system call fails.
    package func listen() -> Bool { Glibc.listen(descriptor, 16) == 0 }

    /// Blocks for 250 ms, or until `signal` is raised, if the last `accept` failed because no descriptor was available:
    /// the connection stays queued, and polling would spin. Does not clear the signal.
    package func restIfStarved(until signal: PollableSignal) {
        guard starved.load(ordering: .relaxed) else { return }
        _ = Poller.wait(reading: [signal.descriptor], until: .now.advanced(by: .milliseconds(250)))
    }

    /// Returns the next queued connection, non-blocking. Nil if there is none or it cannot be accepted
    /// (`restIfStarved`).
    package func accept() -> TCPSocket? {
        var socket: Int32 = -1
        let from = NetworkAddress.read {
            socket = csock_accept(descriptor, $0, $1)
            return socket
        }
        starved.store(socket < 0 && [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno), ordering: .relaxed)
        guard let from else { return nil }
        setOption(socket, level: Int32(IPPROTO_TCP), name: TCP_NODELAY, value: 1)
        return TCPSocket(descriptor: socket, local: address, remote: from.address)
    }
}

private func openSocket(_ type: __socket_type, _ family: Int32) -> Int32 {
    socket(family, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
}

private func setOption(_ socket: Int32, level: Int32, name: Int32, value: Int32) {
    var value = value
    setsockopt(socket, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}
