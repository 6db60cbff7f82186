internal import MediaCore
package import Sockets

/// The two sockets of one local address, bound until this object is released: UDP 319 for event messages, 320 for
/// general ones (IEEE 1588-2008, annex D.2).
package final class PTPSockets: Sendable {
    package let event: DatagramSocket
    package let general: DatagramSocket

    init(event: DatagramSocket, general: DatagramSocket) {
        self.event = event
        self.general = general
    }

    /// Returns sockets from the service manager if present, otherwise binds them. Uses the helper program if this
    /// process lacks the privilege.
    ///
    /// - Parameters:
    ///   - eventPort, generalPort: 319 and 320; tests without the privilege use others.
    ///   - helper: binds 319 and 320 only; nil if none is installed.
    /// - Throws: `PTPError` with the reason and the remedy.
    package static func open(
        on address: NetworkAddress, eventPort: UInt16 = 319, generalPort: UInt16 = 320,
        handed: HandedPorts = .ofProcess, helper: PortHelper? = .installed
    ) throws(PTPError) -> PTPSockets {
        if let lent = try handed.lend(address, eventPort, generalPort) { return lent }
        do {
            let event = try PTPPorts.open(address, eventPort)
            return PTPSockets(event: event, general: try PTPPorts.open(address, generalPort))
        } catch {
            guard error.code == .notPermitted, let helper, (eventPort, generalPort) == helper.ports else { throw error }
            return try helper.sockets(on: address)
        }
    }

    /// Discards datagrams received while there was no reader: their timestamps are stale and their senders unknown.
    func discardOld() {
        var buffer = [UInt8](repeating: 0, count: 64)
        // 4,096 exceed the kernel's buffers, and end the loop during a flood.
        for socket in [event, general] {
            for _ in 0..<4096 { guard socket.receive(into: &buffer) != nil else { break } }
        }
    }
}
