package import AirPlayTransport
internal import AirPlayWire
package import MediaCore
internal import PTP
internal import Sockets

/// The state of one session and the requests that change it. Used only on the control thread.
package final class ClassicSessionCore: SenderSessionCore {
    /// Request timeouts.
    private enum Deadline {
        static let request: Duration = .seconds(2)
        /// Receivers ask for time before they answer.
        static let setUp: Duration = .seconds(8)
        /// Short, so that other due work is not delayed; a later response still counts.
        static let keepAlive: Duration = .seconds(1)
        static let tearDown: Duration = .milliseconds(500)
        /// For a receiver that has not responded for a while: only a late response is collected.
        static let glance: Duration = .milliseconds(100)
        /// A receiver whose connection still works responds within this time after an address change.
        static let move: Duration = .milliseconds(300)
    }

    let configuration: ClassicSession.Configuration
    private let served: ServedTimeline
    let shared: ClassicSession.Shared
    private var connection: RTSPConnection?
    private var authentication: DigestAuthentication?
    /// Whether the password was rejected or is missing: no request is sent any more.
    private var isMistrusted = false
    private let sessionNumber = UInt32.random(in: 1 ... .max)
    /// The token of the receiver's commands by DACP.
    private let activeRemote = UInt32.random(in: 1 ... .max)
    private var url = ""
    private var session: String?
    private var schedule = SessionSchedule()
    private var addresses = AddressWatch()
    private var suspensions: SuspensionWatch
    /// When the stream was set up; nil before.
    private(set) var streamBegan: HostInstant?
    /// Whether the receiver has an anchor and was not stopped since.
    private(set) var isPlaying = false
    /// Performs the owner's due work between requests. Returns the instant of the next call; nil: none.
    package var service: ((ClassicSessionCore) -> HostInstant?)?

    package var host: any HostClock { served.clock }
    package var isResponsive: Bool { !shared.status.isLost && !shared.isUnresponsive }

    init(
        configuration: ClassicSession.Configuration, serving served: ServedTimeline, shared: ClassicSession.Shared
    ) {
        (self.configuration, self.served, self.shared) = (configuration, served, shared)
        suspensions = SuspensionWatch(served.clock)
    }

    // MARK: Set-up

    /// Connects, and returns whether the receiver asks for its password. The session has no stream then.
    func checkPassword() throws(AirPlayError) -> Bool {
        _ = try connect()
        // Receivers without OPTIONS respond with 501.
        _ = try exchange("OPTIONS", timeout: Deadline.request, target: "*")
        return authentication != nil
    }

    private func connect() throws(AirPlayError) -> TCPSocket {
        guard connection == nil else { throw AirPlayError(.outOfOrder, "The session is connected already.") }
        let address = try TCPSocket.speaker(named: configuration.address.host)
        let socket = try TCPSocket.speaker(
            at: address, port: configuration.address.port, deadline: .now.advanced(by: configuration.connectTimeout))
        socket.setPersistence(.requests)
        connection = RTSPConnection(
            socket: socket, identity: configuration.identity, activeRemote: activeRemote, trace: configuration.trace)
        return socket
    }

    /// Connects and sets up a stream.
    func begin(
        _ format: StreamFormat, store: PacketStore, first: RTPTimestamp, onWritable: @escaping @Sendable () -> Void
    ) throws(AirPlayError) {
        let socket = try connect()
        url = "rtsp://\(socket.local.urlHost)/\(sessionNumber)"
        configuration.remote?.register(activeRemote, of: socket.remote, local: socket.local) { [shared] command in
            shared.status.publish(command)
        }
        // Both sockets exist before SETUP: some receivers ask for time before they answer it.
        let (timing, control, data): (TimingResponder, DatagramSocket, DatagramSocket)
        do {
            timing = try TimingResponder(on: socket.local, for: socket.remote, serving: served)
            shared.timing.withLock { $0 = timing }
            control = try SenderPorts.open(on: socket.local)
            // Send-only: nothing is received on this socket.
            data = try PTPPorts.open(socket.local, 0)
        } catch {
            throw AirPlayError(.timingUnavailable, error.message)
        }
        let security: StreamSecurity? = configuration.method.isEncrypted ? .random() : nil
        let cipher = security.flatMap { LegacyCryptography.Cipher(key: $0.key, vector: $0.vector) }
        guard (cipher == nil) == (security == nil) else {
            throw AirPlayError(.exhausted, "Cannot connect to the speaker: out of memory.")
        }
        try announce(
            SessionDescription(
                session: sessionNumber, local: socket.local, remote: socket.remote,
                format: format, security: security))
        let transport =
            "RTP/AVP/UDP;unicast;interleaved=0-1;mode=record;control_port=\(control.port);timing_port=\(timing.port)"
        let reply = try exchange("SETUP", headers: ["Transport": transport], timeout: Deadline.setUp)
            .accepted("accept this stream")
        guard let setup = ClassicSetup(reply.headers) else {
            throw AirPlayError(.protocolViolation, "The speaker did not specify a port for audio.")
        }
        session = setup.session
        let packetizer = ClassicPacketizer(
            firstSequence: .random(in: 0 ... .max), source: sessionNumber, cipher: cipher)
        let record = try exchange(
            "RECORD",
            headers: [
                "Range": "npt=0-", "RTP-Info": "seq=\(packetizer.nextSequence);rtptime=\(store.onWire(first).rawValue)",
            ], timeout: Deadline.setUp
        ).accepted("record")
        let latency = ClassicLatency(record.headers["Audio-Latency"] ?? reply.headers["Audio-Latency"])
        shared.latency.withLock { $0 = latency }
        let served = served
        let sender: RealtimeSender
        do {
            sender = try RealtimeSender(
                ends: .init(
                    control: control, data: data, remote: socket.remote, dataPort: setup.dataPort,
                    controlPort: setup.controlPort),
                packetizer: packetizer, format: format, depth: ClassicLatency.depth, store: store, host: host,
                clock: { served.timeline }, onWritable: onWritable)
        } catch {
            throw AirPlayError(error)
        }
        shared.sender.withLock { $0 = sender }
        streamBegan = host.now
        schedule.begin(at: host.now)
    }

    /// Sends ANNOUNCE, after `/auth-setup` if the receiver requires it.
    private func announce(_ description: SessionDescription) throws(AirPlayError) {
        guard let body = description.body else {
            throw AirPlayError(.exhausted, "Cannot connect to the speaker: out of memory.")
        }
        if configuration.method.needsSetup { try setUpAuthentication() }
        func send() throws(AirPlayError) -> RTSPResponse {
            try exchange("ANNOUNCE", headers: ["Content-Type": "application/sdp"], body: body, timeout: Deadline.setUp)
        }
        var reply = try send()
        if reply.status == 403, !configuration.method.needsSetup {
            try setUpAuthentication()
            reply = try send()
        }
        _ = try reply.accepted("start a session")
    }

    /// Sends a Curve25519 key for a receiver that proves its origin by a certificate. The proof is not verified: the
    /// stream is not secret. A refusal is ignored, since some receivers announce the method and do not have it.
    private func setUpAuthentication() throws(AirPlayError) {
        let key = (0..<32).map { _ in UInt8.random(in: 0 ... .max) }
        _ = try exchange(
            "POST", headers: ["Content-Type": "application/octet-stream"], body: [1] + key, timeout: Deadline.setUp,
            target: "/auth-setup")
    }

    // MARK: Playback

    /// Maps instants of perception to those sent to the receiver.
    var timeline: PTPTimeline { served.timeline }

    /// Starts playback so that the frame `position` is heard at `instant`. Returns the instant on the served clock.
    func play(_ position: RTPTimestamp, at instant: HostInstant) throws(AirPlayError) -> PTPInstant {
        guard let sender = shared.sender.withLock({ $0 }) else {
            throw AirPlayError(.outOfOrder, "There is no stream to start.")
        }
        let time = served.timeline.mapping.target(at: instant)
        sender.play(.init(position: sender.store.onWire(position), instant: time, grandmaster: nil))
        isPlaying = true
        return time
    }

    /// Stops the stream; buffered packets are flushed and sent again at the next start.
    func stop(timeout: Duration = Deadline.request) throws(AirPlayError) {
        isPlaying = false
        guard let next = shared.sender.withLock({ $0 })?.stop(), let timestamp = next.timestamp else { return }
        _ = try exchange(
            "FLUSH", headers: ["RTP-Info": "seq=\(next.sequence);rtptime=\(timestamp.rawValue)"], timeout: timeout
        ).accepted("clear its queue")
    }

    /// Sends again from the packet that contains `timestamp`. Returns false if none is kept from there on.
    func rewind(to timestamp: RTPTimestamp, gap: Int64) throws(AirPlayError) -> Bool {
        guard let sender = shared.sender.withLock({ $0 }) else { return false }
        sender.halt()
        guard sender.store.rewind(to: timestamp, gap: gap) != nil else { return false }
        sender.wake()
        try stop()
        return true
    }

    /// Sets the volume in dB.
    package func setVolume(decibels: Double) throws(AirPlayError) {
        _ = try exchange(
            "SET_PARAMETER", headers: ["Content-Type": "text/parameters"],
            body: TextParameters.volume(decibels: decibels), timeout: Deadline.request
        ).accepted("set its volume")
    }

    /// Sends what the receiver displays. Returns false if it refuses.
    package func show(_ request: NowPlayingUpdates.Request) throws(AirPlayError) -> Bool {
        let message = request.message
        let response = try exchange(
            message.method, headers: message.headers, body: message.body, timeout: message.timeout)
        return (200..<300).contains(response.status)
    }

    /// Returns whether the receiver answers a request of this session now.
    package func answers() -> Bool {
        // ignored: without a response the answer is no.
        let response = try? exchange("OPTIONS", timeout: Deadline.keepAlive, target: "*")
        return response != nil && !shared.status.isLost
    }

    /// Ends the session as lost; a new one may succeed.
    func lose(_ reason: String) { shared.status.fail(AirPlayError(.lost, reason)) }

    // MARK: End

    /// Releases the receiver and closes all connections. Never fails: missing responses are ignored.
    func end() {
        shared.status.expectEnd()
        configuration.remote?.unregister(activeRemote)
        schedule.end()
        service = nil
        if let connection, !connection.isBroken, !url.isEmpty, !isMistrusted {
            // Before TEARDOWN: a later packet may be an error to the receiver.
            // ignored: the session ends whether the receiver responds or not.
            try? stop(timeout: Deadline.tearDown)
            // ignored: see above. Also without a session: a receiver whose SETUP stalled would remain busy.
            _ = try? exchange("TEARDOWN", timeout: Deadline.tearDown)
        }
        let sender = shared.sender.withLock { sender in
            defer { sender = nil }
            return sender
        }
        sender?.close()
        connection?.socket.interrupt()
        connection = nil
        let timing = shared.timing.withLock { timing in
            defer { timing = nil }
            return timing
        }
        timing?.close()
    }

    // MARK: Between requests

    package var nextTick: HostInstant { schedule.next }

    /// Schedules a call of `service` as soon as the queue is empty.
    package func requestAttention() { schedule.setAttention(at: host.now) }

    /// Performs all due periodic work: suspension and address checks, `service`, keep-alive.
    package func tick() {
        if schedule.isAlive, suspensions.check(host) != nil {
            // The receiver may have ended the session meanwhile, which TCP detects late.
            sendKeepAlive(timeout: .zero)
            schedule.deferKeepAlive(at: host.now)
            schedule.setAttention(at: host.now)
        }
        if schedule.takesAddressCheck(at: host.now), let move = addressChange() {
            schedule.end()
            connection?.abandon()
            shared.status.fail(AirPlayError(.lost, move))
        }
        if schedule.isAttentionDue(at: host.now) {
            let next = service?(self)
            schedule.setAttention(at: next)
        }
        guard schedule.isKeepAliveDue(at: host.now) else { return }
        sendKeepAlive(timeout: configuration.timeout)
        // The clock state is checked at the same interval.
        schedule.setAttention(at: host.now)
        schedule.deferKeepAlive(at: host.now)
    }

    /// Returns a sentence about a change of the address of the receiver or of this computer that ended the session.
    private func addressChange() -> String? {
        guard let connection else { return nil }
        let socket = connection.socket
        let announced = configuration.id.flatMap { configuration.network?.classicAddresses(of: $0) }
        let local = TCPSocket.localAddress(toward: socket.remote)
        let isMoved = local != socket.local && !TCPSocket.isOwn(socket.local)
        guard let change = addresses.change(remote: socket.remote, announced: announced, local: isMoved ? local : nil)
        else { return nil }
        let before = connection.lastAnswer
        // ignored: only `lastAnswer` matters.
        _ = try? exchange("OPTIONS", timeout: Deadline.move, target: "*")
        if connection.lastAnswer == before { return change }
        addresses.recordSurvival(of: change)
        return nil
    }

    /// Sends a request that has no effect; the session is lost if it fails.
    ///
    /// - Parameter timeout: Timeout since the last response. Before it, a missing response is ignored.
    private func sendKeepAlive(timeout: Duration) {
        guard let connection else { return }
        let silence = HostInstant.now - connection.lastAnswer
        // During an outage a long wait would delay user requests, which are due as soon as it ends.
        let isAway = timeout > .zero && silence > SessionSchedule.keepAliveInterval + Deadline.request
        do throws(AirPlayError) {
            // Receivers without OPTIONS respond with 501, which proves that they are alive.
            _ = try exchange("OPTIONS", timeout: isAway ? Deadline.glance : Deadline.keepAlive, target: "*")
        } catch {
            guard error.code != .timedOut || .now - connection.lastAnswer >= timeout else { return }
            schedule.end()
            shared.status.fail(AirPlayError(.lost, "The speaker stopped responding (\(error.message))"))
        }
    }

    // MARK: Requests

    /// Sends a request, again with the password if the receiver asks for it.
    ///
    /// - Parameter target: Nil: the URL of the session.
    private func exchange(
        _ method: String, headers: RTSPHeaders = [:], body: [UInt8] = [], timeout: Duration, target: String? = nil
    ) throws(AirPlayError) -> RTSPResponse {
        guard let connection else { throw AirPlayError(.outOfOrder, "The session is not connected.") }
        defer { shared.status.recordResponse(at: connection.lastAnswer) }
        do throws(AirPlayError) {
            let response = try send(
                method, target ?? url, headers: headers, body: body, timeout: timeout, on: connection)
            // 454 means that the session no longer exists, regardless of the request.
            if response.status == 454, streamBegan != nil {
                shared.status.fail(AirPlayError(.ended, "The speaker has ended the session.", status: 454))
            }
            return response
        } catch {
            if connection.isBroken { shared.status.fail(error) }
            isMistrusted = isMistrusted || error.isMistrust
            throw error
        }
    }

    private func send(
        _ method: String, _ target: String, headers: RTSPHeaders, body: [UInt8], timeout: Duration,
        on connection: RTSPConnection
    ) throws(AirPlayError) -> RTSPResponse {
        // A nonce may expire once; a fresh one that is refused as well means a wrong password.
        var isRenewed = false
        while true {
            var all = headers
            if let session { all.append("Session", session) }
            if let authentication, let password = configuration.password {
                all.append(
                    "Authorization",
                    authentication.authorization(
                        method, target, password: password, isUpperCase: configuration.method.hasUpperCaseDigest))
            }
            let response = try connection.exchange(method, target, headers: all, body: body, timeout: timeout)
            guard response.status == 401 else { return response }
            guard configuration.password != nil else {
                throw AirPlayError(
                    .pairingRequired, "The speaker requires its password.", remedy: .enterPassword(nil), status: 401)
            }
            guard !isRenewed, let challenge = response.headers["WWW-Authenticate"],
                let renewed = DigestAuthentication(challenge: challenge)
            else {
                throw AirPlayError(
                    .notAuthentic, "The speaker rejected the password.", remedy: .correctPassword, status: 401)
            }
            isRenewed = true
            authentication = renewed
        }
    }
}
