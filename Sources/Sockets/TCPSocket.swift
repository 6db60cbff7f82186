internal import CSockets
internal import Glibc
package import MediaCore

/// A TCP connection whose blocking operations end at a deadline or at `interrupt`.
///
/// One thread may send and one receive at a time. `interrupt` may be called from any thread and makes both return.
package final class TCPSocket: Sendable {
    package let descriptor: Int32
    package let local: NetworkAddress
    package let remote: NetworkAddress

    init(descriptor: Int32, local: NetworkAddress, remote: NetworkAddress) {
        self.descriptor = descriptor
        self.local = local
        self.remote = remote
    }

    deinit { close(descriptor) }

    /// Returns the address of a host, IPv4 if it has both. Blocks up to the resolver's own timeout.
    ///
    /// - Throws: `noSuchHost`.
    package static func resolve(_ host: String) throws(SocketError) -> NetworkAddress {
        if let address = NetworkAddress(host) { return address }
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        var found: [NetworkAddress] = []
        if getaddrinfo(host, nil, &hints, &list) == 0 {
            defer { freeaddrinfo(list) }
            var item = list
            while let current = item?.pointee {
                item = current.ai_next
                let address = NetworkAddress.read { pointer, size in
                    guard let from = current.ai_addr, current.ai_addrlen <= size.pointee else { return -1 }
                    memcpy(pointer, from, Int(current.ai_addrlen))
                    return 0
                }
                if let address { found.append(address.address) }
            }
        }
        guard let address = found.first(where: \.isIPv4) ?? found.first else {
            throw SocketError(.noSuchHost, "there is no host named \(host)")
        }
        return address
    }

    /// Opens a connection; blocks until the deadline.
    ///
    /// - Throws: `timedOut`, `refused`, `unavailable` or `exhausted`.
    package static func connect(
        to address: NetworkAddress, port: UInt16, deadline: HostInstant
    ) throws(SocketError) -> TCPSocket {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = Glibc.socket(address.family, kind, 0)
        guard descriptor >= 0 else {
            throw SocketError(.unavailable, errno: errno)
        }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        let code = address.withSocketAddress(port: port) { Glibc.connect(descriptor, $0, $1) }
        var cause = code == 0 ? 0 : errno
        if cause == EINPROGRESS {
            guard wait(descriptor, for: POLLOUT, deadline: deadline) else {
                close(descriptor)
                throw SocketError(.timedOut, "no answer")
            }
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &cause, &size)
        }
        guard cause == 0 else {
            close(descriptor)
            throw SocketError(.refused, errno: cause)
        }
        guard let own = NetworkAddress.read({ getsockname(descriptor, $0, $1) }) else {
            cause = errno
            close(descriptor)
            throw SocketError(.unavailable, errno: cause)
        }
        return TCPSocket(descriptor: descriptor, local: own.address, remote: address)
    }

    /// Returns the local address of the route to a host; nil if there is no route. Sends nothing.
    package static func localAddress(toward remote: NetworkAddress) -> NetworkAddress? {
        withDatagramSocket(remote.family) { descriptor in
            // The port is irrelevant: connecting a UDP socket only selects the route (udp(7)).
            guard remote.withSocketAddress(port: 9, { Glibc.connect(descriptor, $0, $1) }) == 0 else { return nil }
            return NetworkAddress.read { getsockname(descriptor, $0, $1) }?.address
        }
    }

    /// Returns true if the address is local, or if that cannot be determined.
    package static func isOwn(_ address: NetworkAddress) -> Bool {
        withDatagramSocket(address.family) { descriptor in
            address.withSocketAddress(port: 0) { bind(descriptor, $0, $1) } == 0 || errno != EADDRNOTAVAIL
        } ?? true
    }

    private static func withDatagramSocket<Result>(_ family: Int32, _ body: (Int32) -> Result?) -> Result? {
        let descriptor = Glibc.socket(family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return body(descriptor)
    }

    /// Blocks until the socket is ready or has failed; returns false after the deadline.
    private static func wait(_ descriptor: Int32, for events: Int32, deadline: HostInstant?) -> Bool {
        while true {
            var item = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            let rest = deadline.map { max(0, ($0 - .now).wholeNanoseconds) } ?? -1
            let code = csock_poll(&item, 1, rest)
            if code > 0 { return true }
            if code == 0 { return false }
            if errno != EINTR { return true }
        }
    }

    /// The result of a non-blocking send.
    package enum Transfer: Equatable {
        /// The number of bytes sent.
        case moved(Int)
        /// The send buffer is full.
        case blocked
        /// The peer has closed the connection, or `interrupt` was called.
        case ended
    }

    /// Sends as many bytes as fit, non-blocking.
    package func send(_ bytes: UnsafeRawBufferPointer) -> Transfer { Self.send(bytes, on: descriptor) }

    static func send(_ bytes: UnsafeRawBufferPointer, on descriptor: Int32) -> Transfer {
        while true {
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return .moved(count) }
            if errno == EAGAIN { return .blocked }
            if errno != EINTR { return .ended }
        }
    }

    /// Blocks until the socket is writable; returns false after the deadline. Nil waits until `interrupt`.
    package func waitUntilWritable(deadline: HostInstant?) -> Bool {
        Self.wait(descriptor, for: POLLOUT, deadline: deadline)
    }

    /// Sends all bytes; blocks until the deadline. After an error part of them may have been sent.
    ///
    /// - Throws: `lost` or `timedOut`.
    package func sendAll(_ bytes: [UInt8], deadline: HostInstant) throws(SocketError) {
        var sent = 0
        while sent < bytes.count {
            switch bytes.withUnsafeBytes({ send(UnsafeRawBufferPointer(rebasing: $0[sent...])) }) {
            case .moved(let count): sent += count
            case .ended: throw SocketError(.lost, "the peer has closed the connection")
            case .blocked:
                guard waitUntilWritable(deadline: deadline) else {
                    throw SocketError(.timedOut, "the peer accepts no data")
                }
            }
        }
    }

    /// Like `sendAll`, but returns false on an error.
    package func sendCompletely(_ bytes: [UInt8], until deadline: HostInstant) -> Bool {
        do { try sendAll(bytes, deadline: deadline) } catch { return false }
        return true
    }

    /// Receives at least one byte and returns their number; 0 after the peer has closed. A deadline of nil waits until
    /// `interrupt`.
    ///
    /// - Throws: `lost` or `timedOut`.
    package func receive(into buffer: inout [UInt8], deadline: HostInstant?) throws(SocketError) -> Int {
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count >= 0 { return count }
            guard errno == EAGAIN || errno == EINTR else {
                throw SocketError(.lost, errno: errno)
            }
            guard Self.wait(descriptor, for: POLLIN, deadline: deadline) else {
                throw SocketError(.timedOut, "timed out")
            }
        }
    }

    /// The result of a non-blocking read.
    package enum Received { case bytes(Int), nothing, ended }

    /// Reads queued bytes, at most `limit`. Non-blocking.
    package func receiveNow(into buffer: inout [UInt8], limit: Int) -> Received {
        Self.receiveNow(from: descriptor, into: &buffer, limit: limit)
    }

    static func receiveNow(from descriptor: Int32, into buffer: inout [UInt8], limit: Int) -> Received {
        let count = recv(descriptor, &buffer, min(limit, buffer.count), Int32(MSG_DONTWAIT))
        if count > 0 { return .bytes(count) }
        if count < 0, errno == EAGAIN || errno == EINTR { return .nothing }
        return .ended
    }

    /// Makes the release of this object send a reset instead of FIN (SO_LINGER).
    package func breakOff() {
        var choice = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &choice, socklen_t(MemoryLayout<linger>.size))
    }

    /// Bytes sent and not yet acknowledged.
    package var unacknowledgedBytes: Int { max(0, Int(csock_unacknowledged_bytes(descriptor))) }

    /// The kernel's minimum round-trip time of the last minutes, without user-space processing; nil if unavailable.
    package var shortestRoundTrip: Duration? {
        let microseconds = csock_shortest_round_trip_us(descriptor)
        return microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Requests a send buffer size in bytes.
    package func setSendBuffer(_ bytes: Int32) {
        var bytes = bytes
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Retransmission parameters for network outages. By default the kernel's interval doubles up to two minutes
    /// (RFC 6298, section 5.5): data sent in an outage of 20 s would arrive up to 13 s after it.
    package struct Persistence {
        /// Maximum retransmission interval (`TCP_RTO_MAX_MS`, linux/tcp.h). Needs Linux 6.15; earlier kernels keep
        /// doubling.
        var longestPause: Duration
        /// Timeout without acknowledgements, also while the peer does not read (`TCP_USER_TIMEOUT`, tcp(7)). Nil keeps
        /// the default of 15 retransmissions (tcp_retries2).
        var timeout: Duration?

        package init(longestPause: Duration, timeout: Duration?) {
            self.longestPause = longestPause
            self.timeout = timeout
        }
    }

    /// Sets both parameters; kernels without `TCP_RTO_MAX_MS` keep both defaults.
    package func setPersistence(_ persistence: Persistence) {
        let longestPauseOption: Int32 = 44
        var milliseconds = Int32(clamping: persistence.longestPause.wholeNanoseconds / 1_000_000)
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard setsockopt(descriptor, Int32(IPPROTO_TCP), longestPauseOption, &milliseconds, size) == 0,
            let timeout = persistence.timeout
        else { return }
        milliseconds = Int32(clamping: timeout.wholeNanoseconds / 1_000_000)
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, size)
    }

    /// Shuts down both directions; all blocking calls on this socket return. Any thread.
    package func interrupt() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
