internal import CSockets
internal import Glibc
package import MediaCore
package import Sockets

/// The two ways that messages take (IEEE 1588-2008, annex D.2): those whose times are taken travel on UDP 319, all others
/// on 320.
package enum PTPChannel: Hashable, Sendable, BitwiseCopyable {
    case event
    case general
}

/// What an engine speaks through. A test puts in one without a network.
package protocol PTPWire: Sendable {
    /// Where messages come from and go to, on both sides.
    func port(of channel: PTPChannel) -> UInt16
    /// Never waits.
    func send(_ bytes: [UInt8], on channel: PTPChannel, to peer: IPv4Address)
    /// The next message that has come, or nil; never waits.
    func receive(on channel: PTPChannel, into buffer: inout [UInt8], by clock: any HostClock)
        -> DatagramSocket.Datagram?
    /// Waits until something may have come, the descriptor is readable, or the moment has passed.
    func wait(until deadline: HostInstant, or descriptor: Int32, by clock: any HostClock)
}

/// The two sockets of one local address.
final class PTPSocketWire: PTPWire {
    private let sockets: PTPSockets

    init(_ sockets: PTPSockets) { self.sockets = sockets }

    private func socket(_ channel: PTPChannel) -> DatagramSocket {
        channel == .event ? sockets.event : sockets.general
    }

    func port(of channel: PTPChannel) -> UInt16 { socket(channel).port }

    func send(_ bytes: [UInt8], on channel: PTPChannel, to peer: IPv4Address) {
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
