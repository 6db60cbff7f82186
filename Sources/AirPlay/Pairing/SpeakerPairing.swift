internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import Sockets
import Storage

/// Implements `talkie pair`: pairs a speaker with this computer and stores the credentials.
///
/// Methods block on the network, the disk and the user.
struct SpeakerPairing: Sendable {
    /// A pairing method.
    enum Method: Hashable, Sendable {
        /// The PIN that the speaker displays; nil: the speaker is asked to display one and the user to enter it.
        case pin(String?)
        case password(String)
    }

    /// The result, for the user.
    struct Outcome: Hashable, Sendable {
        /// One sentence about what was done.
        let message: String
        /// Sentences about damaged or newer state files.
        let notes: [String]
    }

    private let identity: InstallationIdentity
    private let store: PairingStore
    private let senderName: String
    private let notes: [String]

    /// Reads the identity of this installation.
    ///
    /// - Parameter senderName: The name under which the speaker lists this computer.
    init(folder: StateFolder = .standard(), senderName: String) {
        let (identity, note) = InstallationIdentity.load(from: folder)
        self.identity = identity
        self.senderName = senderName
        store = PairingStore(folder, identity: identity)
        notes = note.map { [$0] } ?? []
    }

    /// Pairs with the speaker at an address and stores its keys or password under the identifier it reports.
    ///
    /// - Parameters:
    ///   - traits: The traits known from discovery.
    ///   - query: The name given by the user; from now on it denotes only this speaker.
    ///   - askForPIN: Called once the speaker displays a PIN; nil cancels.
    /// - Throws: `AirPlayError`, `StateError`, or `TalkieError` if the speaker does not describe itself. Keys that the
    ///   speaker has accepted are stored even if a later step fails.
    func pair(
        _ address: SpeakerAddress, traits announced: SpeakerTraits = SpeakerTraits(), query: SpeakerQuery? = nil,
        method: Method, askForPIN: () -> String?
    ) throws -> Outcome {
        let first = try connect(address)
        let info: ReceiverInfo
        do throws(AirPlayError) {
            info = ReceiverInfo(
                try first.exchange("GET", "/info", timeout: .seconds(5)).accepted("send its properties").propertyList())
        } catch {
            // No refusal of the pairing, which denies access.
            throw TalkieError(error)
        }
        let traits = announced.updated(by: info)
        let name = PrintableText.of(info.name ?? address.host)
        guard let id = info.deviceID.flatMap({ SpeakerID($0) }) else {
            throw AirPlayError(.protocolViolation, "The speaker has no ID, so nothing can be stored for it.")
        }
        let contact = SpeakerContact(name: name, address: address, query: query)
        var known = store.credentials(for: id)
        let goal: PairingProcedure.Goal
        switch method {
        case .pin(let pin): goal = .registration(pin: pin.map { Self.trimmed($0) })
        case .password(let password): goal = .introduction(password: password)
        }
        var procedure = PairingProcedure(goal, identity: identity.pairing, traits: traits)
        // Stored even after a later failure, since the speaker has stored these keys.
        defer {
            if let accessory = procedure.learned, known.credentials.accessory != accessory {
                known.credentials.accessory = accessory
                // ignored: the key is obtained again at the next pairing.
                try? store.store(known.credentials, for: id, contact)
            }
        }
        let result = try run(&procedure, on: first, address: address, askForPIN: askForPIN)
        if let accessory = procedure.learned { known.credentials.accessory = accessory }
        let message: String
        switch method {
        case .pin:
            try store.store(known.credentials, for: id, contact)
            message = "\(name) (\(id)) is paired."
        case .password(let password):
            guard result.usedPassword else {
                if traits.isHomePod, traits.needsPassword {
                    throw AirPlayError(
                        .refused,
                        "HomePod passwords are not supported yet; turn the password off in the Home app."
                    )
                }
                return Outcome(
                    message: "\(name) (\(id)) needs no password; "
                        + (try welcome(id, contact) ? "its stored credentials were removed." : "nothing was stored."),
                    notes: notes)
            }
            // Earlier keys were not verified, and the speaker may have removed them.
            known.credentials = SpeakerCredentials(accessory: procedure.learned, password: password)
            try store.store(known.credentials, for: id, contact)
            message = "\(name) (\(id)) accepted the password, which was stored."
        }
        return Outcome(message: message, notes: notes + (known.note.map { [$0] } ?? []))
    }

    /// Removes credentials that prevent playing to a speaker without access control, including those of another speaker
    /// with its name or address.
    ///
    /// - Returns: Whether credentials of this speaker were removed.
    func welcome(_ id: SpeakerID, _ contact: SpeakerContact) throws(StateError) -> Bool {
        let isKnown = store.credentials(for: id).credentials != SpeakerCredentials()
        guard isKnown || store.predecessor(of: id, contact.query, name: contact.name) != nil else { return false }
        try store.store(SpeakerCredentials(), for: id, contact)
        return isKnown
    }

    /// Removes a speaker's keys and password.
    func forget(_ id: SpeakerID, name: String) throws(StateError) -> Outcome {
        let existed = try store.forget(id)
        return Outcome(
            message: existed
                ? "\(name) was removed; to remove this computer from the speaker too, use the speaker's settings."
                : "\(name) was not paired.", notes: notes)
    }

    private func connect(_ address: SpeakerAddress) throws(AirPlayError) -> RTSPConnection {
        let host = try TCPSocket.speaker(named: address.host)
        let socket = try TCPSocket.speaker(
            at: host, port: address.port, deadline: HostInstant.now.advanced(by: .seconds(3)))
        return RTSPConnection(socket: socket, identity: identity.sender(name: senderName))
    }

    /// Runs a procedure until it is finished.
    private func run(
        _ procedure: inout PairingProcedure, on first: RTSPConnection, address: SpeakerAddress,
        askForPIN: () -> String?
    ) throws -> PairingProcedure.Result {
        var connection = first
        var step = try procedure.begin()
        while true {
            switch step {
            case .send(let request):
                let reply = try connection.exchange(
                    "POST", request.target, headers: request.headers, body: request.body, timeout: .seconds(5))
                step = try procedure.receive(PairingReply(status: reply.status, body: reply.body))
            case .reconnect:
                connection = try connect(address)
                step = procedure.reconnected()
            case .askForPIN:
                guard let pin = askForPIN().map({ Self.trimmed($0) }), !pin.isEmpty else {
                    throw AirPlayError(.pairingRequired, "Pairing was cancelled; the speaker is unchanged.")
                }
                step = procedure.answer(pin: pin)
            case .finished(let result):
                return result
            }
        }
    }

    private static func trimmed(_ text: String) -> String {
        String(text.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }
}
