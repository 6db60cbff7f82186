package import MediaCore
package import Sockets

/// Connections to speakers, with error messages about the speaker.
extension TCPSocket {
    /// Returns the address of a host. May block as long as the system's resolver.
    package static func speaker(named host: String) throws(AirPlayError) -> NetworkAddress {
        do {
            return try resolve(host)
        } catch {
            throw AirPlayError(.unreachable, "There is no host named \(host); check the name, or give an address.")
        }
    }

    /// Connects to a speaker; blocks until `deadline` at most.
    ///
    /// - Throws: `unreachable`.
    package static func speaker(at address: NetworkAddress, port: UInt16, deadline: HostInstant) throws(AirPlayError)
        -> TCPSocket
    {
        do {
            return try connect(to: address, port: port, deadline: deadline)
        } catch {
            let endpoint = NetworkEndpoint(address, port: port)
            let sentence =
                switch error.code {
                case .timedOut:
                    "The speaker at \(endpoint) does not answer; check that it is on and on this network."
                case .unavailable: "The system cannot create a socket (\(error.message)); close other programs."
                default: "The speaker at \(endpoint) refuses a connection (\(error.message))."
                }
            throw AirPlayError(.unreachable, sentence)
        }
    }
}

extension TCPSocket.Persistence {
    /// For requests: the next one arrives within a second after an outage. The session's own timeout is shorter.
    package static let requests = TCPSocket.Persistence(longestPause: .seconds(1), timeout: .seconds(62))
    /// For audio, which a paused speaker may not read for hours: 15 retransmissions take 61 s with these intervals.
    package static let audio = TCPSocket.Persistence(longestPause: .seconds(5), timeout: nil)
}
