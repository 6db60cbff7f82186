internal import CSockets
internal import Glibc
internal import MediaCore
internal import PTP

/// A TCP connection whose every wait has an end.
///
/// One thread sends and one receives at a time; `interrupt` may be called from any thread and makes both return.
final class TCPSocket: Sendable {
    let descriptor: Int32
    let local: IPv4Address
    let remote: IPv4Address

    private init(descriptor: Int32, local: IPv4Address, remote: IPv4Address) {
        self.descriptor = descriptor
        self.local = local
        self.remote = remote
    }

    deinit { close(descriptor) }

    /// Finds the IPv4 address of a host. May block for as long as the system's resolver does.
    static func resolve(_ host: String) throws(AirPlayError) -> IPv4Address {
        if let address = IPv4Address(host) { return address }
        var hints = addrinfo()
        hints.ai_family = AF_INET
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0, let found = list, let address = found.pointee.ai_addr else {
            throw AirPlayError(.unreachable, "There is no host named \(host); check the name, or give an address.")
        }
        defer { freeaddrinfo(list) }
        return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { IPv4Address($0.pointee) }
    }

    static func connect(
        to address: IPv4Address, port: UInt16, deadline: HostInstant
    ) throws(AirPlayError) -> TCPSocket {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = Glibc.socket(AF_INET, kind, 0)
        guard descriptor >= 0 else {
            throw AirPlayError(.unreachable, "The system refuses a socket (error \(errno)); close some programs.")
        }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        var target = address.socketAddress(port: port)
        let code = withUnsafePointer(to: &target) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        var cause = code == 0 ? 0 : errno
        if cause == EINPROGRESS {
            guard wait(descriptor, for: POLLOUT, deadline: deadline) else {
                close(descriptor)
                throw AirPlayError(
                    .unreachable, "The speaker at \(address):\(port) does not answer; is it on and on this network?")
            }
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &cause, &size)
        }
        guard cause == 0 else {
            close(descriptor)
            throw AirPlayError(
                .unreachable, "The speaker at \(address):\(port) refuses a connection (\(text(of: cause))).")
        }
        var own = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &own) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        return TCPSocket(descriptor: descriptor, local: IPv4Address(own), remote: address)
    }

    /// The local address from which a host is reached now; nil when there is no way to it. Sends nothing.
    static func localAddress(toward remote: IPv4Address) -> IPv4Address? {
        withDatagramSocket { descriptor in
            // The port is of no interest: connecting a UDP socket only chooses the way (udp(7)).
            var target = remote.socketAddress(port: 9)
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = withUnsafePointer(to: &target) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, size) }
            }
            guard code == 0 else { return nil }
            var own = sockaddr_in()
            var length = size
            _ = withUnsafeMutablePointer(to: &own) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            return IPv4Address(own)
        }
    }

    /// Whether an address is one of this computer's now.
    static func isOwn(_ address: IPv4Address) -> Bool {
        withDatagramSocket { descriptor in
            var own = address.socketAddress(port: 0)
            let code = withUnsafePointer(to: &own) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            return code == 0 || errno != EADDRNOTAVAIL
        } ?? true
    }

    private static func withDatagramSocket<Result>(_ body: (Int32) -> Result?) -> Result? {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return body(descriptor)
    }

    private static func text(of cause: Int32) -> String {
        strerror(cause).map { String(cString: $0) } ?? "error \(cause)"
    }

    /// Waits until the socket is ready or broken; false when the deadline passed first.
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

    /// What came of an attempt to move bytes.
    enum Transfer: Equatable {
        case moved(Int)
        /// Nothing moves at present.
        case blocked
        /// The other side is gone, or `interrupt` was called.
        case ended
    }

    /// Sends what fits now.
    func send(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        while true {
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return .moved(count) }
            if errno == EAGAIN { return .blocked }
            if errno != EINTR { return .ended }
        }
    }

    /// Waits until something can be sent; false when the deadline passed first. Nil waits until `interrupt`.
    func waitUntilWritable(deadline: HostInstant?) -> Bool {
        Self.wait(descriptor, for: POLLOUT, deadline: deadline)
    }

    /// Sends everything. After an error part of it may have been sent.
    func sendAll(_ bytes: [UInt8], deadline: HostInstant) throws(AirPlayError) {
        var sent = 0
        while sent < bytes.count {
            switch bytes.withUnsafeBytes({ send(UnsafeRawBufferPointer(rebasing: $0[sent...])) }) {
            case .moved(let count): sent += count
            case .ended: throw AirPlayError(.lost, "The speaker has closed the connection.")
            case .blocked:
                guard waitUntilWritable(deadline: deadline) else {
                    throw AirPlayError(.timedOut, "The speaker takes no requests.")
                }
            }
        }
    }

    /// Receives at least one byte into the buffer; 0 when the other side has closed. Nil waits until `interrupt`.
    func receive(into buffer: inout [UInt8], deadline: HostInstant?) throws(AirPlayError) -> Int {
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count >= 0 { return count }
            guard errno == EAGAIN || errno == EINTR else {
                throw AirPlayError(.lost, "The connection to the speaker broke (\(Self.text(of: errno))).")
            }
            guard Self.wait(descriptor, for: POLLIN, deadline: deadline) else {
                throw AirPlayError(.timedOut, "The speaker did not answer in time.")
            }
        }
    }

    /// Bytes sent that the other side has not acknowledged.
    var unacknowledgedBytes: Int { max(0, Int(csock_unacknowledged_bytes(descriptor))) }

    /// The shortest way there and back that the kernel has seen in the last minutes, processes not included; nil
    /// when it does not say.
    var shortestRoundTrip: Duration? {
        let microseconds = csock_shortest_round_trip_us(descriptor)
        return microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Asks for a send buffer of this many bytes.
    func setSendBuffer(_ bytes: Int32) {
        var bytes = bytes
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    /// How the kernel repeats itself while the network is away. Its own pauses double up to two minutes (RFC 6298,
    /// section 5.5), so that a request made during an outage of 20 s would reach the speaker up to 13 s after it.
    struct Persistence {
        /// Bounds the pauses, from Linux 6.15 on; earlier kernels go on doubling. `TCP_RTO_MAX_MS`, linux/tcp.h.
        var longestPause: Duration
        /// Ends the connection when nothing has been acknowledged for so long, also while the speaker reads nothing
        /// (`TCP_USER_TIMEOUT`, tcp(7)); nil leaves it at 15 repetitions (tcp_retries2).
        var patience: Duration?

        /// Requests: the next one is understood a second after the network is back. The session itself gives up
        /// before the patience ends.
        static let requests = Persistence(longestPause: .seconds(1), patience: .seconds(40))
        /// Sound, which a paused speaker need not read for hours: 15 repetitions take 39 s with these pauses.
        static let sound = Persistence(longestPause: .seconds(3), patience: nil)
    }

    func setPersistence(_ persistence: Persistence) {
        let longestPauseOption: Int32 = 44
        var milliseconds = Int32(clamping: persistence.longestPause.wholeNanoseconds / 1_000_000)
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard setsockopt(descriptor, Int32(IPPROTO_TCP), longestPauseOption, &milliseconds, size) == 0,
            let patience = persistence.patience
        else { return }
        milliseconds = Int32(clamping: patience.wholeNanoseconds / 1_000_000)
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, size)
    }

    /// Ends both directions; every wait on this socket returns. Any thread.
    func interrupt() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
