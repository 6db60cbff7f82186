internal import MediaCore
package import Sockets

/// The UDP ports of timing: 319 and 320 of PTP (IEEE 1588-2019, Annex C), and those of NTP timing.
package enum PTPPorts {
    /// Returns a socket bound to one port.
    ///
    /// - Throws: `PTPError` with the reason and the remedy.
    package static func open(_ address: NetworkAddress, _ port: UInt16) throws(PTPError) -> DatagramSocket {
        do {
            return try DatagramSocket(address: address, port: port)
        } catch {
            throw PTPError(error, [port], on: address)
        }
    }

    /// Binds both ports on a local address and closes them again, to check that PTP is available.
    ///
    /// - Throws: `PTPError` with the reason and the remedy.
    package static func check(
        on address: NetworkAddress, eventPort: UInt16 = 319, generalPort: UInt16 = 320
    ) throws(PTPError) {
        _ = try PTPSockets.open(on: address, eventPort: eventPort, generalPort: generalPort)
    }

    /// Shell commands that let this user bind the ports: one for every program, one for the helper if it is installed.
    /// Never capabilities on the player's file: every library that it loads would have them.
    package static var remedies: [String] {
        ["sudo sysctl net.ipv4.ip_unprivileged_port_start=319"]
            + (PortHelper.installed.map { ["sudo setcap cap_net_bind_service=ep \(ShellArgument.quoted($0.path))"] }
                ?? [])
    }
}

extension CodedError<PTPErrors> {
    /// Creates the error for one or several ports that cannot be bound on an address.
    init(_ error: SocketError, _ ports: [UInt16], on address: NetworkAddress) {
        let names = ports.map(String.init).joined(separator: " or ")
        switch error.code {
        case .notPermitted:
            let remedies = PTPPorts.remedies.map { "`\($0)`" }.joined(separator: " or ")
            self.init(
                .notPermitted,
                "Serving time to speakers requires UDP ports 319 and 320, which this user may not bind; \(remedies) permits it."
            )
        case .addressInUse:
            let filter = ports.map { "sport = :\($0)" }.joined(separator: " or ")
            self.init(
                .portsBusy,
                "Another program uses UDP port \(names) on \(address); find it with `ss -ulpn '\(filter)'` and stop it."
            )
        default:
            self.init(.unavailable, "UDP port \(names) on \(address) cannot be bound (\(error.message)).")
        }
    }
}
