internal import CMosquitto
internal import Glibc
internal import MediaCore
internal import Sockets

/// The MQTT topics of one kiosk.
struct FleetTopics: Sendable, Hashable {
    let state: String
    let online: String
    let command: String
    let commandToAll: String
    let answer: String

    init(_ fleet: KioskConfiguration.Fleet) {
        let own = "\(fleet.prefix)/\(fleet.name)"
        (state, online, answer) = (own + "/state", own + "/online", own + "/answer")
        (command, commandToAll) = (own + "/command", "\(fleet.prefix)/all/command")
    }
}

/// One connection to the broker. Used on the fleet's thread only, on which libmosquitto calls back.
final class FleetConnection {
    typealias Take = (UnsafeRawBufferPointer, _ isRetained: Bool) -> Void

    private let library: MosquittoLibrary
    private let client: MosquittoLibrary.Client
    private let topics: FleetTopics
    private let take: Take
    /// Whether MQTT 5 is used.
    private var isVersion5 = false
    private(set) var isConnected = false
    /// The reason why the broker refused the connection.
    private var refusal: String?
    /// The broker refused the version of MQTT, or closed the connection before accepting it, as some do for an unknown
    /// version.
    private(set) var hasRefusedVersion = false

    /// The keep-alive interval in seconds. The broker drops a client that is silent for one and a half intervals (MQTT
    /// 3.1.1, 3.1.2.10).
    private static let keepAlive: Int32 = 20
    /// The maximum number of packets per read or write.
    private static let packets: Int32 = 16
    /// Quality of service 1: delivered at least once (MQTT 3.1.1, 4.3.2); command ids prevent duplicates.
    private static let atLeastOnce: Int32 = 1
    /// In bytes. A broker omits larger packets for an MQTT 5 client that states this limit (MQTT 5, 3.1.2.11.4). Far
    /// above a command with its topic, so that a slightly too large command is received and answered.
    private static let maxPacket: UInt32 = 64 << 10
    /// The broker passes the retain flag of a message on, also to a client that is connected already (MQTT 5, 3.8.3.1).
    private static let retainAsPublished: Int32 = 0x08
    /// The reason code of MQTT 5, 3.14.2.1: another client uses the identifier.
    private static let sessionTakenOver: Int32 = 0x8E
    private let takenOver: String
    /// The timeout for sending the last packets.
    private static let farewell = Duration.milliseconds(500)

    /// Starts connecting. The lookup of the broker's name may block for as long as the system's resolver.
    ///
    /// - Parameters:
    ///   - isBounded: Uses MQTT 5, in which the client states its maximum packet size; otherwise 3.1.1.
    ///   - take: Called with each message, from `turn`.
    /// - Throws: The reason of the failure.
    init(
        _ library: MosquittoLibrary, _ fleet: KioskConfiguration.Fleet, password: String?, isBounded: Bool,
        take: @escaping Take
    ) throws(ValueError) {
        guard let client = library.make("talkie-\(fleet.name)", true, nil) else {
            throw ValueError("not enough memory for a connection")
        }
        (self.library, self.client, self.take) = (library, client, take)
        topics = FleetTopics(fleet)
        takenOver =
            "another kiosk with the name '\(fleet.name)' has connected; give each kiosk its own name in [fleet]"
        library.setOwner(client, Unmanaged.passUnretained(self).toOpaque())
        library.onConnect(client) { _, owner, code in
            guard let owner else { return }
            Unmanaged<FleetConnection>.fromOpaque(owner).takeUnretainedValue().handle(connection: code)
        }
        library.onDisconnect(client) { _, owner, code in
            guard let owner else { return }
            let connection = Unmanaged<FleetConnection>.fromOpaque(owner).takeUnretainedValue()
            if code == FleetConnection.sessionTakenOver { connection.refusal = connection.takenOver }
        }
        library.onMessage(client) { _, owner, message in
            guard let owner, let message else { return }
            Unmanaged<FleetConnection>.fromOpaque(owner).takeUnretainedValue().handle(message.pointee)
        }
        try check(library.setWill(client, topics.online, 1, "0", Self.atLeastOnce, true))
        if let user = fleet.user { try check(library.setUser(client, user, password)) }
        if fleet.isEncrypted {
            // The system's authorities are a folder of certificates, named by hash (c_rehash(1)).
            let folder = fleet.authorities == nil ? "/etc/ssl/certs" : nil
            try check(library.setEncryption(client, fleet.authorities, folder, nil, nil, nil))
        }
        if isBounded { boundPackets() }
        try check(library.connect(client, fleet.host, Int32(fleet.port), Self.keepAlive))
    }

    deinit { library.destroy(client) }

