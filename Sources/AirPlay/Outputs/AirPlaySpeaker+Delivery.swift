internal import AirPlayWire
public import MediaCore
public import SyncRendering

/// How sound is handed over, and the session that takes it.
extension AirPlaySpeaker {
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

    /// Where to look for the speaker, first to last: where it was found last unless it is announced elsewhere.
    var places: [SpeakerAddress] {
        let known = state.withLock { $0.place } ?? configuration.address
        let announced = sighting?.addresses ?? []
        return announced.contains(known) ? [known] + announced.filter { $0 != known } : announced + [known]
    }

    var sighting: SpeakerSighting? { configuration.id.flatMap { configuration.network?.sighting(of: $0) } }

    /// A new session with a stream. On failure nothing is left behind.
    ///
    /// - Parameter place: nil is the first of `places`.
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
            // The task that hears the session's news would keep this thread waiting.
            do throws(ExhaustionError) { try WorkerThread.checkForTask() } catch { throw AirPlayError(error) }
            let info = try session.connect(yieldingTo: yielding ? state.withLock { $0.busyFlags } : [])
            // Before we played there; a session that takes the place of an older one of ours finds our own flags.
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
            // Some speakers are silent until they have seen a title, and some forget a volume set any earlier.
            let title = title
            // ignored: a title that is refused changes nothing that is heard, and a lost session is told by its news.
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

    /// Makes a session the one in use: its control thread follows the timebase, its end is noticed.
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
        // What was said about the film while the session was being made.
        let title = title
        if state.sentTitle != title, let store = state.store, let next = state.line?.next {
            let moment = store.onWire(next)
            // ignored: as in `setTitle`.
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
