internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets

/// The state of one session and the requests that change it. Used only on the control thread.
final class SessionCore {
    /// Request timeouts (based on receivers measured by others; each request has its own typical delay).
    enum Deadline {
        static let request: Duration = .seconds(2)
        static let setUp: Duration = .seconds(8)
        static let events: Duration = .seconds(2)
        static let eventsPause: Duration = .milliseconds(50)
        static let metadata: Duration = .seconds(5)
        /// Short, so that other due work is not delayed; a later response still counts.
        static let keepAlive: Duration = .seconds(1)
        static let tearDown: Duration = .milliseconds(500)
        static let glance: Duration = .milliseconds(100)
    }

    /// Receivers end a session that is idle for longer.
    private static let keepAliveInterval: Duration = .seconds(2)
    /// A speaker that is not synchronized with our clock by then never will be on this route.
    private static let clockPatience: Duration = .seconds(8)

    let configuration: AirPlaySession.Configuration
    private let clocks: PTPDirectory
    let shared: SessionShared
    var connection: RTSPConnection?
    private var secret: SecretBytes?
    private var url = ""
    private let sessionNumber = UInt32.random(in: 1 ... .max)
    private var events: EventChannel?
    private var controlSocket: DatagramSocket?
    private var timing: TimingResponder?
    var ptp: PTPInstance?
    private(set) var stream: StreamSetup? {
        didSet {
            if stream != nil { streamSetUp = host.now }
            hasAllowedPlaying = false
        }
    }
    /// The traits of the speaker, updated by `/info`.
    private(set) var traits: SpeakerTraits
    /// Whether the stream was started before, or the speaker's playing flag is set.
    var hasAllowedPlaying = false
    private var streamSetUp: HostInstant?
    private var isAlive = false
    private(set) var nextTick = HostInstant(nanoseconds: .max)
    /// This computer's clock. Connection deadlines use the machine's clock.
    var host: any HostClock { clocks.clock }
    /// Whether the speaker has an anchor and was not stopped since.
    var isPlaying = false
    /// Called between requests. Returns the next instant at which to call it, or nil.
    var attend: ((SessionCore) -> HostInstant?)?
    private var nextKeepAlive = HostInstant(nanoseconds: .max)
    private var nextAttention = HostInstant(nanoseconds: .max)
    /// When `lookForMove` is due.
    var nextLook = HostInstant(nanoseconds: .max)
    /// The address change after which the speaker still responded.
    var survivedMove: String?
    private var suspensions: SuspensionWatch

    init(configuration: AirPlaySession.Configuration, clocks: PTPDirectory, shared: SessionShared) {
        self.configuration = configuration
        traits = configuration.traits
        self.clocks = clocks
        self.shared = shared
        suspensions = SuspensionWatch(clocks.clock)
    }

    /// The synchronization state of the speaker's clock, and when it is ready, if known.
    var clock: (readiness: ClockReadiness, ready: HostInstant?) { shared.clock?.state ?? (.cold, nil) }

    /// Whether the speaker's own clock is followed.
    var isClockFollowed: Bool { shared.clock?.isFollowed ?? false }

    /// Whether time messages in the speaker's name are rejected.
    var isClockDoubted: Bool { shared.clock?.isDoubted ?? false }

    /// The timeline of instants sent to the speaker; nil while unknown.
    var timeline: PTPTimeline? { shared.clock?.timeline }

    /// The number of sent bytes, which shows that a speaker plays: a buffered stream is sent as fast as it reads.
    ///
    /// Nil if no packet waits. Constant for realtime streams, which are sent whether received or not.
    var flowingBytes: Int64? {
        guard configuration.route == .buffered, let writer = shared.writer else { return 0 }
        return writer.store.waiting == 0 ? nil : writer.sentBytes
    }

    /// The minimum times for start commands.
    var startLeads: StartLeads { StartLeads(isAsking: shared.clock?.isAsked ?? false) }

    /// Ends the session as lost; a new one may succeed.
    func lose(_ reason: String) { shared.fail(AirPlayError(.lost, reason)) }

    /// When the stream was set up.
    private(set) var streamBegan: HostInstant?

    var remote: IPv4Address? { connection?.socket.remote }

    // MARK: Set-up

