internal import AirPlayWire
internal import Glibc
public import MediaCore
public import PTP
public import SyncRendering

/// One AirPlay 2 speaker as a place where sound goes.
///
/// On the buffered route the film's own AAC goes through untouched where the speaker can decode it; realtime routes
/// carry lossless sound at 44.1 kHz. Film moment M is heard at host instant
/// H because the speaker is told so once, as a line on the clock that this computer serves; it compensates its own
/// delay itself. Requests run on the session's control thread.
public final class AirPlaySpeaker: AudioOutput {
    /// How sound is encoded that cannot go through untouched.
    public enum Encoding: Sendable { case lossless, aac }

    public let name: String
    public var kind: AudioRouteKind { route == .buffered ? .bufferedSpeaker : .realtimeSpeaker }
    /// What kind of stream, and whose time it runs on.
    public var route: Route { configuration.route }
    private let configuration: AirPlaySession.Configuration
    private let clocks: PTPDirectory
    private let encoding: Encoding
    let state = Lock(State())
    private let loudness = SpeakerLoudness()

    struct State {
        var session: AirPlaySession?
        var stream: StreamFormat?
        var setup: StreamSetup?
        var context: AudioOutputContext?
        var line: SoundLine?
        /// The packets, which outlive a lost session.
        var store: PacketStore?
        var isPassThrough = false
        /// Packets of another kind come next in the same stream: those that overlap the last are left out.
        var isJoining = false
        /// Film seconds per second of sound.
        var speed = 1.0
        var acceptedUntil: MediaTime?
        var isFinished = false
        /// What the present session was told to play by.
        var told: ToldLine?
        /// Sessions made anew because the clock had stalled.
        var renewals = 0
        /// Counts jumps and new streams: an anchor for an older one is void.
        var epoch: UInt64 = 0
        /// Counts `close`: a rejoin for an older use of the speaker gives up.
        var use: UInt64 = 0
        /// dB asked for; nil leaves the speaker as its owner set it.
        var volume: Double?
        var news: Task<Void, Never>?
        /// When the present session was made, and how many before it were ended by the speaker at once.
        var adopted = HostInstant(nanoseconds: 0)
        var evictions = 0
        /// What the speaker showed before we played there.
        var idleFlags: StatusFlags = []
        /// What it shows when somebody else plays there: not every speaker has a flag for that, but one that some show
        /// while they play means something else on those that show it always.
        var busyFlags: StatusFlags { idleFlags.contains(.playing) ? .busy : [.busy, .playing] }
        /// Those that play together with it, when it is in a group.
        var ensemble: SpeakerEnsemble?
        /// What is done for it on a thread of its own: bringing it back, or ending a session.
        var errand: SpeakerErrand?
        /// Why the last session was lost; nil when it ended as it should.
        var interruption: String?
        /// The first instant for which the speaker took a start.
        var firstHeard: HostInstant?
        var isHeard: Bool { firstHeard.map { $0 <= .now } ?? false }
        /// The last request to take something back.
        var recall: Recall?
        /// When what the speaker was told to leave out would have been heard, for requests that still wait there.
        var recalls: [HostInstant] = []
        /// What the speaker calls its make.
        var model: String?
        /// It is given up: sound is taken and forgotten, so that the film gets to its end.
        var failure: OutputError?
    }

    /// - Parameters:
    ///   - clocks: this process's PTP instances; speakers that play together are made with the same.
    ///   - encoding: for buffered sound that cannot go through untouched.
    public init(
        name: String, configuration: AirPlaySession.Configuration, clocks: PTPDirectory, route: Route = .buffered,
        encoding: Encoding = .lossless
    ) {
        self.name = name
        var configuration = configuration
        configuration.route = route
        self.configuration = configuration
        self.clocks = clocks
        self.encoding = encoding
    }

    /// From the next session on it plays together with others.
    func join(_ ensemble: SpeakerEnsemble) { state.withLock { $0.ensemble = ensemble } }

    // MARK: What it costs

