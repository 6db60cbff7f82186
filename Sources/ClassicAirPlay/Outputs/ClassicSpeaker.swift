package import AirPlayTransport
internal import AirPlayWire
package import MediaCore
package import PTP
package import SyncRendering

/// A receiver of classic AirPlay (RAOP) as an output: a realtime stream of Apple Lossless at 44.1 kHz.
///
/// Media time M is heard at host instant H because each sync packet names the instant of one frame on the clock that
/// this computer serves by NTP. Receivers subtract their own delay. Requests run on the session's control thread.
package final class ClassicSpeaker: PacketOutput, StartReportingOutput, RecoveringOutput, OwnerVolumeOutput,
    NowPlayingOutput, OwnClockOutput
{
    static let format = StreamFormat.lossless44100
    /// Eight seconds of lossless audio.
    private static let capacity = (bytes: 3 << 19, packets: 1 << 10)

    /// The display name.
    package let name: String
    package let kind = AudioRouteKind.realtimeSpeaker
    let configuration: ClassicSession.Configuration
    let served: ServedTimeline
    /// What the receiver displays.
    private let features: FeatureBits
    let state = Lock(State())
    let volume = Lock(SpeakerVolume())
    /// The current item; nil: none.
    private let shown = Lock<NowPlaying?>(nil)

    /// The mutable state, guarded by the lock `state`.
    struct State {
        /// The current session; nil while closed, lost or failed.
        var session: ClassicSession?
        /// The renderer's context since `prepare`.
        var context: AudioOutputContext?
        /// The packets of the stream; nil before `prepare`.
        var input: StreamInput?
        /// Media seconds per second of audio.
        var speed = 1.0
        var anchors = SpeakerAnchors()
        /// The last known address; nil before the first session.
        var address: SpeakerAddress?
        var evictions = EvictionCounter()
        var flush: (result: PartialFlushResult?, truncated: PacketBatch?) = (nil, nil)
        /// Incremented by `close`: a rejoin for an older use ends.
        var use: UInt64 = 0
        /// Reads the events of the session.
        var eventTask: Task<Void, Never>?
        /// A rejoin, or the end of a session, on its own thread.
        var backgroundTask: BackgroundTask?
        /// Why the last session was lost; nil if none was.
        var interruption: String?
        /// The permanent failure: audio is accepted and discarded, so that playback reaches the end.
        var failure: OutputError?

        /// Returns the state after `close`. Speed and address are kept for the next use.
        var closed: State {
            State(speed: speed, anchors: SpeakerAnchors(epoch: anchors.epoch + 1), address: address, use: use + 1)
        }
    }

    /// This computer's clock, on which the timebase runs.
    var host: any HostClock { served.clock }

    /// Creates a speaker without connecting.
    ///
    /// - Parameters:
    ///   - served: The time for receivers, shared by speakers that play in sync.
    ///   - metadata: `ClassicTraits.metadata`.
    init(name: String, configuration: ClassicSession.Configuration, serving served: ServedTimeline, metadata: Set<Int>)
    {
        (self.name, self.configuration, self.served) = (name, configuration, served)
        var features: FeatureBits = []
        if metadata.contains(1) { features.insert(.artwork) }
        if metadata.contains(2) { features.insert(.progress) }
        self.features = features
    }

    /// Creates a speaker at an address, without encryption, for tests.
    package convenience init(
        name: String, address: SpeakerAddress, identity: SenderIdentity, serving served: ServedTimeline,
        password: String? = nil
    ) {
        var configuration = ClassicSession.Configuration(
            address: address, identity: identity, method: ClassicMethod())
        configuration.password = password
        self.init(name: name, configuration: configuration, serving: served, metadata: [0, 1, 2])
    }

    // MARK: Display and volume

    /// Sets the item that the receiver displays, also for later sessions. Any thread; returns at once.
    package func setNowPlaying(_ nowPlaying: NowPlaying?) {
        let isNew = shown.withLock { shown in
            defer { shown = nowPlaying }
            return shown != nowPlaying
        }
        if isNew { requestAttention() }
    }

    /// The item to display; never without a title.
    var nowPlaying: NowPlaying {
        var item = shown.withLock { $0 } ?? NowPlaying(title: "")
        if item.title.isEmpty { item.title = "Talkie" }
        return item
    }

    /// Returns the display of a new session, whose text was sent.
    func updates(shown item: NowPlaying, at moment: RTPTimestamp) -> NowPlayingUpdates {
        NowPlayingUpdates(shown: item, at: moment, features: features)
    }

    /// Sets the gain, limited to −30…0 dB or mute. Until the first call the receiver keeps its owner's volume. Any
    /// thread.
    package func setGain(_ gain: Float) {
        volume.withLock { $0.request(gain: gain) }
        sendVolume()
    }

    /// Restores the owner's volume, if it was changed here. Classic receivers do not report it: an audible one. Any
    /// thread.
    package func restoreGain() {
        volume.withLock { $0.restore() }
        sendVolume()
    }

    /// An audible volume: classic receivers do not report the owner's. Nil before the first session. Any thread.
    package var ownVolume: Double? { volume.withLock { $0.own } }

    /// True after the start of the first session.
    package var isOwnVolumeKnown: Bool { volume.withLock { $0.isOwnKnown } }

    /// The refusal of the last requested volume or mute; nil if it was accepted. Any thread.
    package var gainFailure: OutputError? { volume.withLock { $0.refusal } }

    private func sendVolume() { if let session = state.withLock({ $0.session }) { sendVolume(in: session) } }

    /// Sends the requested volume on the control thread of a session.
    func sendVolume(in session: ClassicSession) {
        guard volume.withLock({ $0.queue() }) else { return }
        // One that has ended runs nothing; the next session begins with the volume.
        session.control.post { [weak self] core in
            guard let self else { return }
            _ = volume.sendRequested(to: name) { (decibels) throws(AirPlayError) in
                try core.setVolume(decibels: decibels)
            }
        }
    }

    // MARK: Delivery

    /// Returns re-encoding to Apple Lossless, whatever the format. Any thread.
    package func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        .encoded(Self.encodedFormat, from: PCMFormat(sampleRate: Self.format.sampleRate, layout: .stereo))
    }

    /// The format requested from an encoder. Its configuration is that of an MP4 file: length, name, version and flags.
    private static let encodedFormat = AudioFormat(
        parameters: CodecParameters(
            codec: "alac",
            configuration: [0, 0, 0, 36] + Array("alac".utf8) + [0, 0, 0, 0] + LosslessEscape.configuration(),
            bitRate: 0, bitsPerRawSample: Int32(format.bitsPerSample), framesPerPacket: Int32(format.framesPerPacket)),
        sampleRate: format.sampleRate, layout: .stereo)

    /// Opens a session, unless one is open. Blocks until the receiver has responded. Called by the feeder.
    ///
    /// - Throws: `OutputError`; no session is held then.
    package func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        guard case .encoded = delivery else {
            throw OutputError(.unsupportedFormat, "\(name) accepts encoded audio only.")
        }
        let isKept = state.withLock { state -> Bool in
            guard let session = state.session, !session.isLost, state.input != nil else { return false }
            state.context = context
            state.input?.join(isPassThrough: false)
            return true
        }
        // The receiver's buffer is kept: the renderer flushes explicitly.
        if isKept { return }
        close()
        let store = PacketStore(bytes: Self.capacity.bytes, packets: Self.capacity.packets)
        let first = StreamCounters.random().timestamp
        do throws(AirPlayError) {
            let joined = try join(store, context, shownAt: first)
            state.withLock { state in
                state.input = StreamInput(
                    format: Self.format, store: store, first: first, isPassThrough: false, speed: state.speed)
                state.context = context
                adopt(joined, &state)
            }
        } catch {
            throw outputError(error)
        }
    }

    /// Queues packets from index `offset` on. Returns the number accepted. Never blocks. Called by the feeder.
    ///
    /// After `failure` all packets are accepted and discarded.
    package func accept(_ batch: PacketBatch, from offset: Int) -> Int {
        let (taken, reachesPreroll) = state.withLock { state -> (Int, Bool) in
            if state.failure != nil { return (state.input?.discard(batch, from: offset) ?? 0, false) }
            // Packets are kept until one second after they were audible: a new session may need them.
            let position = state.context.map { $0.timebase.snapshot.mediaTime(at: host.now).advanced(by: .seconds(-1)) }
            guard let accepted = state.input?.accept(batch, from: offset, position: position) else { return (0, false) }
            if accepted.taken > 0 { state.session?.wakeWriter() }
            return accepted
        }
        if reachesPreroll { requestAttention() }
        return taken
    }

    /// Sets the speed of later packets, in media seconds per second of audio. Called by the feeder.
    package func setSpeed(_ speed: Double) {
        state.withLock { state in
            state.speed = speed
            state.input?.speed = speed
        }
    }

    /// Marks the end of the input: playback may then start with less than the preroll.
    package func finish() {
        state.withLock { $0.input?.finish() }
        requestAttention()
    }

    /// Media time of the end of the accepted packets; nil after a flush.
    package var acceptedUntil: MediaTime? { state.withLock { $0.input?.acceptedUntil } }

    /// Discards all packets that are not audible yet. Returns at once; the request is sent on the control thread.
    package func flush() {
        let session = state.withLock { state -> ClassicSession? in
            if state.input?.isEmpty == false { state.session?.haltStream() }
            // Done here, not on the control thread: packets accepted after this call must not be dropped.
            guard state.input?.flush() != nil else { return nil }
            state.anchors.reset()
            return state.session
        }
        // ignored: a request fails with its session, whose loss is reported by its events.
        session?.control.post { core in try? core.stop() }
    }

    // MARK: State

    /// The failure, or the loss of the session while it is being re-established. Any thread.
    package var loss: OutputError? {
        state.withLock { state in
            if let failure = state.failure { return failure }
            guard state.session == nil, state.input != nil, let why = state.interruption else { return nil }
            return OutputError(.lost, why)
        }
    }

    /// The permanent failure; nil while the receiver is usable or rejoining. Any thread.
    package var failure: OutputError? { state.withLock { $0.failure } }

    /// Whether the receiver shows no sign of life; it may still play its buffered audio. Any thread.
    package var isUnresponsive: Bool { state.withLock { $0.session }?.shared.isUnresponsive ?? false }

    /// Whether the current session is audible, or the receiver has failed. Any thread.
    package var isAudible: Bool {
        let now = host.now
        return state.withLock { $0.anchors.isAudible(at: now) ?? ($0.failure != nil) }
    }

    /// The timeline of the receiver in host time; nil unless an external clock leads the timebase. Any thread.
    package var remoteTimeline: TimebaseSegment? {
        let (sent, context) = state.withLock { ($0.anchors.sent, $0.context) }
        let timeline = served.timeline
        guard let sent, timeline.isSteered || context?.timebase.isLed ?? false else { return nil }
        return sent.segment(on: timeline, at: host.now)
    }

    /// Adjusts the rate of the clock that this computer serves to its classic receivers. Any thread.
    package func adjustRemoteRate(by offset: Double) -> Bool { served.adjust(by: offset) }

    // MARK: Starts

    /// From clock readiness to the start command; the receiver applies sync packets meanwhile.
    static let settling: Duration = .milliseconds(150)
    /// From the start command to the first frame: the depth of the receiver, a pause and a flush before.
    static let startLead = ClassicLatency.depth + .milliseconds(250)
    /// Minimum lead of a start whose own anchor has passed.
    static let lateLead = ClassicLatency.depth + .milliseconds(50)

    /// When the receiver's clock has settled; nil while unknown.
    private var settled: HostInstant? {
        state.withLock { $0.session }?.shared.clock.ready?.advanced(by: Self.settling)
    }

    /// The start lead and the delay as the protocol states it. Any thread.
    package var latency: OutputLatency {
        let stated = state.withLock { $0.session }?.shared.latency.withLock { $0 } ?? ClassicLatency()
        let wait = settled.map { max(.zero, $0 - host.now) } ?? .zero
        return OutputLatency(startLead: Self.startLead + wait, shares: stated.shares)
    }

    /// The reason why a start must wait: no session yet, or an unsynchronized clock. Any thread.
    package var wait: OutputWait? {
        let (session, failure) = state.withLock { ($0.session, $0.failure) }
        if failure != nil { return nil }
        guard let session else { return OutputWait(.opening, of: name) }
        let remaining = settled.map { max(.zero, $0 - host.now) }
        if session.shared.clock.readiness == .ready, remaining ?? .zero == .zero { return nil }
        return OutputWait(.clock, of: name, remaining: remaining)
    }

    /// Whether a start is possible: the receiver has requested the time, has failed, or was audible before. Any thread.
    package var isReadyToStart: Bool {
        let now = host.now
        let (session, isDecided) = state.withLock {
            ($0.session, $0.anchors.hasBeenAudible(at: now) || $0.failure != nil)
        }
        return isDecided || session?.shared.clock.ready != nil
    }

    /// The earliest possible start; nil once audible or while unknown. Any thread.
    package var earliestStart: HostInstant? {
        let now = host.now
        if state.withLock({ $0.anchors.hasBeenAudible(at: now) }) { return nil }
        return settled?.advanced(by: Self.lateLead)
    }

    /// The depth of the receiver, and three seconds to bridge stalls of this computer.
    package var desiredDepth: Duration { ClassicLatency.depth + .seconds(3) }

    /// Required audio before a start, as for AirPlay 2.
    package var preroll: Duration { .milliseconds(600) }

    /// Schedules an update of the receiver on its control thread. Returns at once.
    package func timebaseDidChange(_ snapshot: TimebaseSnapshot) { requestAttention() }

    func requestAttention() { state.withLock { $0.session }?.control.post { $0.requestAttention() } }

    /// Ends the session and stops background work. May block for a few seconds. Volume, speed and address are kept for
    /// the next use.
    package func close() {
        let (session, eventTask, backgroundTask) = state.withLock { state in
            defer { state = state.closed }
            return (state.session, state.eventTask, state.backgroundTask)
        }
        volume.withLock { $0.endUse() }
        eventTask?.cancel()
        session?.end()
        backgroundTask?.stop()
    }

    /// Converts a session's error to one that names the speaker.
    func outputError(_ error: AirPlayError) -> OutputError {
        OutputError(error, of: name).saying(configuration.phrases.inErrors)
    }
}

