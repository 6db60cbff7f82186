internal import MediaCore
package import PTP
package import Sockets

/// The UDP ports for incoming retransmit and timing requests, besides those of PTP.
///
/// The range is small and fixed so that a firewall can allow it.
package enum SenderPorts {
    /// Two ports for each of sixteen speakers. Above the ephemeral ports of Linux (ip_local_port_range ends at 60999)
    /// and inside the dynamic ports of RFC 6335, section 6.
    package static let range: ClosedRange<UInt16> = 62319...62350

    /// Returns a socket on the first free port of the range, or on any port if all are in use.
    package static func open(on address: NetworkAddress) throws(PTPError) -> DatagramSocket {
        for port in range {
            do {
                return try PTPPorts.open(address, port)
            } catch {
                guard error.code == .portsBusy else { throw error }
            }
        }
        return try PTPPorts.open(address, 0)
    }
}
