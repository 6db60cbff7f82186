internal import AirPlayTransport
internal import AirPlayWire
package import MediaCore
internal import PTP
internal import Sockets

/// The state of one session and the requests that change it. Used only on the control thread.
package final class SessionCore: SenderSessionCore {
    /// Request timeouts (based on receivers measured by others; each request has its own typical delay).
    enum Deadline {
        static let request: Duration = .seconds(2)
        static let setUp: Duration = .seconds(8)
        static let events: Duration = .seconds(2)
        static let eventsPause: Duration = .milliseconds(50)
        /// Short, so that other due work is not delayed; a later response still counts.
        static let keepAlive: Duration = .seconds(1)
        static let tearDown: Duration = .milliseconds(500)
        /// For a speaker that has not responded for a while: only a late response is collected.
        static let glance: Duration = .milliseconds(100)
        /// A speaker whose connection still works responds within this time after an address change.
        static let move: Duration = .milliseconds(300)
    }

    /// A speaker that is not synchronized with our clock after this time does not support it on this route.
    private static let clockTimeout: Duration = .seconds(8)

    let configuration: AirPlaySession.Configuration
    private let clocks: PTPDirectory
    let shared: SessionShared
    var connection: RTSPConnection?
    private var secret: SecretBytes?
    /// Whether the speaker has accepted this sender.
    var isAuthenticated: Bool { secret != nil }
    private var url = ""
    private let sessionNumber = UInt32.random(in: 1 ... .max)
    /// The token of the speaker's commands by DACP.
    private let activeRemote = UInt32.random(in: 1 ... .max)
    private var events: EventChannel?
    private var controlSocket: DatagramSocket?
    private var timing: TimingResponder?
    var ptp: PTPInstance?
    /// The number of this session's receiver at `ptp`: another session with the speaker may have replaced it.
    private var ptpSession: UInt64?
    private(set) var stream: StreamSetup? { didSet { hasAllowedPlaying = false } }
    /// The traits of the speaker, updated by `/info`.
    private(set) var traits: SpeakerTraits
    /// Whether the stream was started before, or the speaker's playing flag is set.
    var hasAllowedPlaying = false
    private var schedule = SessionSchedule()
    private var addresses = AddressWatch()
    /// This computer's clock. Connection deadlines use the machine's clock.
    package var host: any HostClock { clocks.clock }
    /// Whether the speaker has an anchor and was not stopped since.
    var isPlaying = false
    /// Performs the owner's due work between requests. Returns the instant of the next call; nil: none.
    package var service: ((SessionCore) -> HostInstant?)?
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

    /// Maps instants of perception to those sent to the speaker; nil while unknown.
    var timeline: PTPTimeline? { shared.clock?.timeline }

    /// The number of bytes sent so far. Grows while a speaker plays: a buffered stream is sent as fast as it is read.
    ///
    /// Nil if no packet is queued. Constant for realtime streams, which are sent without acknowledgement.
    var flowingBytes: Int64? {
        guard configuration.route == .buffered, let writer = shared.writer else { return 0 }
        return writer.store.waiting == 0 ? nil : writer.sentBytes
    }

    /// The minimum times for start commands.
    var startLeads: StartLeads { StartLeads(shared.clock) }

    /// Whether the session has failed or ended.
    var isLost: Bool { shared.status.isLost }
    package var isResponsive: Bool { !isLost && !shared.isUnresponsive }

    /// Ends the session as lost; a new one may succeed.
    func lose(_ reason: String) { shared.status.fail(AirPlayError(.lost, reason)) }

    /// When the stream was set up.
    private(set) var streamBegan: HostInstant?

    var remote: NetworkAddress? { connection?.socket.remote }

    // MARK: Set-up

    /// Connects, pairs, and sets up the session without a stream.
    func connect(yieldingTo busy: StatusFlags) throws(AirPlayError) -> ReceiverInfo {
        guard connection == nil else { throw AirPlayError(.outOfOrder, "The session is connected already.") }
        let address = try TCPSocket.speaker(named: configuration.address.host)
        let socket = try TCPSocket.speaker(
            at: address, port: configuration.address.port,
            deadline: .now.advanced(by: configuration.connectTimeout))
        socket.setPersistence(.requests)
        let connection = RTSPConnection(
            socket: socket, identity: configuration.identity, activeRemote: activeRemote, trace: configuration.trace)
        self.connection = connection
        configuration.remote?.register(activeRemote, of: socket.remote, local: socket.local) { [shared] command in
            shared.status.publish(command)
        }
        do { try serveTime(socket) } catch { throw AirPlayError(.timingUnavailable, error.message) }
        url = "rtsp://\(socket.local.urlHost)/\(sessionNumber)"
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
        applyStatedLatency(info, from: paired)
        try setUpSession(paired)
        return info
    }

    /// Applies the output latency that the speaker states, with NTP timing. Some state it to paired senders only.
    private func applyStatedLatency(_ info: ReceiverInfo, from connection: RTSPConnection) {
        guard let timing else { return shared.setOutputLatency(info.outputLatency) }
        var latency = info.outputLatency
        if latency == nil {
            // ignored: without an answer no latency is known, and a broken connection fails the next request.
            let reply = try? connection.exchange("GET", "/info", timeout: Deadline.request)
                .accepted("send its properties").propertyList()
            latency = reply.flatMap { ReceiverInfo($0).outputLatency }
        }
        shared.setOutputLatency(latency)
        shared.setClock(.ntp(timing, outputLatency: latency ?? .zero))
    }

    /// Starts serving time before pairing, so that the clock is already running when the speaker receives its address.
    private func serveTime(_ socket: TCPSocket) throws(PTPError) {
        guard configuration.route.needsPTP else {
            let timing = try TimingResponder(on: socket.local, for: socket.remote, serving: clocks.served)
            self.timing = timing
            shared.setClock(.ntp(timing, outputLatency: .zero))
            return
        }
        let ptp = try clocks.instance(on: socket.local)
        let role = configuration.observations.learned.clockRole ?? configuration.clockRole
        ptpSession = ptp.add(socket.remote, readiness: configuration.readiness, isFollowed: role == .follower)
        self.ptp = ptp
        shared.setClock(.ptp(ptp, peer: socket.remote))
    }

    /// Encrypts the connection, or a new one if a pairing method was refused on the first.
    private func pair(_ first: RTSPConnection, _ info: ReceiverInfo) throws(AirPlayError) -> RTSPConnection {
        let (configuration, activeRemote) = (configuration, activeRemote)
        let remote = first.socket.remote
        let pairing = SessionPairing(configuration: configuration) { () throws(AirPlayError) in
            let socket = try TCPSocket.speaker(
                at: remote, port: configuration.address.port, deadline: .now.advanced(by: configuration.connectTimeout)
            )
            socket.setPersistence(.requests)
            return RTSPConnection(
                socket: socket, identity: configuration.identity, activeRemote: activeRemote,
                trace: configuration.trace)
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
                    addresses: [connection.socket.local.literal]))
        }
        let body = SessionRequests.setUp(
            deviceID: identity.deviceID, macAddress: identity.macAddress, session: UniqueName.uuid(),
            group: configuration.peers.identifier, name: identity.name, timing: clock)
        let reply = try request("SETUP", body, timeout: Deadline.setUp).accepted("start a session").propertyList()
        let setup: SessionSetup
        do { setup = try SessionSetup(reply) } catch { throw AirPlayError(.protocolViolation, error.message) }
        try listenToEvents(on: setup.eventPort, at: connection.socket.remote, secret)
        schedule.begin(at: host.now)
    }

    /// Connects to the speaker's event port, if any. Some speakers start listening only after announcing it.
    ///
    /// A speaker that never listens is used without events; its responses reveal failures.
    private func listenToEvents(
        on port: UInt16?, at remote: NetworkAddress, _ secret: SecretBytes
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
        let (shared, trace) = (shared, configuration.trace)
        do throws(ExhaustionError) {
            events = try EventChannel(socket: socket, keys: .events(from: secret)) { event in
                switch event {
                case .message(let message):
                    trace?.record(event: message)
                    if let command = RemoteCommand(event: message) { shared.status.publish(command) }
                case .ended(let error): shared.status.fail(error)
                }
            }
        } catch {
            throw AirPlayError(error)
        }
    }

    /// Sets up the stream of the route and its sender.
    func startStream(
        _ format: StreamFormat, store: PacketStore, onWritable: @escaping @Sendable () -> Void
    ) throws(AirPlayError) -> StreamSetup {
        guard let connection, let secret, stream == nil else {
            throw AirPlayError(.outOfOrder, "A stream needs a connected session that has none yet.")
        }
        let local = connection.socket.local
        let remote = connection.socket.remote
        // RECORD precedes the stream's SETUP, as in Apple's senders: some speakers stay silent otherwise.
        _ = try exchange("RECORD", timeout: Deadline.setUp).accepted("record")
        let control: DatagramSocket
        do { control = try SenderPorts.open(on: local) } catch { throw AirPlayError(.unreachable, error.message) }
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
            ptp.recordStreamSetUp(remote)
            _ = try setPeers(connection).accepted("share a clock")
        }
        let sender = StreamSender(format: format, store: store, key: key, counters: counters, onWritable: onWritable)
        let shared = shared
        if configuration.route == .buffered {
            shared.setWriter(
                try sender.buffered(to: remote, setup, connectTimeout: configuration.connectTimeout) {
                    shared.status.fail(AirPlayError(.ended, "The speaker has closed the stream."))
                })
        } else {
            shared.setWriter(
                try sender.realtime(
                    to: remote, setup, from: local, control: control, source: ptp == nil ? sessionNumber : 0,
                    host: host, clock: { shared.clock?.outputTimeline }))
        }
        controlSocket = control
        stream = setup
        streamBegan = host.now
        configuration.observations.record(
            StatedLatency(arrivalToRender: setup.arrivalToRender, output: shared.outputLatency))
        return setup
    }

    private func setPeers(_ connection: RTSPConnection) throws(AirPlayError) -> RTSPResponse {
        var receivers = configuration.peers.addresses
        if !receivers.contains(connection.socket.remote) { receivers.append(connection.socket.remote) }
        let peers = (receivers + [connection.socket.local]).map(\.literal)
        return try request(
            "SETPEERS", SessionRequests.peers(peers), type: "/peer-list-changed", timeout: Deadline.request)
    }

    /// Sends the changed peer list to the speaker.
    func sharePeers() throws(AirPlayError) {
        guard let connection, stream != nil, ptp != nil else { return }
        _ = try setPeers(connection)
    }

    // MARK: End

    /// Pauses and releases the speaker and closes all connections. Never fails: missing responses are ignored.
    func end() {
        shared.status.expectEnd()
        configuration.remote?.unregister(activeRemote)
        schedule.end()
        service = nil
        if let connection, !connection.isBroken, secret != nil {
            if stream != nil, configuration.route == .buffered {
                // ignored: the session ends whether the speaker responds or not.
                _ = try? request("SETRATEANCHORTIME", SessionRequests.pause(), timeout: Deadline.tearDown)
            }
            // Before TEARDOWN: a later packet may be an error to the speaker.
            // ignored: see above.
            _ = try? stopPacing(timeout: Deadline.tearDown)
            // ignored: see above; the closed connection ends the session at the speaker.
            _ = try? request("TEARDOWN", SessionRequests.tearDown(), timeout: Deadline.tearDown)
        }
        recordFacts()
        shared.writer?.close()
        shared.setWriter(nil)
        events?.close()
        events = nil
        connection?.socket.interrupt()
        recordExperience()
        if let ptp, let ptpSession, let remote { ptp.remove(remote, of: ptpSession) }
        shared.setClock(nil)
        connection = nil
        ptp = nil
        stream = nil
        controlSocket = nil
        timing?.close()
        timing = nil
    }

    /// Records in the trace what its messages do not show.
    private func recordFacts() {
        guard let trace = configuration.trace, stream != nil else { return }
        let role = configuration.observations.learned.clockRole ?? configuration.clockRole
        trace.record([
            ("route", .text(configuration.route.rawValue)), ("clock_role", .text("\(role)")),
            ("clock", .text("\(clock.readiness)")),
            ("timing_requests", .optional(ptp.flatMap { ptp in remote.flatMap { ptp.peer($0)?.readiness.probes } })),
            ("sent_bytes", .integer(Int(shared.writer?.sentBytes ?? 0))),
            ("resent_packets", .integer(Int(shared.writer?.resentPackets ?? 0))),
        ])
    }

    /// Records what this session revealed about the speaker's clock behaviour.
    private func recordExperience() {
        let observations = configuration.observations
        if let ptp, let remote, let peer = ptp.peer(remote) { observations.record(SpeakerExperience(of: peer)) }
        guard stream != nil, let streamBegan, host.now - streamBegan >= Self.clockTimeout else { return }
        if let state = shared.clock?.state, [.cold, .probing].contains(state.readiness) {
            observations.record(.clockless)
        }
    }

    // MARK: Between requests

    /// When `tick` is due.
    package var nextTick: HostInstant { schedule.next }

    /// Schedules a call of `service` as soon as the queue is empty.
    package func requestAttention() { schedule.setAttention(at: host.now) }

    /// Performs all due periodic work: suspension and address checks, `service`, keep-alive.
    package func tick() {
        if schedule.isAlive, suspensions.check(clocks.clock) != nil { checkAfterSuspension() }
        if schedule.takesAddressCheck(at: host.now), let move = checkAddresses() {
            schedule.end()
            connection?.abandon()
            shared.status.fail(AirPlayError(.lost, move))
        }
        let now = host.now
        if schedule.isAttentionDue(at: now) {
            let next = service?(self)
            schedule.setAttention(at: next)
        }
        guard schedule.isKeepAliveDue(at: now) else { return }
        sendKeepAlive()
        measurePath()
        // The clock state is checked at the same interval.
        schedule.setAttention(at: host.now)
        schedule.deferKeepAlive(at: host.now)
    }

    /// Checks whether the address of the speaker or of this computer has changed.
    ///
    /// Without a response after a change the session is lost: a new connection is faster than the timeout.
    ///
    /// - Returns: A message about the change if it ended the session; nil otherwise.
    private func checkAddresses() -> String? {
        guard let connection else { return nil }
        let socket = connection.socket
        let sighting = configuration.id.flatMap { configuration.network?.sighting(of: $0) }
        if sighting?.group == configuration.peers.identifier { shared.markGrouped() }
        let local = TCPSocket.localAddress(toward: socket.remote)
        let isMoved = local != socket.local && !TCPSocket.isOwn(socket.local)
        guard
            let move = addresses.change(
                remote: socket.remote, announced: sighting?.addresses, local: isMoved ? local : nil)
        else { return nil }
        let before = connection.lastAnswer
        // ignored: only `lastAnswer` matters.
        _ = try? connection.exchange("POST", "/feedback", timeout: Deadline.move)
        if connection.lastAnswer == before { return move }
        addresses.recordSurvival(of: move)
        return nil
    }

    /// Checks the speaker after a suspension of the computer.
    ///
    /// The speaker may have ended the session meanwhile, which TCP detects late. Without a response the session is lost
    /// at once.
    private func checkAfterSuspension() {
        sendKeepAlive(timeout: .zero)
        schedule.deferKeepAlive(at: host.now)
        schedule.setAttention(at: host.now)
    }

    /// Sends a keep-alive request; the session is lost if it fails.
    ///
    /// - Parameter timeout: Timeout since the last response; nil: the configured one. Before it, a missing response is
    ///   ignored.
    private func sendKeepAlive(timeout: Duration? = nil) {
        let timeout = timeout ?? configuration.timeout
        guard let connection else { return }
        defer { shared.status.recordResponse(at: connection.lastAnswer) }
        // During an outage a long wait would delay user requests, which are due as soon as it ends. Late responses are
        // accepted.
        let isAway =
            timeout > .zero
            && HostInstant.now - connection.lastAnswer > SessionSchedule.keepAliveInterval + Deadline.request
        do throws(AirPlayError) {
            let response = try connection.exchange(
                "POST", "/feedback", timeout: isAway ? Deadline.glance : Deadline.keepAlive)
            // Receivers without `/feedback` respond with 404, which proves that they are alive.
            if response.status == 454 { throw Self.sessionEnded }
        } catch {
            guard error.code != .timedOut || .now - connection.lastAnswer >= timeout else { return }
            schedule.end()
            if error.status == 454 { return shared.status.fail(error) }
            shared.status.fail(AirPlayError(.lost, "The speaker stopped responding (\(error.message))"))
        }
    }

    /// Returns whether the speaker answers a request of this session now.
    package func answers() -> Bool {
        // ignored: without a response the answer is no.
        let response = try? exchange("POST", timeout: Deadline.keepAlive, target: "/feedback")
        return response != nil && !isLost
    }

    private static let sessionEnded = AirPlayError(.ended, "The speaker has ended the session.", status: 454)

    // MARK: Requests

    func request(
        _ method: String, _ body: PropertyList, type: String = "application/x-apple-binary-plist", timeout: Duration
    ) throws(AirPlayError) -> RTSPResponse {
        try exchange(method, headers: ["Content-Type": type], body: body.binary(), timeout: timeout)
    }

    func exchange(
        _ method: String, headers: RTSPHeaders = [:], body: [UInt8] = [], timeout: Duration, target: String? = nil
    ) throws(AirPlayError) -> RTSPResponse {
        guard let connection else { throw AirPlayError(.outOfOrder, "The session is not connected.") }
        defer { shared.status.recordResponse(at: connection.lastAnswer) }
        do {
            let response = try connection.exchange(
                method, target ?? url, headers: headers, body: body, timeout: timeout)
            // 454 means that the session no longer exists, regardless of the request.
            if response.status == 454 { shared.status.fail(Self.sessionEnded) }
            return response
        } catch {
            if connection.isBroken { shared.status.fail(error) }
            throw error
        }
    }
}