// MARK: Partial flush

extension ClassicSpeaker: PartialFlushing {
    /// How far the sending thread can be ahead of the depth.
    private static let slack: Duration = .milliseconds(20)

    /// The depth of the receiver: what was sent cannot be taken back without a gap.
    package var partialFlushLead: Duration { ClassicLatency.depth + Self.slack }

    /// Starts the flush on the control thread. Returns at once. Called by the feeder.
    package func beginPartialFlush(from time: MediaTime) {
        let (session, epoch) = state.withLock { state in
            state.flush = (nil, nil)
            return (state.session, state.anchors.epoch)
        }
        let isPosted = session?.control.post { [weak self] core in self?.cut(from: time, epoch, core) }
        // Without a session it is done here: a receiver that rejoins receives only the remaining packets.
        if isPosted != true { cut(from: time, epoch, nil) }
    }

    /// The result of the last flush; nil while it is undecided.
    package var partialFlushResult: PartialFlushResult? { state.withLock { $0.flush.result } }

    /// After `flushed`: the packet that spans the requested time; nil if none does.
    package var truncatedPacket: PacketBatch? { state.withLock { $0.flush.truncated } }

    /// Cuts the stream: in its unsent part while it plays, anywhere otherwise.
    private func cut(from time: MediaTime, _ epoch: UInt64, _ core: ClassicSessionCore?) {
        let (input, context) = state.withLock { ($0.input, $0.context) }
        let timestamp = input?.timestamps.bound(of: time, rate: 1)
        var (dropped, isRefused): (PacketStore.DroppedPacket?, Bool) = (nil, false)
        if let input, let timestamp {
            let (store, frames) = (input.store, Self.format.framesPerPacket)
            if let core, core.isPlaying {
                dropped = store.dropUnsent(from: timestamp, frames: frames)
                isRefused = dropped == nil
            } else {
                store.setHeld(true)
                let cut = store.cut(at: timestamp, frames: frames)
                dropped = store.drop(cut)
                store.setHeld(false)
                if case .sent = cut, let core, let context,
                    let position = input.timestamps.bound(of: context.timebase.currentTime, rate: 1)
                {
                    // The receiver holds packets without playing: it discards all and receives the remaining ones.
                    // ignored: the next session starts from the store.
                    _ = try? core.rewind(to: position, gap: input.timestamps.rewindGap)
                }
            }
        }
        let writable = state.withLock { state -> Signal? in
            if isRefused {
                state.flush = (.refused(leadNeeded: partialFlushLead), nil)
            } else {
                // After a seek the epoch differs, and nothing is continued.
                if let dropped, state.anchors.epoch == epoch { state.input?.cut(at: dropped.timestamp) }
                let batch = input.flatMap { dropped?.batch(in: $0) }
                let end = input == nil ? time : state.input?.acceptedUntil ?? batch?.packets.first?.presentationTime
                state.flush = (.flushed(from: end ?? .zero), batch)
            }
            return state.context?.writable
        }
        if !isRefused { state.withLock { $0.session }?.wakeWriter() }
        writable?.raise()
    }
}
