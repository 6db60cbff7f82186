internal import CSockets
internal import Glibc
package import MediaCore

/// One UDP socket, bound to one local address, with the kernel's receive times.
///
/// Never the wildcard address and never SO_REUSEADDR: a speaker in software lives on another address of this
/// computer with the same ports, and a second socket on ours would steal datagrams without a word. A service manager's
/// socket may be on every address, because it is there before the network is.
package final class DatagramSocket: Sendable {
    package let descriptor: Int32
    /// Ours; the one asked for, or what the system chose for 0.
    package let port: UInt16

    package init(address: IPv4Address, port: UInt16) throws(SocketError) {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else {
            throw SocketError(.unavailable, errno: errno)
        }
        Self.prepare(socket)
        var local = address.socketAddress(port: port)
        let code = withUnsafePointer(to: &local) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            let cause = errno
            close(socket)
            throw SocketError(binding: cause)
        }
        descriptor = socket
        self.port = BoundSocket(socket)?.port ?? port
    }

    /// Takes a socket over that somebody else bound. From now on it is this one's to close.
    package init(adopting socket: BoundSocket) {
        Self.prepare(socket.descriptor)
        descriptor = socket.descriptor
        port = socket.port
    }

    private static func prepare(_ socket: Int32) {
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, socklen_t(MemoryLayout<Int32>.size))
        // Expedited forwarding, for Wi-Fi's voice queue (RFC 8325, section 4.1): jitter here is error there.
        var service: Int32 = 46 << 2
        setsockopt(socket, Int32(IPPROTO_IP), IP_TOS, &service, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    /// Sends without waiting; a datagram that does not fit is lost like any other.
    package func send(_ bytes: [UInt8], to address: IPv4Address, port: UInt16) {
        var target = address.socketAddress(port: port)
        _ = withUnsafePointer(to: &target) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT), $0,
                    socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    package struct Datagram {
        package let count: Int
        package let source: IPv4Address
        package let sourcePort: UInt16
        /// When the kernel received it.
        package let received: HostInstant

        package init(count: Int, source: IPv4Address, sourcePort: UInt16, received: HostInstant) {
            (self.count, self.source, self.sourcePort, self.received) = (count, source, sourcePort, received)
        }
    }

    /// The next datagram, or nil when there is none. A message larger than the buffer is cut.
    ///
    /// - Parameter clock: the one that its moment is told by.
    package func receive(
        into buffer: inout [UInt8], by clock: any HostClock = MonotonicClock()
    ) -> Datagram? {
        var from = sockaddr_in()
        var stamp: Int64 = 0
        let count = csock_receive_stamped(descriptor, &buffer, buffer.count, &from, &stamp)
        guard count >= 0 else { return nil }
        return Datagram(
            count: count, source: IPv4Address(from), sourcePort: UInt16(bigEndian: from.sin_port),
            received: clock.instant(ofMachine: Self.monotonic(realtime: stamp)))
    }

    /// The kernel stamps with CLOCK_REALTIME; both clocks read back to back bring it over before any step can.
    private static func monotonic(realtime stamp: Int64) -> HostInstant {
        var real = timespec()
        clock_gettime(CLOCK_REALTIME, &real)
        let now = HostInstant.now
        let elapsed = Int64(real.tv_sec) &* 1_000_000_000 &+ Int64(real.tv_nsec) &- stamp
        // Without a stamp, or when the clock was set in between, the present moment is the best there is.
        guard stamp > 0, (0...1_000_000_000).contains(elapsed) else { return now }
        return HostInstant(nanoseconds: now.nanoseconds - elapsed)
    }
}