    /// Connects, pairs, and sets up the session without a stream.
    func connect(yieldingTo busy: StatusFlags) throws(AirPlayError) -> ReceiverInfo {
        guard connection == nil else { throw AirPlayError(.outOfOrder, "The session is connected already.") }
        let address = try TCPSocket.speaker(named: configuration.address.host)
        let socket = try TCPSocket.speaker(
            at: address, port: configuration.address.port,
            deadline: .now.advanced(by: configuration.connectPatience))
        socket.setPersistence(.requests)
        let connection = RTSPConnection(socket: socket, identity: configuration.identity)
        self.connection = connection
        do { try serveTime(socket) } catch { throw AirPlayError(.timingUnavailable, error.message) }
        url = "rtsp://\(socket.local)/\(sessionNumber)"
        let reply = try connection.exchange("GET", "/info", timeout: Deadline.request).accepted("send its properties")
        let info = ReceiverInfo(try reply.propertyList())
        if let expected = configuration.expected, info.deviceID.flatMap({ SpeakerID($0) }) != expected {
            throw AirPlayError(.unreachable, "Another speaker is now at \(configuration.address).")
        }
        traits = traits.updated(by: info)
        if let flags = info.statusFlags, !flags.isDisjoint(with: busy) {
            throw AirPlayError(.busy, "Another sender is now playing on the speaker.")
        }
        let paired = try pair(connection, info)
        try setUpSession(paired)
        return info
    }

    /// Starts serving time before pairing, so that the clock is already running when the speaker is told of it.
    private func serveTime(_ socket: TCPSocket) throws(PTPError) {
        guard configuration.route.needsPTP else {
            let timing = try TimingResponder(on: socket.local, for: socket.remote, telling: clocks.served)
            self.timing = timing
            shared.setClock(.ntp(timing))
            return
        }
        let ptp = try clocks.instance(on: socket.local)
        let role = configuration.lessons.learned.clockRole ?? configuration.clockRole
        ptp.add(socket.remote, readiness: configuration.readiness, isFollowed: role == .follower)
        self.ptp = ptp
        shared.setClock(.ptp(ptp, peer: socket.remote))
    }

    /// Encrypts the connection, or a new one if a pairing method was refused on the first.
    private func pair(_ first: RTSPConnection, _ info: ReceiverInfo) throws(AirPlayError) -> RTSPConnection {
        let configuration = configuration
        let remote = first.socket.remote
        let pairing = SessionPairing(configuration: configuration) { () throws(AirPlayError) in
            let socket = try TCPSocket.speaker(
                at: remote, port: configuration.address.port, deadline: .now.advanced(by: configuration.connectPatience)
            )
            socket.setPersistence(.requests)
            return RTSPConnection(socket: socket, identity: configuration.identity)
        }
        let (secret, connection) = try pairing.run(on: first, info: info)
        self.connection = connection
        self.secret = secret
        try connection.encrypt(with: .control(from: secret))
        return connection
    }

    private func setUpSession(_ connection: RTSPConnection) throws(AirPlayError) {
        guard let secret else { return }
        let identity = configuration.identity
        let clock: SessionRequests.Timing
        if let timing {
            clock = .ntp(port: timing.port)
        } else {
            clock = .ptp(
                TimingPeer(
                    identifier: UniqueName.uuid(), clock: identity.clock.rawValue,
                    addresses: [connection.socket.local.description]))
        }
        let body = SessionRequests.setUp(
            deviceID: identity.deviceID, macAddress: identity.macAddress, session: UniqueName.uuid(),
            group: configuration.peers.identifier, name: identity.name, timing: clock)
        let reply = try request("SETUP", body, timeout: Deadline.setUp).accepted("start a session").propertyList()
        let setup: SessionSetup
        do { setup = try SessionSetup(reply) } catch { throw AirPlayError(.protocolViolation, error.message) }
        try listenToEvents(on: setup.eventPort, at: connection.socket.remote, secret)
        isAlive = true
        nextKeepAlive = host.now.advanced(by: Self.keepAliveInterval)
        nextLook = host.now
        schedule()
    }

    /// Connects to the speaker's event port, if any. Some speakers start listening only after announcing it.
    ///
    /// A speaker that never listens is used without events; its responses reveal failures.
    private func listenToEvents(
        on port: UInt16?, at remote: IPv4Address, _ secret: SecretBytes
    ) throws(AirPlayError) {
        guard let port else { return }
        let deadline = HostInstant.now.advanced(by: Deadline.events)
        var socket: TCPSocket?
        while socket == nil {
            // ignored: retried until the deadline; after that the session works without events.
            socket = try? TCPSocket.speaker(at: remote, port: port, deadline: deadline)
            if socket != nil || .now >= deadline { break }
            HostInstant.now.advanced(by: Deadline.eventsPause).sleep()
        }
        guard let socket else { return }
        let shared = shared
        do throws(ExhaustionError) {
            events = try EventChannel(socket: socket, keys: .events(from: secret)) { event in
                switch event {
                case .message(let message): shared.tell(.message(message))
                case .ended(let error): shared.fail(error)
                }
            }
        } catch {
            throw AirPlayError(error)
        }
    }

