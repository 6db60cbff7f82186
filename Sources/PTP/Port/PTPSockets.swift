internal import MediaCore
package import Sockets

/// The two sockets of one local address, held for as long as this value lives: event messages on UDP 319, all others on
/// 320 (IEEE 1588-2008, annex D.2).
package final class PTPSockets: Sendable {
    package let event: DatagramSocket
    package let general: DatagramSocket

    init(event: DatagramSocket, general: DatagramSocket) {
        self.event = event
        self.general = general
    }

    /// Those that the service manager handed over; else bound now, by this process or, where it may not, by the small
    /// program that may.
    ///
    /// - Parameters:
    ///   - eventPort, generalPort: 319 and 320; tests that may not bind those take others.
    ///   - helper: it knows those two ports only; nil when none is installed.
    /// - Throws: `PTPError` that says why not and what to do.
    package static func open(
        on address: IPv4Address, eventPort: UInt16 = 319, generalPort: UInt16 = 320,
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

    /// Throws away what came while nobody read: its moments would be wrong, and strangers may have filled it.
    func discardOld() {
        var buffer = [UInt8](repeating: 0, count: 64)
        // More than the kernel's buffers hold, and an end to a flood.
        for socket in [event, general] {
            for _ in 0..<4096 { guard socket.receive(into: &buffer) != nil else { break } }
        }
    }
}