    public var latency: OutputLatency {
        var lead = StartLeads(isAsking: false).request
        var shares = [LatencyShare(name: "speaker", duration: .zero, source: .assumed)]
        if let session = state.withLock({ $0.session }) {
            let leads = session.startLeads
            lead = leads.request
            if let ready = session.clock.ready { lead += max(.zero, ready.advanced(by: leads.look) - .now) }
            let path = session.pathCorrection
            if path != .zero {
                // The way of our clock to the speaker, and what the speaker is told to add for it.
                shares.append(
                    LatencyShare(name: "network path", duration: path, uncertainty: path, source: .measured))
                shares.append(LatencyShare(name: "path correction", duration: .zero - path, source: .measured))
            }
        }
        return OutputLatency(startLead: lead, shares: shares)
    }

    public var wait: OutputWait? {
        let (session, failure) = state.withLock { ($0.session, $0.failure) }
        if failure != nil { return nil }
        guard let session else { return OutputWait(.opening, of: name) }
        let (readiness, ready) = session.clock
        let remaining = ready.map { max(.zero, $0.advanced(by: session.startLeads.look) - .now) }
        if readiness == .ready, remaining ?? .zero == .zero { return nil }
        return OutputWait(.clock, of: name, remaining: remaining)
    }

    /// Nothing can be started on a speaker that is not there or has not begun to measure the clock. Once it has been
    /// heard, the film goes on without it.
    public var isReadyToStart: Bool {
        let (session, isDecided) = state.withLock { ($0.session, $0.isHeard || $0.failure != nil) }
        return isDecided || session?.clock.ready != nil
    }

    public var earliestStart: HostInstant? {
        guard let session = state.withLock({ $0.isHeard ? nil : $0.session }) else { return nil }
        return session.clock.ready?.advanced(by: session.startLeads.look + SpeakerAttendance.lead)
    }

    /// Behind a realtime stream only what a busy moment of this computer may cost.
    private static let realtimeDepth: Duration = .seconds(3)

    public var desiredDepth: Duration {
        guard route == .buffered else { return Self.realtimeDepth }
        return state.withLock { state in
            guard let stream = state.stream, let size = state.setup?.bufferSize else { return .seconds(60) }
            // 40 kB/s is AAC at 320 kb/s; lossless sound seldom needs more than two thirds of its plain size.
            let rate =
                stream.coding == .aacLC ? 40_000 : stream.sampleRate * stream.channels * stream.bitsPerSample / 12
            return min(.seconds(240), .seconds(size / 100 * 95 / max(1, rate)))
        }
    }

    /// One receiver ends when it is started with less than half a second of sound.
    public var preroll: Duration { .milliseconds(600) }

    // MARK: Sound

