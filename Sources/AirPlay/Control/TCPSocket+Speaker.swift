internal import MediaCore
internal import Sockets

/// Connections to speakers: what goes wrong is said of the speaker.
extension TCPSocket {
    /// Finds the IPv4 address of a speaker. May block for as long as the system's resolver does.
    static func speaker(named host: String) throws(AirPlayError) -> IPv4Address {
        do {
            return try resolve(host)
        } catch {
            throw AirPlayError(.unreachable, "There is no host named \(host); check the name, or give an address.")
        }
    }

    static func speaker(at address: IPv4Address, port: UInt16, deadline: HostInstant) throws(AirPlayError) -> TCPSocket
    {
        do {
            return try connect(to: address, port: port, deadline: deadline)
        } catch {
            let sentence =
                switch error.code {
                case .timedOut:
                    "The speaker at \(address):\(port) does not answer; is it on and on this network?"
                case .unavailable: "The system refuses a socket (\(error.message)); close some programs."
                default: "The speaker at \(address):\(port) refuses a connection (\(error.message))."
                }
            throw AirPlayError(.unreachable, sentence)
        }
    }
}

extension TCPSocket.Persistence {
    /// Requests: the next one is understood a second after the network is back. The session itself gives up
    /// before the patience ends.
    static let requests = TCPSocket.Persistence(longestPause: .seconds(1), patience: .seconds(40))
    /// Sound, which a paused speaker need not read for hours: 15 repetitions take 39 s with these pauses.
    static let sound = TCPSocket.Persistence(longestPause: .seconds(3), patience: nil)
}
