internal import AirPlayWire
package import MediaCore
internal import PTP
internal import Sockets

/// Identifies the receiver at an address without discovery.
package enum SpeakerInquiry {
    private static let connectLimit: Duration = .seconds(3)
    private static let answerLimit: Duration = .seconds(5)
    private static let pause: Duration = .milliseconds(500)

    /// Blocks until a receiver responds at the address, which may still be starting.
    ///
    /// - Parameter pauses: Waits between two attempts until the given instant; false cancels.
    /// - Returns: The speaker as described by its `/info`. Without `/info` it has no AirPlay 2 endpoint.
    /// - Throws: `unreachable` at once for an unknown host name, or at the deadline without a response.
    package static func ask(
        _ address: SpeakerAddress, as identity: SenderIdentity, until deadline: HostInstant,
        pauses: (HostInstant) -> Bool
    ) throws(AirPlayError) -> DiscoveredSpeaker {
        let host = try TCPSocket.speaker(named: address.host)
        while true {
            do throws(AirPlayError) {
                let limit = min(deadline, HostInstant.now.advanced(by: connectLimit))
                let socket = try TCPSocket.speaker(at: host, port: address.port, deadline: limit)
                return try ask(socket, address, identity)
            } catch {
                let next = HostInstant.now.advanced(by: pause)
                guard [.unreachable, .lost, .ended].contains(error.code), next < deadline, pauses(next) else {
                    throw error
                }
            }
        }
    }

    private static func ask(
        _ socket: TCPSocket, _ address: SpeakerAddress, _ identity: SenderIdentity
    ) throws(AirPlayError) -> DiscoveredSpeaker {
        let connection = RTSPConnection(socket: socket, identity: identity)
        let reply = try connection.exchange("GET", "/info", timeout: answerLimit)
        let endpoints = [NetworkEndpoint(socket.remote, port: address.port)]
        // Receivers of classic AirPlay respond with 404, shairport-sync 3.3.8 with 400; those with a password refuse
        // every request.
        if [400, 401, 404, 501].contains(reply.status) {
            var traits = SpeakerTraits()
            traits.announcesPassword = reply.status == 401 ? true : nil
            return DiscoveredSpeaker(
                id: nil, name: address.host, traits: traits, endpoints: [], raopEndpoints: endpoints)
        }
        let info = ReceiverInfo(try reply.accepted("send its properties").propertyList())
        return DiscoveredSpeaker(
            id: info.deviceID.flatMap { SpeakerID($0) },
            name: info.name.map { PrintableText.of($0) } ?? address.host,
            traits: SpeakerTraits().updated(by: info), endpoints: endpoints)
    }
}