    public func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        let choice = choice(for: format, mustDecode: mustDecode)
        return choice.isPassThrough ? .passThrough(format) : .encoded(choice.encodedFormat, from: choice.pcm)
    }

    /// A lossless stream that is open is kept, because another one costs a second or two of silence; into one of AAC goes
    /// only what would go there untouched but for a change on the way.
    private func choice(for format: AudioFormat, mustDecode: Bool) -> DeliveryChoice {
        let choice = DeliveryChoice(
            for: format, mustDecode: mustDecode, reencoding: encoding == .aac ? .aacLC : .appleLossless, route: route)
        guard let open = openStream, choice.stream != open else { return choice }
        let isKept = open.coding == .appleLossless || DeliveryChoice.untouched(format) == open
        return isKept ? DeliveryChoice(encodingInto: open) : choice
    }

    private var openStream: StreamFormat? {
        state.withLock { state in state.session.map { $0.isLost } == false ? state.stream : nil }
    }

    /// Into an open stream go its own packets untouched, and everything else encoded as that stream is.
    public func continuation(
        of delivery: AudioDelivery, with format: AudioFormat, mustDecode: Bool
    ) -> AudioDelivery? {
        guard let open = openStream else { return nil }
        if case .passThrough = delivery, !mustDecode, DeliveryChoice.untouched(format) == open {
            return .passThrough(format)
        }
        let choice = DeliveryChoice(encodingInto: open)
        return .encoded(choice.encodedFormat, from: choice.pcm)
    }

    public func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        let choice: DeliveryChoice
        switch delivery {
        case .passThrough(let format): choice = self.choice(for: format, mustDecode: false)
        case .encoded(let format, _):
            choice = DeliveryChoice(
                for: format, mustDecode: true,
                reencoding: format.parameters.codec == "aac" ? .aacLC : .appleLossless, route: route)
        case .pcm, .sampleBuffers: throw OutputError(.unsupportedFormat, "\(name) takes encoded sound only.")
        }
        let kept = state.withLock { state -> Bool in
            guard let session = state.session, !session.isLost, state.stream == choice.stream else { return false }
            state.context = context
            state.isPassThrough = choice.isPassThrough
            state.isJoining = state.line?.isEmpty == false
            return true
        }
        // What the speaker holds stays: the renderer flushes where that is meant.
        if kept { return }
        close()
        try open(choice, context)
    }

    private func open(_ choice: DeliveryChoice, _ context: AudioOutputContext) throws(OutputError) {
        let first = RTPTimestamp(rawValue: .random(in: 0 ... .max))
        do {
            let (session, setup) = try join(choice.stream, store: nil, room: context.room, title: first)
            state.withLock { state in
                state.stream = choice.stream
                state.store = session.store
                state.context = context
                state.isPassThrough = choice.isPassThrough
                state.line = SoundLine(sampleRate: choice.stream.sampleRate, first: first)
                adopt(session, setup, &state)
            }
        } catch {
            throw outputError(error)
        }
    }

    /// A new session with a stream. On failure nothing is left behind.
    func join(
        _ stream: StreamFormat, store: PacketStore?, room: Signal, title: RTPTimestamp, yielding: Bool = false
    ) throws(AirPlayError) -> (AirPlaySession, StreamSetup) {
        var configuration = configuration
        if let ensemble = state.withLock({ $0.ensemble }) { configuration.ensemble = ensemble }
        let session = AirPlaySession(configuration, clocks: clocks)
        do throws(AirPlayError) {
            let info = try session.connect(yieldingTo: yielding ? state.withLock { $0.busyFlags } : [])
            if !yielding { state.withLock { $0.idleFlags = info.statusFlags ?? [] } }
            loudness.note(info)
            state.withLock { $0.model = info.model }
            let setup: StreamSetup
            if let store {
                setup = try session.startStream(stream, store: store, room: { room.raise() })
            } else {
                setup = try session.startStream(stream, room: { room.raise() })
            }
            // Some speakers are silent until they have seen a title, and some forget a volume set any earlier.
            try? session.setTitle(name, at: title)
            if let volume = state.withLock({ $0.volume }) { try? session.setVolume(decibels: volume) }
            return (session, setup)
        } catch {
            session.end()
            throw error
        }
    }

    /// Makes a session the one in use: its control thread follows the timebase, its end is noticed.
    func adopt(_ session: AirPlaySession, _ setup: StreamSetup, _ state: inout State) {
        state.session = session
        state.setup = setup
        state.told = nil
        state.adopted = .now
        state.epoch += 1
        let attendance = SpeakerAttendance(speaker: self)
        session.control.post { core in
            core.attend = attendance.attend
            core.requestAttention()
        }
        let news = session.news
        let use = state.use
        state.news = Task { [weak self] in
            for await item in news {
                if case .lost(let error) = item { self?.rejoin(after: session, because: error, use: use) }
            }
        }
    }

    public func accept(_ batch: PacketBatch, from offset: Int) -> Int {
        var (taken, reachesPreroll) = (0, false)
        state.withLock { state in
            if state.failure != nil {
                taken = batch.packets.count - offset
                let last = batch.packets.last
                state.acceptedUntil = last.flatMap { $0.presentationTime.map { $0 + last!.duration } }
                return
            }
            guard let store = state.store, var line = state.line, let stream = state.stream else { return }
            let needed = Int64(stream.sampleRate) / 2
            let before = line.frames
            for packet in batch.packets.dropFirst(offset) {
                if state.isJoining {
                    if Self.overlaps(packet, line) {
                        taken += 1
                        continue
                    }
                    state.isJoining = false
                }
                let earlier = line
                if line.isEmpty, !Self.appendPreroll(stream, line, store) { break }
                let timestamp = line.place(
                    packet.presentationTime, frames: stream.framesPerPacket,
                    isContiguous: !state.isPassThrough && state.speed != 1)
                // Larger than any packet of sound: the stream could not carry it, and leaving it out harms nobody.
                let isStored =
                    packet.count > BufferedPacketizer.payloadLimit
                    || batch.withBytes(of: packet) { store.append($0, timestamp: timestamp) }
                guard isStored else {
                    line = earlier
                    break
                }
                taken += 1
                let start = packet.presentationTime ?? state.acceptedUntil ?? .zero
                state.acceptedUntil = start + packet.duration
            }
            reachesPreroll = before < needed && line.frames >= needed
            // What was heard a second ago is wanted by nobody; everything else is, should the speaker forget it.
            if let context = state.context {
                let segment = context.timebase.snapshot.segment(at: .now)
                let heard = segment.mediaTime(at: .now).advanced(by: .seconds(-1))
                let speed = segment.speed > 0 ? segment.speed : 1
                state.store?.setFloor(line.timestamp(of: heard, rate: speed))
            }
            state.line = line
            state.isFinished = false
            if taken > 0 { state.session?.wakeWriter() }
        }
        if reachesPreroll { requestAttention() }
        return taken
    }

    /// Whether a packet begins before the one before it has ended, by more than containers round.
    private static func overlaps(_ packet: PacketBatch.Packet, _ line: SoundLine) -> Bool {
        guard let time = packet.presentationTime, let end = line.end else { return false }
        return (end - time).duration > .milliseconds(3)
    }

    public func setSpeed(_ speed: Double) { state.withLock { $0.speed = speed } }

    /// Receivers mute the first AAC packet of a line, so that an unwanted one goes ahead; false when there is no room.
    private static func appendPreroll(_ stream: StreamFormat, _ line: SoundLine, _ store: PacketStore) -> Bool {
        guard stream.coding == .aacLC else { return true }
        let timestamp = line.preceding(frames: stream.framesPerPacket)
        return SilentUnit.stereo.withUnsafeBytes { store.append($0, timestamp: timestamp) }
    }

    public func finish() {
        state.withLock { $0.isFinished = true }
        requestAttention()
    }

    public var acceptedUntil: MediaTime? { state.withLock { $0.acceptedUntil } }

    public func flush() {
        let pending = state.withLock { state -> (AirPlaySession, PacketStore.Position)? in
            state.acceptedUntil = nil
            state.isFinished = false
            guard let store = state.store, state.line?.origin != nil else { return nil }
            state.line?.jump()
            state.told = nil
            state.epoch += 1
            state.recalls.removeAll()
            guard let next = state.line?.next else { return nil }
            state.session?.haltStream()
            // Now, not on the control thread: what is accepted after this call must not be dropped with the rest.
            let position = store.removeAll(next: next)
            return state.session.map { ($0, position) }
        }
        guard let (session, position) = pending else { return }
        session.control.post { core in try? core.flush(until: position) }
    }

    // MARK: Control

    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) { requestAttention() }

    private func requestAttention() {
        state.withLock { $0.session }?.control.post { $0.requestAttention() }
    }

    /// Bounded to what speakers have: −30…0 dB, and silence. Without a call the speaker has the volume its owner chose.
    public func setGain(_ gain: Float) {
        let decibels = gain > 0 ? max(-30, min(0, 20 * log10(Double(gain)))) : -144
        setVolume(decibels)
    }

    public func restoreGain() {
        guard state.withLock({ $0.volume != nil }) else { return }
        setVolume(loudness.owner ?? SpeakerLoudness.modest)
    }

    /// While the speaker has not said how loud it is, a modest volume.
    public var ownVolume: Double? { VolumeCurve.volume(decibels: loudness.owner ?? SpeakerLoudness.modest) }

    private func setVolume(_ decibels: Double) {
        let session = state.withLock { state in
            state.volume = decibels
            return state.session
        }
        session?.control.post { core in try? core.setVolume(decibels: decibels) }
    }

    public func close() {
        let (session, news, errand) = state.withLock { state in
            defer {
                state = State(
                    speed: state.speed, epoch: state.epoch + 1, use: state.use + 1, volume: state.volume,
                    ensemble: state.ensemble)
            }
            return (state.session, state.news, state.errand)
        }
        news?.cancel()
        session?.end()
        errand?.stop()
    }
}
