package import AirPlayTransport
internal import AirPlayWire
package import MediaCore
package import PTP
package import SyncRendering

/// A receiver of classic AirPlay (RAOP) as an output: a realtime stream of Apple Lossless at 44.1 kHz.
///
/// Media time M is heard at host instant H because each sync packet names the instant of one frame on the clock that
/// this computer serves by NTP. Receivers subtract their own delay. Requests run on the session's control thread.
package final class ClassicSpeaker: SpeakerOutput, OwnClockOutput {
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
    package let state = Lock(SpeakerState<ClassicSession, Details>(Details()))
    package let volume = Lock(SpeakerVolume())
    package let shown = Lock<NowPlaying?>(nil)

    /// What only classic AirPlay has of the state.
    package struct Details: Sendable {
        /// The last known address; nil before the first session.
        var address: SpeakerAddress?
        var flush: (result: PartialFlushResult?, truncated: PacketBatch?) = (nil, nil)
        /// Whether it has accepted a start in any session.
        var hasPlayed = false
    }

    package var phrases: RemedyPhrases { configuration.phrases }
    package var host: any HostClock { served.clock }

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

    /// Returns the display of a new session, whose text was sent.
    func updates(shown item: NowPlaying, at timestamp: RTPTimestamp) -> NowPlayingUpdates {
        NowPlayingUpdates(shown: item, at: timestamp, features: features)
    }

    // MARK: Delivery

    /// Returns re-encoding to Apple Lossless, whatever the format. Any thread.
    package func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        .encoded(Self.encodedFormat, from: PCMFormat(sampleRate: Self.format.sampleRate, layout: .stereo))
    }

    /// Why the audio has 16 bits although 24 are requested; nil if they are not. Any thread.
    package var formatReduction: OutputError? {
        guard configuration.wants24Bits, state.withLock({ $0.session }) != nil else { return nil }
        return OutputError(
            .unsupportedFormat, "\(name) offers no 24-bit stream (classic AirPlay); it gets 16 bits at 44.1 kHz")
    }

    /// The format requested from an encoder. Its configuration is that of an MP4 file: length, name, version and flags.
    private static let encodedFormat = AudioFormat(
        parameters: CodecParameters(
            codec: "alac",
            configuration: [0, 0, 0, 36] + Array("alac".utf8) + [0, 0, 0, 0] + LosslessEscape.configuration(),
            bitRate: 0, bitsPerRawSample: Int32(format.bitsPerSample), framesPerPacket: Int32(format.framesPerPacket)),
        sampleRate: format.sampleRate, layout: .stereo)

    /// Opens a session, unless one is open. Blocks until the receiver has responded. Called by the opening thread.
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
            let joined = try begin(store, shownAt: first)
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

    /// The earliest possible start; nil once audible or while unknown. Any thread.
    package var earliestStart: HostInstant? {
        let now = host.now
        if state.withLock({ $0.anchors.hasBeenAudible(at: now) }) { return nil }
        return settled?.advanced(by: Self.lateLead)
    }

    /// The depth of the receiver, and three seconds to bridge stalls of this computer.
    package var desiredDepth: Duration { ClassicLatency.depth + .seconds(3) }

    /// Ends the session and stops background work. May block for a few seconds. Volume, speed and address are kept for
    /// the next use.
    package func close() { endUse { $0.flush = (nil, nil) } }
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
            state.details.flush = (nil, nil)
            return (state.session, state.anchors.epoch)
        }
        let isPosted = session?.control.post { [weak self] core in self?.cut(from: time, epoch, core) }
        // Without a session it is done here: a receiver that rejoins receives only the remaining packets.
        if isPosted != true { cut(from: time, epoch, nil) }
    }

    /// The result of the last flush; nil while it is undecided.
    package var partialFlushResult: PartialFlushResult? { state.withLock { $0.details.flush.result } }

    /// After `flushed`: the packet that spans the requested time; nil if none does.
    package var truncatedPacket: PacketBatch? { state.withLock { $0.details.flush.truncated } }

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
                state.details.flush = (.refused(leadNeeded: partialFlushLead), nil)
            } else {
                // After a seek the epoch differs, and nothing is continued.
                if let dropped, state.anchors.epoch == epoch { state.input?.cut(at: dropped.timestamp) }
                let batch = input.flatMap { dropped?.batch(in: $0) }
                let end = input == nil ? time : state.input?.acceptedUntil ?? batch?.packets.first?.presentationTime
                state.details.flush = (.flushed(from: end ?? .zero), batch)
            }
            return state.context?.writable
        }
        if !isRefused { state.withLock { $0.session }?.wakeWriter() }
        writable?.raise()
    }
}
