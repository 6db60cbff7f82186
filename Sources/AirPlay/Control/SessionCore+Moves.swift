internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets

// A speaker, or this computer, that changes its address in mid-film.
extension SessionCore {
    private static let lookInterval: Duration = .milliseconds(250)
    /// Within so long a speaker answers whose connection is still good.
    private static let glance: Duration = .milliseconds(300)

    /// Looks whether speaker and computer are where they were. When one is not, and the speaker no longer answers, nobody
    /// will on this connection: a new one is quicker than waiting for it.
    ///
    /// - Returns: a sentence about what has moved, when the session is lost by it.
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
        // ignored: only whether an answer came counts.
        _ = try? connection.exchange("POST", "/feedback", timeout: Self.glance)
        if connection.lastAnswer == before { return move }
        survivedMove = move
        return nil
    }

    private static func move(of socket: TCPSocket, _ sighting: SpeakerSighting?) -> String? {
        if let sighting, !sighting.addresses.contains(where: { $0.host == socket.remote.description }) {
            return "It has another address now, \(sighting.addresses[0].host)."
        }
        if let local = TCPSocket.localAddress(toward: socket.remote), local != socket.local,
            !TCPSocket.isOwn(socket.local)
        {
            return "This computer has another address now, \(local)."
        }
        return nil
    }
}
