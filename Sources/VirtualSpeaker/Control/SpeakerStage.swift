internal import AirPlayWire
internal import Glibc
internal import MediaCore
internal import PTP
internal import Sockets

/// The sockets, clocks and playback of one session. Used by its connection's thread only.
final class SpeakerStage: SessionBackend {
    private let core: SpeakerCore
    private let sender: NetworkAddress
    /// Ends another sender's session; returns false if that is not allowed.
    private let acquire: () -> Bool
    private var timing: SessionTiming?
    private var events: EventServer?
    private var clock: (any SenderClock)?
    private var engine: PlayoutEngine?
    private var buffered: BufferedReceiver?
    private var realtime: RealtimeReceiver?
    /// The start after which a command was sent.
    private var pressedSince: HostInstant?

    init(core: SpeakerCore, sender: NetworkAddress, acquire: @escaping () -> Bool) {
        self.core = core
        self.sender = sender
        self.acquire = acquire
    }

    var configuration: SpeakerConfiguration { core.configuration }
    var identity: SpeakerIdentity { core.identity }
    var offersPTP: Bool { core.ptp != nil }
    var senderAddress: String { sender.literal }
    var isBusy: Bool { core.isBusy }

    var volume: Double {
        get { core.volume }
        set {
            core.volume = newValue
            engine?.setGain(Self.gain(newValue))
            core.record.record(.volume(newValue))
        }
    }

    private static func gain(_ decibels: Double) -> Float { decibels <= -144 ? 0 : Float(pow(10, decibels / 20)) }

    func judge(_ step: PairSetupResponder.Step) -> PairSetupResponder.Refusal? { core.judge(step, from: sender) }
    func refundProof() { core.refundProof(from: sender) }
    func pairedKey(of sender: [UInt8]) -> [UInt8]? { core.pairedKey(of: sender) }
    func store(_ paired: PairedAccessory) { core.store(paired) }
    func record(_ event: SpeakerEvent) { core.record.record(event) }

    func begin(_ timing: SessionTiming, secret: SecretBytes?) throws(SessionRefusal) -> UInt16 {
        guard !core.isTaken, acquire() else { throw .busy }
        guard let secret else {
            self.timing = timing
            core.setHasSession(true)
            return 0
        }
        do {
            let channel = try EventServer(
                address: configuration.address, sender: sender, secret: secret,
                greeting: SpeakerDescription(self).propertyList, quirks: configuration.quirks)
            events = channel
            self.timing = timing
            core.setHasSession(true)
            return channel.port
        } catch {
            throw .failed
        }
    }

    func hasEventConnection() -> Bool {
        configuration.quirks.hasNoEvents
            || events?.isConnected(waitingUntil: .now.advanced(by: .milliseconds(500))) ?? false
    }

    func open(_ request: StreamRequest) throws(SessionRefusal) -> StreamAnswer {
        closeStream()
        do throws(SpeakerError) {
            let clock = try startClock()
            let size = configuration.quirks.bufferSize ?? SpeakerIdentity.usualBufferSize
            let engine = try PlayoutEngine(
                setup: PlayoutEngine.Setup(
                    kind: request.kind, format: request.format, capacity: size, output: core.nextOutput(),
                    outputLatency: configuration.quirks.outputLatency?.real ?? .zero),
                clock: clock, gain: Self.gain(core.volume), codecs: core.codecs, record: core.record)
            self.engine = engine
            switch request.kind {
            case .buffered:
                guard let key = request.key else { throw SpeakerError(.badOption, "a buffered stream needs a key") }
                let receiver = try BufferedReceiver(
                    address: configuration.address, sender: sender, key: key, engine: engine,
                    quirks: configuration.quirks, record: core.record)
                buffered = receiver
                return StreamAnswer(dataPort: receiver.port, controlPort: receiver.port, bufferSize: size)
            case .realtime:
                let receiver = try RealtimeReceiver(
                    address: configuration.address, sender: sender, key: request.key, engine: engine, clock: clock,
                    quirks: configuration.quirks, record: core.record)
                realtime = receiver
                return StreamAnswer(dataPort: receiver.dataPort, controlPort: receiver.controlPort)
            }
        } catch {
            record(.damaged(reason: error.message))
            closeStream()
            throw .failed
        }
    }

    /// Returns the sender's clock, created on the first call. nqptp too listens from the stream's SETUP on.
    private func startClock() throws(SpeakerError) -> any SenderClock {
        if let clock { return clock }
        let clock: any SenderClock
        switch timing {
        case .ntp(let port):
            clock = try NTPClient(
                address: configuration.address, sender: sender, port: port, oscillator: core.oscillator,
                quirks: configuration.quirks, record: core.record)
        default:
            guard let sockets = core.ptp else {
                throw SpeakerError(.noClock, "This speaker has no PTP ports; the sender must use NTP timing.")
            }
            if let manner = configuration.quirks.ownClock {
                clock = try OwnClock(
                    sockets: sockets, sender: sender, oscillator: core.oscillator, quirks: configuration.quirks,
                    manner: manner, identity: identity.clock, record: core.record)
                break
            }
            clock = try PTPFollower(
                sockets: sockets, sender: sender, oscillator: core.oscillator, quirks: configuration.quirks,
                identity: identity.clock, record: core.record)
        }
        self.clock = clock
        return clock
    }

    var stream: (kind: StreamKind, sampleRate: Int)? {
        engine.map { ($0.setup.kind, $0.setup.format.sampleRate) }
    }

    var isClockLocked: Bool { clock?.isLocked ?? false }

    func play(_ anchor: PlayoutAnchor) -> Bool { engine?.setAnchor(anchor) ?? true }
    func pause() { engine?.pause() }

    func flushBuffered(from: UInt32?, until: UInt32) {
        if let from {
            engine?.flushBuffered(from: from, until: until)
        } else {
            engine?.flushBuffered(until: until)
        }
    }

    func flushRealtime(until: RTPTimestamp) { engine?.flushRealtime(until: until) }

    func closeStream() { closeStream(breaking: false) }

    private func closeStream(breaking: Bool) {
        realtime?.stop()
        buffered?.stop(breaking: breaking)
        engine?.stop()
        (realtime, buffered, engine) = (nil, nil, nil)
    }

    // MARK: State polled by the connection

    /// Time since the first audio was placed; nil if none was.
    var playingFor: Duration? {
        guard let since = engine?.playingSince else { return nil }
        return max(.zero, .now - since)
    }

    /// Whether the sender has not answered an event in time.
    var isAbandoned: Bool { events?.isAbandoned ?? false }

    /// Sends a remote command on the event channel, as after a key press on the speaker.
    func sendRemoteCommand(_ command: String) {
        events?.send(["type": "sendMediaRemoteCommand", "value": .string(command)])
    }

    /// Sends a remote command, once after each start.
    func press(_ command: String) {
        guard let start = engine?.playingSince, start != pressedSince else { return }
        pressedSince = start
        record(.pressed(command: command))
        sendRemoteCommand(command)
    }

    /// Ends the session and releases its resources. `breaking` resets the stream's connection instead of closing it.
    func end(breaking: Bool = false) {
        closeStream(breaking: breaking)
        events?.stop()
        clock?.stop()
        if timing != nil { core.setHasSession(false) }
        (events, clock, timing) = (nil, nil, nil)
    }
}
