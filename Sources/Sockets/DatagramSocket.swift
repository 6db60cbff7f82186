internal import CSockets
internal import Glibc
package import MediaCore

/// A UDP socket on one local address, with kernel receive timestamps. Any thread; all operations are non-blocking.
///
/// Never bound to the wildcard address and never with SO_REUSEADDR: a software receiver uses the same ports on another
/// local address, and a second socket on this one would silently take datagrams. A service manager's socket may be on
/// the wildcard address, because it is bound before the network is up.
package final class DatagramSocket: Sendable {
    package let descriptor: Int32
    /// The local port: the requested one, or the one that the system chose for 0.
    package let port: UInt16

    /// Creates and binds a socket.
    ///
    /// - Parameter port: 0 lets the system choose.
    package init(address: NetworkAddress, port: UInt16) throws(SocketError) {
        let socket = Glibc.socket(address.family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else {
            throw SocketError(.unavailable, errno: errno)
        }
        Self.prepare(socket)
        guard address.withSocketAddress(port: port, { bind(socket, $0, $1) }) == 0 else {
            let cause = errno
            close(socket)
            throw SocketError(binding: cause)
        }
        descriptor = socket
        self.port = BoundSocket(socket)?.port ?? port
    }

    /// Takes ownership of a bound socket and closes it on release.
    package init(adopting socket: BoundSocket) {
        Self.prepare(socket.descriptor)
        descriptor = socket.descriptor
        port = socket.port
    }

    private static func prepare(_ socket: Int32) {
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, socklen_t(MemoryLayout<Int32>.size))
        // DSCP EF selects Wi-Fi's voice queue (RFC 8325, section 4.1); jitter here is an error of the receiver's clock.
        var service: Int32 = 46 << 2
        // Each call is refused by a socket of the other family.
        setsockopt(socket, Int32(IPPROTO_IP), IP_TOS, &service, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(socket, Int32(IPPROTO_IPV6), IPV6_TCLASS, &service, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    /// Sends without blocking; a datagram that does not fit into the buffer is lost.
    package func send(_ bytes: [UInt8], to address: NetworkAddress, port: UInt16) {
        _ = address.withSocketAddress(port: port) {
            sendto(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT), $0, $1)
        }
    }

    /// The properties of a received datagram.
    package struct Datagram {
        /// The number of bytes in the buffer.
        package let count: Int
        package let source: NetworkAddress
        package let sourcePort: UInt16
        /// The kernel's receive timestamp.
        package let received: HostInstant

        package init(count: Int, source: NetworkAddress, sourcePort: UInt16, received: HostInstant) {
            (self.count, self.source, self.sourcePort, self.received) = (count, source, sourcePort, received)
        }
    }

    /// Receives a datagram; nil if none is queued. Longer messages are truncated to the buffer.
    ///
    /// - Parameter clock: the clock of the timestamp.
    package func receive(
        into buffer: inout [UInt8], by clock: any HostClock = MonotonicClock()
    ) -> Datagram? {
        var from = sockaddr_storage()
        var stamp: Int64 = 0
        let count = csock_receive_stamped(descriptor, &buffer, buffer.count, &from, &stamp)
        guard count >= 0, let source = NetworkAddress(from) else { return nil }
        return Datagram(
            count: count, source: source, sourcePort: NetworkAddress.port(of: from),
            received: clock.instant(ofMachine: Self.monotonic(realtime: stamp)))
    }

    /// Converts a kernel timestamp from CLOCK_REALTIME. Both clocks are read in succession, before a step can occur.
    private static func monotonic(realtime stamp: Int64) -> HostInstant {
        var real = timespec()
        clock_gettime(CLOCK_REALTIME, &real)
        let now = HostInstant.now
        let elapsed = Int64(real.tv_sec) &* 1_000_000_000 &+ Int64(real.tv_nsec) &- stamp
        // Without a timestamp, or if the clock was set, the current instant is the best estimate.
        guard stamp > 0, (0...1_000_000_000).contains(elapsed) else { return now }
        return HostInstant(nanoseconds: now.nanoseconds - elapsed)
    }
}
