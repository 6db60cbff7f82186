internal import PTP

/// The UDP ports on which speakers ask this computer for what they missed and for NTP time, pinned so that a firewall
/// can let them in.
public enum SpeakerPorts {
    /// Two for each of sixteen speakers. Above what Linux gives out by itself (ip_local_port_range ends at 60999) and
    /// inside what everybody may use (RFC 6335, section 6).
    public static let range: ClosedRange<UInt16> = 62319...62350

    /// A socket on the first of them that is free; on any port when all are taken, which only a firewall minds.
    static func socket(on address: IPv4Address) throws(PTPError) -> PTPSocket {
        for port in range {
            do throws(PTPError) {
                return try PTPSocket(address: address, port: port)
            } catch {
                if error.code != .portsBusy { throw error }
            }
        }
        return try PTPSocket(address: address, port: 0)
    }
}