    /// Sets up the stream of the route and its sender.
    func startStream(
        _ format: StreamFormat, store: PacketStore, room: @escaping @Sendable () -> Void
    ) throws(AirPlayError) -> StreamSetup {
        guard let connection, let secret, stream == nil else {
            throw AirPlayError(.outOfOrder, "A stream needs a connected session that has none yet.")
        }
        let local = connection.socket.local
        let remote = connection.socket.remote
        // RECORD precedes the stream's SETUP, as in Apple's senders: some speakers stay silent otherwise.
        _ = try exchange("RECORD", timeout: Deadline.setUp).accepted("record")
        let control = try datagramSocket { () throws(PTPError) in try SenderPorts.open(on: local) }
        let key = ChannelKeys.audio(from: secret)
        let counters = configuration.firstCounters ?? .random()
        let body =
            configuration.route == .buffered
            ? SessionRequests.setUpBufferedStream(
                format: format, key: key, controlPort: control.port, connection: sessionNumber)
            : SessionRequests.setUpRealtimeStream(
                format: format, key: key, controlPort: control.port, connection: sessionNumber)
        let reply = try request("SETUP", body, timeout: Deadline.setUp).accepted("accept this stream").propertyList()
        let setup: StreamSetup
        do { setup = try StreamSetup(reply) } catch { throw AirPlayError(.protocolViolation, error.message) }
        if let ptp {
            // Set before the speaker starts to use our clock.
            measurePath()
            ptp.noteStreamSetUp(remote)
            _ = try tellPeers(connection).accepted("share a clock")
        }
        if configuration.route == .buffered {
            let socket = try TCPSocket.speaker(
                at: remote, port: setup.dataPort, deadline: .now.advanced(by: configuration.connectPatience))
            socket.setPersistence(.sound)
            let shared = shared
            shared.setWriter(
                try Self.made { () throws(ExhaustionError) in
                    try BufferedWriter(
                        socket: socket, key: key, format: format, counters: counters, store: store, room: room,
                        ended: { shared.fail(AirPlayError(.ended, "The speaker has closed the stream.")) })
                })
        } else {
            guard let controlPort = setup.controlPort, controlPort != 0 else {
                throw AirPlayError(.protocolViolation, "The speaker did not specify a timing port.")
            }
            // Send-only: nothing is received on this socket.
            let data = try datagramSocket { () throws(PTPError) in try PTPPorts.open(local, 0) }
            let ends = RealtimeSender.Ends(
                control: control, data: data, remote: remote, dataPort: setup.dataPort,
                controlPort: controlPort)
            shared.setWriter(
                try Self.made { () throws(ExhaustionError) in
                    try RealtimeSender(
                        ends: ends, key: key, format: format, counters: counters,
                        source: ptp == nil ? sessionNumber : 0,
                        arrivalToRender: setup.arrivalToRender, store: store, host: host,
                        clock: { [shared] in shared.clock?.timeline },
                        room: room)
                })
        }
        controlSocket = control
        stream = setup
        streamBegan = host.now
        return setup
    }

    private static func made<Writer>(_ make: () throws(ExhaustionError) -> Writer) throws(AirPlayError) -> Writer {
        do { return try make() } catch { throw AirPlayError(error) }
    }

    private func datagramSocket(_ open: () throws(PTPError) -> DatagramSocket) throws(AirPlayError) -> DatagramSocket {
        do { return try open() } catch { throw AirPlayError(.unreachable, error.message) }
    }

    private func tellPeers(_ connection: RTSPConnection) throws(AirPlayError) -> RTSPResponse {
        var receivers = configuration.peers.addresses
        if !receivers.contains(connection.socket.remote) { receivers.append(connection.socket.remote) }
        let peers = (receivers + [connection.socket.local]).map(\.description)
        return try request(
            "SETPEERS", SessionRequests.peers(peers), type: "/peer-list-changed", timeout: Deadline.request)
    }

    /// Sends the changed peer list to the speaker.
    func sharePeers() throws(AirPlayError) {
        guard let connection, stream != nil, ptp != nil else { return }
        _ = try tellPeers(connection)
    }

    // MARK: End

    /// Pauses and releases the speaker and closes all connections. Never fails: missing responses are ignored.
    func end() {
        shared.expectEnd()
        isAlive = false
        attend = nil
        schedule()
        if let connection, !connection.isBroken, secret != nil {
            if stream != nil, configuration.route == .buffered {
                // ignored: the session ends whether the speaker responds or not.
                _ = try? request("SETRATEANCHORTIME", SessionRequests.pause(), timeout: Deadline.tearDown)
            }
            // Before TEARDOWN: a later packet may be an error to the speaker.
            // ignored: see above.
            if let sender = shared.writer as? RealtimeSender { try? stop(sender, timeout: Deadline.tearDown) }
            // ignored: see above; the closed connection ends the session at the speaker.
            _ = try? request("TEARDOWN", SessionRequests.tearDown(), timeout: Deadline.tearDown)
        }
        shared.writer?.close()
        shared.setWriter(nil)
        events?.close()
        events = nil
        connection?.socket.interrupt()
        noteExperience()
        if let ptp, let remote { ptp.remove(remote) }
        shared.setClock(nil)
        connection = nil
        ptp = nil
        stream = nil
        controlSocket = nil
        timing?.close()
        timing = nil
    }

