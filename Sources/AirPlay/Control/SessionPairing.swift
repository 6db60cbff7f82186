internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import Sockets

/// Derives a session's shared secret from stored keys, the password, or the well-known transient code.
struct SessionPairing {
    /// Timeout of one round trip; receivers compute for up to a second.
    private static let timeout: Duration = .seconds(5)

    let configuration: AirPlaySession.Configuration
    /// Opens another connection to the same speaker.
    let reconnect: () throws(AirPlayError) -> RTSPConnection

    /// Runs the pairing; blocks for several round trips.
    ///
    /// - Parameter first: A fresh connection. It is replaced after a refused method, because most speakers then ignore
    ///   the old one.
    /// - Returns: The secret and its connection, not yet encrypted.
    func run(
        on first: RTSPConnection, info: ReceiverInfo
    ) throws(AirPlayError) -> (secret: SecretBytes, connection: RTSPConnection) {
        let stored = configuration.pairing
        var procedure = PairingProcedure(
            .session(stored: stored?.accessory, password: configuration.password),
            identity: stored?.identity ?? configuration.pairingIdentity
                ?? .generate(identifier: configuration.identity.remoteControlID),
            traits: configuration.traits.updated(by: info))
        var connection = first
        var step = try procedure.begin()
        while true {
            switch step {
            case .send(let request):
                let reply = try connection.exchange(
                    "POST", request.target, headers: request.headers, body: request.body, timeout: Self.timeout)
                step = try procedure.receive(PairingReply(status: reply.status, body: reply.body))
            case .reconnect:
                connection.socket.interrupt()
                connection = try reconnect()
                step = procedure.reconnected()
            case .askForPIN:
                throw AirPlayError(.pairingRequired, "The speaker must be paired first.", remedy: .pair)
            case .finished(let result):
                return (result.secret, connection)
            }
        }
    }
}
