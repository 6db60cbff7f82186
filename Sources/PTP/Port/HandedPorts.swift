internal import Glibc
internal import MediaCore
package import Sockets

/// UDP sockets on the PTP ports that a service manager bound and passed to this process.
///
/// They stay bound for the lifetime of the process. Each pair is lent to one user at a time, because two readers of one
/// socket would receive each other's messages. Thread-safe.
package final class HandedPorts: Sendable {
    /// The sockets of this process; empty until `adopt` is called.
    package static let ofProcess = HandedPorts()

    private struct Entry {
        let event: BoundSocket
        let general: BoundSocket
        weak var lent: PTPSockets?
    }

    private let eventPort: UInt16
    private let generalPort: UInt16
    /// One entry per address.
    private let entries = Lock<[Entry]>([])

    /// - Parameter eventPort, generalPort: 319 and 320; tests without the privilege use others.
    init(eventPort: UInt16 = 319, generalPort: UInt16 = 320) {
        self.eventPort = eventPort
        self.generalPort = generalPort
    }

    deinit { entries.withLock { $0.forEach { Self.close([$0.event, $0.general]) } } }

    /// Adopts the sockets for which both ports are present on one address. Closes the others.
    ///
    /// - Returns: the reason for each socket that was closed, a sentence without its full stop.
    package func adopt(_ items: [ServiceDescriptors.Item]) -> [String] {
        var objections: [String] = []
        var usable: [BoundSocket] = []
        for item in items {
            let name = item.name.isEmpty ? "descriptor \(item.descriptor)" : "'\(PrintableText.of(item.name))'"
            guard let socket = BoundSocket(item.descriptor), socket.address.isIPv4 else {
                objections.append(
                    "\(name) is not a UDP socket of IPv4; a unit needs ListenDatagram=0.0.0.0:\(eventPort)")
                Glibc.close(item.descriptor)
                continue
            }
            guard socket.port == eventPort || socket.port == generalPort,
                !usable.contains(where: socket.hasAddress(of:))
            else {
                objections.append(
                    "\(name) is on UDP port \(socket.port); PTP needs \(eventPort) and \(generalPort), once each")
                Glibc.close(item.descriptor)
                continue
            }
            usable.append(socket)
        }
        for event in usable where event.port == eventPort {
            guard let general = usable.first(where: { $0.port == generalPort && $0.address == event.address })
            else { continue }
            usable.removeAll { $0 == event || $0 == general }
            entries.withLock { $0.append(Entry(event: event, general: general)) }
        }
        for single in usable {
            let other = single.port == eventPort ? generalPort : eventPort
            objections.append(
                "UDP port \(single.port) on \(single.address) was passed without \(other); PTP needs both")
        }
        Self.close(usable)
        return objections
    }

    /// Returns the sockets for a local address, or those bound to 0.0.0.0; nil if there are none, and for IPv6.
    ///
    /// - Throws: `PTPError` if they are already lent.
    func lend(_ address: NetworkAddress, _ eventPort: UInt16, _ generalPort: UInt16) throws(PTPError) -> PTPSockets? {
        guard (eventPort, generalPort) == (self.eventPort, self.generalPort) else { return nil }
        return try entries.withLock { (entries) throws(PTPError) -> PTPSockets? in
            guard address.isIPv4,
                let index = entries.firstIndex(where: { $0.event.address == address })
                    ?? entries.firstIndex(where: { $0.event.address.isUnspecified })
            else { return nil }
            guard entries[index].lent == nil else {
                throw PTPError(
                    .portsBusy,
                    "The service manager's sockets on UDP ports \(eventPort) and \(generalPort) are already in use;"
                        + " a unit may list a pair for each address.")
            }
            guard let event = entries[index].event.copy() else { return nil }
            guard let general = entries[index].general.copy() else {
                Self.close([event])
                return nil
            }
            let lent = PTPSockets(event: DatagramSocket(adopting: event), general: DatagramSocket(adopting: general))
            lent.discardOld()
            entries[index].lent = lent
            return lent
        }
    }

    private static func close(_ sockets: [BoundSocket]) {
        for socket in sockets { Glibc.close(socket.descriptor) }
    }
}

extension BoundSocket {
    /// Returns true if both sockets have the same address and port.
    fileprivate func hasAddress(of other: BoundSocket) -> Bool { (address, port) == (other.address, other.port) }
}
