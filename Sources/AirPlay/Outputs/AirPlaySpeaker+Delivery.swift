internal import AirPlayWire
public import MediaCore
public import SyncRendering

/// The delivery of audio, and the session that receives it.
extension AirPlaySpeaker {
    /// Returns pass-through for AAC that the speaker decodes, otherwise re-encoding. Any thread.
    public func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        let choice = choice(for: format, mustDecode: mustDecode)
        return choice.isPassThrough ? .passThrough(format) : .encoded(choice.encodedFormat, from: choice.pcm)
    }

    /// Returns the delivery of a format.
    ///
    /// An open lossless stream is kept, since a new one costs one or two seconds of silence. An open AAC stream is kept
    /// only for audio that would be passed through into it but must be decoded.
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

    /// Returns the delivery into the open stream: its own packets pass through, everything else is re-encoded. Nil
    /// without an open stream.
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

    /// Opens a session and a stream, unless the open stream fits. Blocks until the speaker has responded. Called by the
    /// feeder.
    ///
    /// - Throws: `OutputError`; no session is held then.
    public func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        let choice: DeliveryChoice
        switch delivery {
        case .passThrough(let format): choice = self.choice(for: format, mustDecode: false)
        case .encoded(let format, _):
            choice = DeliveryChoice(
                for: format, mustDecode: true,
                reencoding: format.parameters.codec == "aac" ? .aacLC : .appleLossless, route: route)
        case .pcm, .sampleBuffers: throw OutputError(.unsupportedFormat, "\(name) accepts encoded audio only.")
        }
        let kept = state.withLock { state -> Bool in
            guard let session = state.session, !session.isLost, state.stream == choice.stream else { return false }
            state.context = context
            state.isPassThrough = choice.isPassThrough
            state.isJoining = state.line?.isEmpty == false
            return true
        }
        // The speaker's buffer is kept: the renderer flushes explicitly.
        if kept { return }
        close()
        try open(choice, context)
    }

    private func open(_ choice: DeliveryChoice, _ context: AudioOutputContext) throws(OutputError) {
        let first = (configuration.firstCounters ?? .random()).timestamp
        do {
            let (session, setup) = try join(choice.stream, store: nil, context, titleAt: first)
            state.withLock { state in
                state.stream = choice.stream
                state.store = session.store
                state.context = context
                state.isPassThrough = choice.isPassThrough
                state.line = RTPTimestampMapper(sampleRate: choice.stream.sampleRate, first: first)
                adopt(session, setup, &state)
            }
        } catch {
            throw outputError(error)
        }
    }

    /// Addresses to try, in order: the last known one, unless the speaker is announced elsewhere.
    var places: [SpeakerAddress] {
        let known = state.withLock { $0.place } ?? configuration.address
        let announced = sighting?.addresses ?? []
        return announced.contains(known) ? [known] + announced.filter { $0 != known } : announced + [known]
    }

    var sighting: SpeakerSighting? { configuration.id.flatMap { configuration.network?.sighting(of: $0) } }

    /// Returns a new session with a stream. On failure it is ended.
    ///
    /// - Parameter place: The address; nil: the first of `places`.
    func join(
        _ stream: StreamFormat, store: PacketStore?, _ context: AudioOutputContext, titleAt moment: RTPTimestamp,
        at place: SpeakerAddress? = nil, connectPatience: Duration? = nil, yielding: Bool = false
    ) throws(AirPlayError) -> (AirPlaySession, StreamSetup) {
        var configuration = configuration
        if let group = context.group { configuration.peers = group.shared { PTPPeerGroup() } }
        let place = place ?? places[0]
        configuration.address = place
        configuration.expected = state.withLock { $0.deviceID } ?? configuration.expected
        if let connectPatience { configuration.connectPatience = connectPatience }
        let room = context.room
        let session = AirPlaySession(configuration, clocks: clocks)
        do throws(AirPlayError) {
            // Without a thread for the task that reads the session's events, this thread would block.
            do throws(ExhaustionError) { try WorkerThread.checkForTask() } catch { throw AirPlayError(error) }
            let info = try session.connect(yieldingTo: yielding ? state.withLock { $0.busyFlags } : [])
            // Recorded before we play; a session that replaces one of ours would read our own flags.
            if store == nil { state.withLock { $0.idleFlags = info.statusFlags ?? [] } }
            loudness.note(info)
            state.withLock { state in
                state.model = info.model
                state.place = place
                state.deviceID = info.deviceID.flatMap { SpeakerID($0) }
            }
            let setup: StreamSetup
            if let store {
                setup = try session.startStream(stream, store: store, room: { room.raise() })
            } else {
                setup = try session.startStream(stream, room: { room.raise() })
            }
            // Some speakers are silent until they receive a title, and some forget a volume that precedes it.
            let title = title
            // ignored: a refused title is inaudible, and a lost session is reported by its events.
            try? session.setTitle(title, at: moment)
            state.withLock { $0.sentTitle = title }
            if let volume = state.withLock({ $0.volume }) {
                do throws(AirPlayError) {
                    try session.setVolume(decibels: volume)
                    noteVolume(nil, volume)
                } catch {
                    noteVolume(error, volume)
                }
            }
            return (session, setup)
        } catch {
            session.end()
            throw error
        }
    }

    /// Makes a session the current one: its control thread follows the timebase, and its failure is handled.
    func adopt(_ session: AirPlaySession, _ setup: StreamSetup, _ state: inout State) {
        state.session = session
        state.setup = setup
        state.told = nil
        state.audibleFrom = nil
        state.adopted = host.now
        state.epoch += 1
        let attendance = PlaybackSupervisor(speaker: self)
        session.control.post { core in
            core.attend = attendance.attend
            core.requestAttention()
        }
        // The title may have changed while the session was being set up.
        let title = title
        if state.sentTitle != title, let store = state.store, let next = state.line?.next {
            let moment = store.onWire(next)
            // ignored: see `setTitle`.
            session.control.post { core in try? core.setMetadata(title: title, at: moment) }
        }
        let news = session.news
        let use = state.use
        state.news = Task { [weak self] in
            for await item in news {
                if case .lost(let error) = item { self?.rejoin(after: session, because: error, use: use) }
            }
        }
    }
}