    /// Records what this session revealed about the speaker's clock behaviour.
    private func noteExperience() {
        let lessons = configuration.lessons
        if let ptp, let remote, let peer = ptp.peer(remote) { lessons.learn(SpeakerExperience(of: peer)) }
        guard stream != nil, let streamSetUp, host.now - streamSetUp >= Self.clockPatience else { return }
        if let state = shared.clock?.state, [.cold, .probing].contains(state.readiness) { lessons.learn(.clockless) }
    }

    // MARK: Between requests

    /// Schedules a call of `attend` as soon as the queue is empty.
    func requestAttention() {
        nextAttention = host.now
        schedule()
    }

    private func schedule() {
        nextTick = min(isAlive ? min(nextKeepAlive, nextLook) : HostInstant(nanoseconds: .max), nextAttention)
    }

    /// Performs all due periodic work: suspension and address checks, `attend`, keep-alive.
    func tick() {
        if isAlive, suspensions.check(clocks.clock) != nil { lookAgain() }
        if isAlive, host.now >= nextLook, let move = lookForMove() {
            isAlive = false
            connection?.abandon()
            shared.fail(AirPlayError(.lost, move))
        }
        let now = host.now
        if now >= nextAttention {
            nextAttention = attend?(self) ?? HostInstant(nanoseconds: .max)
        }
        if isAlive, now >= nextKeepAlive {
            keepAlive()
            measurePath()
            // The clock state is checked at the same interval.
            nextAttention = host.now
            nextKeepAlive = host.now.advanced(by: Self.keepAliveInterval)
        }
        schedule()
    }

    /// Checks the speaker after a suspension of the computer.
    ///
    /// The speaker may have ended the session meanwhile, which TCP detects late. Without a response the session is lost
    /// at once.
    private func lookAgain() {
        keepAlive(patience: .zero)
        nextKeepAlive = host.now.advanced(by: Self.keepAliveInterval)
        nextAttention = host.now
    }

    /// Sends a keep-alive request; the session is lost if it fails.
    ///
    /// - Parameter patience: Timeout since the last response; nil: the configured one. Before it, a missing response is
    ///   ignored.
    private func keepAlive(patience: Duration? = nil) {
        let patience = patience ?? configuration.patience
        guard let connection else { return }
        defer { shared.noteAnswer(at: connection.lastAnswer) }
        // During an outage, waiting is useless: user requests must be sent as soon as it ends, and late responses
        // count.
        let isAway =
            patience > .zero && HostInstant.now - connection.lastAnswer > Self.keepAliveInterval + Deadline.request
        do throws(AirPlayError) {
            let response = try connection.exchange(
                "POST", "/feedback", timeout: isAway ? Deadline.glance : Deadline.keepAlive)
            // Receivers without `/feedback` respond with 404, which proves that they are alive.
            if response.status == 454 { throw Self.sessionEnded }
        } catch {
            guard error.code != .timedOut || .now - connection.lastAnswer >= patience else { return }
            isAlive = false
            if error.status == 454 { return shared.fail(error) }
            shared.fail(AirPlayError(.lost, "The speaker stopped responding (\(error.message))"))
        }
    }

    private static let sessionEnded = AirPlayError(.ended, "The speaker has ended the session.", status: 454)

    // MARK: Requests

    func request(
        _ method: String, _ body: PropertyList, type: String = "application/x-apple-binary-plist", timeout: Duration
    ) throws(AirPlayError) -> RTSPResponse {
        try exchange(method, headers: ["Content-Type": type], body: body.binary(), timeout: timeout)
    }

    func exchange(
        _ method: String, headers: RTSPHeaders = [:], body: [UInt8] = [], timeout: Duration
    ) throws(AirPlayError) -> RTSPResponse {
        guard let connection else { throw AirPlayError(.outOfOrder, "The session is not connected.") }
        defer { shared.noteAnswer(at: connection.lastAnswer) }
        do {
            let response = try connection.exchange(method, url, headers: headers, body: body, timeout: timeout)
            // 454 means that the session no longer exists, regardless of the request.
            if response.status == 454 { shared.fail(Self.sessionEnded) }
            return response
        } catch {
            if connection.isBroken { shared.fail(error) }
            throw error
        }
    }
}
