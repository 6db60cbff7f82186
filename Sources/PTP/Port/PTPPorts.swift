internal import MediaCore
package import Sockets

/// The two UDP ports of PTP, 319 and 320 (IEEE 1588-2019, Annex C).
package enum PTPPorts {
    /// A socket on one of them.
    ///
    /// - Throws: `PTPError` that says why not and what to do.
    package static func open(_ address: IPv4Address, _ port: UInt16) throws(PTPError) -> DatagramSocket {
        do {
            return try DatagramSocket(address: address, port: port)
        } catch {
            switch error.code {
            case .notPermitted:
                throw PTPError(
                    .notPermitted,
                    "Timing speakers needs UDP port \(port); grant it with"
                        + " `sudo setcap cap_net_bind_service,cap_sys_nice+ep` on the program's file.")
            case .addressInUse:
                throw PTPError(
                    .portsBusy,
                    "Another program holds UDP port \(port) on \(address); `ss -ulpn sport = :\(port)` names it: stop it."
                )
            default:
                throw PTPError(.unavailable, "UDP port \(port) on \(address) cannot be bound (\(error.message)).")
            }
        }
    }

    /// Binds both ports on a local address and lets them go again: can this computer take part in PTP?
    ///
    /// - Throws: `PTPError` that says why not and what to do.
    package static func check(
        on address: IPv4Address, eventPort: UInt16 = 319, generalPort: UInt16 = 320
    ) throws(PTPError) {
        _ = try open(address, eventPort)
        _ = try open(address, generalPort)
    }
}
