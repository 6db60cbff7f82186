internal import Glibc
internal import MediaCore
internal import PTP

/// A listening TCP socket on one local address.
final class TCPListener: Sendable {
    let descriptor: Int32
    let port: UInt16

    /// - Parameters:
    ///   - port: 0 for one that the system chooses.
    ///   - listens: false only takes the port; connections are refused until `listen`.
    init(address: IPv4Address, port: UInt16 = 0, listens: Bool = true) throws(SpeakerError) {
        let socket = openSocket(SOCK_STREAM)
        guard socket >= 0 else { throw Self.refusal(errno, address, port) }
        // A restart must not wait for old connections; two listeners on one port stay impossible (socket(7)).
        if port != 0 { setOption(socket, SOL_SOCKET, SO_REUSEADDR, 1) }
        guard bindSocket(socket, address, port), !listens || Glibc.listen(socket, 16) == 0 else {
            let cause = errno
            close(socket)
            throw Self.refusal(cause, address, port)
        }
        descriptor = socket
        self.port = boundPort(socket)
    }

    deinit { close(descriptor) }

    private static func refusal(_ cause: Int32, _ address: IPv4Address, _ port: UInt16) -> SpeakerError {
        cause == EADDRINUSE
            ? SpeakerError(
                .cannotListen, "Another program listens on \(address):\(port); choose another --address or stop it.")
            : SpeakerError(
                .cannotListen,
                "Cannot listen on \(address):\(port) (error \(cause)); choose an address of this computer.")
    }

    /// From now on connections are taken; false when the system refuses.
    func listen() -> Bool { Glibc.listen(descriptor, 16) == 0 }

    /// The next connection that waits; nil when there is none.
    func accept() -> TCPStream? {
        var from = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = withUnsafeMutablePointer(to: &from) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.accept(descriptor, $0, &size)
            }
        }
        guard socket >= 0 else { return nil }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        return TCPStream(descriptor: socket, peer: IPv4Address(from))
    }
}

/// One TCP connection; never waits except where a deadline says so.
final class TCPStream: Sendable {
    let descriptor: Int32
    let peer: IPv4Address

    fileprivate init(descriptor: Int32, peer: IPv4Address) {
        self.descriptor = descriptor
        self.peer = peer
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    }

    deinit { close(descriptor) }

    enum Received { case bytes(Int), nothing, ended }

    /// Reads what is there.
    func receive(into buffer: inout [UInt8], limit: Int) -> Received {
        let count = recv(descriptor, &buffer, min(limit, buffer.count), Int32(MSG_DONTWAIT))
        if count > 0 { return .bytes(count) }
        if count < 0, errno == EAGAIN || errno == EINTR { return .nothing }
        return .ended
    }

    /// Writes everything, waiting for a slow reader until the deadline; false when that was in vain.
    func send(_ bytes: [UInt8], until deadline: HostInstant) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBufferPointer {
                Glibc.send(
                    descriptor, $0.baseAddress! + offset, bytes.count - offset,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                offset += count
            } else {
                guard count < 0, errno == EAGAIN || errno == EINTR, HostInstant.now < deadline else { return false }
                _ = Poller.wait(reading: [], writing: [descriptor], until: deadline)
            }
        }
        return true
    }

    /// Wakes whoever waits for this connection and lets the peer see its end.
    func shutdown() { Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// The connection dies without a goodbye: the peer sees a reset once this is released.
    func breakOff() {
        var choice = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &choice, socklen_t(MemoryLayout<linger>.size))
    }
}

/// A UDP socket on one local address with a port the system chose.
final class UDPSocket: Sendable {
    let descriptor: Int32
    let port: UInt16

    init(address: IPv4Address) throws(SpeakerError) {
        let socket = openSocket(SOCK_DGRAM)
        guard socket >= 0, bindSocket(socket, address, 0) else {
            let cause = errno
            if socket >= 0 { close(socket) }
            throw SpeakerError(.cannotListen, "Cannot open a UDP port on \(address) (error \(cause)).")
        }
        descriptor = socket
        port = boundPort(socket)
    }

    deinit { close(descriptor) }

    /// Reads one datagram; nil when there is none.
    func receive(into buffer: inout [UInt8]) -> (count: Int, from: IPv4Address, port: UInt16)? {
        var from = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &from) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT), $0, &size)
            }
        }
        return count >= 0 ? (count, IPv4Address(from), UInt16(bigEndian: from.sin_port)) : nil
    }

    func send(_ bytes: [UInt8], to address: IPv4Address, port: UInt16) {
        var target = address.socketAddress(port: port)
        _ = withUnsafePointer(to: &target) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT), $0,
                    socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
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
