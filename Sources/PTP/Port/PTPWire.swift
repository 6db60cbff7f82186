internal import CSockets
internal import Glibc
package import MediaCore
package import Sockets

/// The two kinds of ports (IEEE 1588-2008, annex D.2): UDP 319 for timestamped event messages, 320 for general
/// messages.
package enum PTPChannel: Hashable, Sendable, BitwiseCopyable {
    case event
    case general
}

/// The transport of an engine. Tests replace it by one without a network.
package protocol PTPWire: Sendable {
    /// Returns the port number that both sides use for a channel.
    func port(of channel: PTPChannel) -> UInt16
    /// Sends one datagram; non-blocking.
    func send(_ bytes: [UInt8], on channel: PTPChannel, to peer: NetworkAddress)
    /// Returns the next received datagram, or nil; non-blocking.
    func receive(on channel: PTPChannel, into buffer: inout [UInt8], by clock: any HostClock)
        -> DatagramSocket.Datagram?
    /// Blocks until a datagram may have arrived, the descriptor is readable, or the deadline has passed.
    func wait(until deadline: HostInstant, or descriptor: Int32, by clock: any HostClock)
}

/// `PTPWire` over the two sockets of one local address.
final class PTPSocketWire: PTPWire {
    private let sockets: PTPSockets

    init(_ sockets: PTPSockets) { self.sockets = sockets }

    private func socket(_ channel: PTPChannel) -> DatagramSocket {
        channel == .event ? sockets.event : sockets.general
    }

    func port(of channel: PTPChannel) -> UInt16 { socket(channel).port }

    func send(_ bytes: [UInt8], on channel: PTPChannel, to peer: NetworkAddress) {
        let socket = socket(channel)
        socket.send(bytes, to: peer, port: socket.port)
    }

    func receive(
        on channel: PTPChannel, into buffer: inout [UInt8], by clock: any HostClock
    ) -> DatagramSocket.Datagram? { socket(channel).receive(into: &buffer, by: clock) }

    func wait(until deadline: HostInstant, or descriptor: Int32, by clock: any HostClock) {
        var descriptors = (
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: sockets.event.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: sockets.general.descriptor, events: Int16(POLLIN), revents: 0)
        )
        let rest = max(0, (deadline - clock.now).wholeNanoseconds)
        withUnsafeMutablePointer(to: &descriptors) {
            $0.withMemoryRebound(to: pollfd.self, capacity: 3) { _ = csock_poll($0, 3, rest) }
        }
    }
}
