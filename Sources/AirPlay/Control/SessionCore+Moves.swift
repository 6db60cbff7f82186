internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets

// Address changes of the speaker or of this computer during playback.
extension SessionCore {
    private static let lookInterval: Duration = .milliseconds(250)
    /// A speaker whose connection still works responds within this time.
    private static let glance: Duration = .milliseconds(300)

    /// Checks whether the address of the speaker or of this computer has changed.
    ///
    /// After a change, a speaker that does not respond will not do so on this connection: a new one is faster than the
    /// timeout.
    ///
    /// - Returns: A sentence about the change if the session is lost by it.
    func lookForMove() -> String? {
        nextLook = host.now.advanced(by: Self.lookInterval)
        guard let connection else { return nil }
        let sighting = configuration.id.flatMap { configuration.network?.sighting(of: $0) }
        if sighting?.group == configuration.peers.identifier { shared.noteGroup() }
        guard let move = Self.move(of: connection.socket, sighting) else {
            survivedMove = nil
            return nil
        }
        guard move != survivedMove else { return nil }
        let before = connection.lastAnswer
        // ignored: only `lastAnswer` matters.
        _ = try? connection.exchange("POST", "/feedback", timeout: Self.glance)
        if connection.lastAnswer == before { return move }
        survivedMove = move
        return nil
    }

    private static func move(of socket: TCPSocket, _ sighting: SpeakerSighting?) -> String? {
        if let sighting, !sighting.addresses.contains(where: { $0.host == socket.remote.description }) {
            return "Its address is now \(sighting.addresses[0].host)."
        }
        if let local = TCPSocket.localAddress(toward: socket.remote), local != socket.local,
            !TCPSocket.isOwn(socket.local)
        {
            return "This computer's address is now \(local)."
        }
        return nil
    }
}
