internal import MediaCore
internal import PTP
internal import Sockets

/// The UDP ports at which speakers reach this computer, besides those of PTP: requests for lost packets, and questions
/// about the time. A few and always the same, so that a firewall can be told.
package enum SenderPorts {
    /// Two for each of sixteen speakers. Above what Linux gives out by itself (ip_local_port_range ends at 60999) and
    /// inside what everybody may use (RFC 6335, section 6).
    package static let range: ClosedRange<UInt16> = 62319...62350

    /// A socket on the first free port of the range; on any other when all are taken.
    static func open(on address: IPv4Address) throws(PTPError) -> DatagramSocket {
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