    /// Limits the size of packets that the broker sends. Only the library's blocking connect call accepts properties.
    /// Without a host that call fails, but the library keeps the properties for the next connection.
    private func boundPackets() {
        guard let setNumber = library.setNumber, let add = library.addNumber, let free = library.freeProperties,
            let connect = library.connectWithProperties
        else { return }
        var properties: OpaquePointer?
        defer { free(&properties) }
        guard setNumber(client, Int32(MOSQ_OPT_PROTOCOL_VERSION.rawValue), MQTT_PROTOCOL_V5) == 0 else { return }
        isVersion5 = true
        if add(&properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), Self.maxPacket) == 0 {
            _ = connect(client, nil, 0, Self.keepAlive, nil, properties)
        }
    }

    /// Blocks until the socket is ready, `signal` is raised or the deadline has passed, and processes what is due.
    ///
    /// - Throws: The reason why the connection ended.
    func runIteration(until deadline: HostInstant, signal: PollableSignal) throws(ValueError) {
        let socket = library.socket(client)
        guard socket >= 0 else { throw ValueError(refusal ?? "the broker has closed the connection") }
        let wantsWrite = library.wantsWrite(client)
        let ready = Poller.wait(
            reading: [socket, signal.descriptor], writing: wantsWrite ? [socket] : [], until: deadline)
        if ready[1] { signal.clear() }
        if ready[0] {
            let code = library.read(client, Self.packets)
            let endings = [MOSQ_ERR_CONN_LOST, MOSQ_ERR_PROTOCOL, MOSQ_ERR_MALFORMED_PACKET]
            if !isConnected, refusal == nil, endings.contains(where: { $0.rawValue == code }) {
                hasRefusedVersion = true
            }
            // The broker's reason is more specific than the library's.
            if let refusal { throw ValueError(refusal) }
            try check(code)
        }
        if wantsWrite, ready[2] { try check(library.write(client, Self.packets)) }
        try check(library.service(client))
    }

    func publish(state: String) throws(ValueError) { try publish(topics.state, state, isRetained: true) }
    func publish(answer: String) throws(ValueError) { try publish(topics.answer, answer, isRetained: false) }

    /// Disconnects cleanly, so that the broker does not publish the last will.
    func end() {
        guard isConnected else { return }
        do throws(ValueError) {
            try publish(topics.online, "0", isRetained: true)
            try check(library.disconnect(client))
            let deadline = HostInstant.now.advanced(by: Self.farewell)
            while library.socket(client) >= 0, library.wantsWrite(client), HostInstant.now < deadline {
                _ = Poller.wait(reading: [], writing: [library.socket(client)], until: deadline)
                try check(library.write(client, Self.packets))
            }
        } catch {
            // The broker publishes the last will instead.
        }
    }

    private func publish(_ topic: String, _ text: String, isRetained: Bool) throws(ValueError) {
        let bytes = Array(text.utf8)
        try check(library.publish(client, nil, topic, Int32(bytes.count), bytes, Self.atLeastOnce, isRetained))
    }

    // MARK: Callbacks

    private func handle(connection code: Int32) {
        guard code == 0 else {
            // The reason codes of MQTT 3.1.1, 3.2.2.3, and MQTT 5, 3.2.2.2.
            hasRefusedVersion = [1, 0x84].contains(code)
            let code = [0x86: 4, 0x87: 5][code] ?? code
            let reason = code < 0x80 ? library.refusal(code) : library.reason?(code)
            refusal = reason.map { PrintableText.of(String(cString: $0)) } ?? "the broker refused the connection"
            return
        }
        do throws(ValueError) {
            for topic in [topics.command, topics.commandToAll] { try subscribe(to: topic) }
            try publish(topics.online, "1", isRetained: true)
            isConnected = true
        } catch {
            refusal = error.description
        }
    }

    private func subscribe(to topic: String) throws(ValueError) {
        guard isVersion5, let subscribe = library.subscribeWithOptions else {
            return try check(library.subscribe(client, nil, topic, Self.atLeastOnce))
        }
        try check(subscribe(client, nil, topic, Self.atLeastOnce, Self.retainAsPublished, nil))
    }

    private func handle(_ message: mosquitto_message) {
        let count = max(0, Int(message.payloadlen))
        take(UnsafeRawBufferPointer(start: message.payload, count: message.payload == nil ? 0 : count), message.retain)
    }

    private func check(_ code: Int32) throws(ValueError) {
        guard code != Int32(MOSQ_ERR_SUCCESS.rawValue) else { return }
        if code == Int32(MOSQ_ERR_TLS.rawValue) {
            throw ValueError(
                "its certificate is not trusted, or is for another name; check ca_file and the name of the broker")
        }
        if code == Int32(MOSQ_ERR_ERRNO.rawValue) { throw ValueError(SystemCause.text(errno)) }
        throw ValueError(library.errorText(code).map { PrintableText.of(String(cString: $0)) } ?? "error \(code)")
    }
}
