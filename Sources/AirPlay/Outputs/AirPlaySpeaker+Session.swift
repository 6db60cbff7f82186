internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import SyncRendering

/// The session with the speaker: how it begins, is lost, comes back and fails.
extension AirPlaySpeaker {
    /// Delay after the speaker ended the session: by then a new sender shows in its flags.
    private static let courtesy: Duration = .seconds(1)
    /// Connection timeout of a rejoin; an available host on the same network accepts at once.
    private static let connectTimeout: Duration = .seconds(1)

    // MARK: Begin

    /// Opens a session and a stream.
    ///
    /// - Throws: After a refusal of the stream, with the next route chosen if there is one: the renderer asks for the
    ///   delivery again.
    func open(_ choice: DeliveryChoice, _ context: AudioOutputContext) throws(OutputError) {
        let first = (configuration.firstCounters ?? .random()).timestamp
        do throws(AirPlayError) {
            let joined = try join(choice.stream, store: nil, context, shownAt: first)
            let session = joined.session
            guard let store = session.store else {
                session.end()
                throw AirPlayError(.lost, "The speaker has ended the session.")
            }
            state.withLock { state in
                state.input = StreamInput(
                    format: choice.stream, store: store, first: first, isPassThrough: choice.isPassThrough,
                    speed: state.speed)
                state.context = context
                adopt(joined, &state)
            }
        } catch {
            let isSame = state.withLock { state in
                guard configuration.lessons.refusals.isStreamRefused, state.routes.count > 1 else { return false }
                state.routes.removeFirst()
                configuration.lessons.forget()
                // Both realtime routes carry the same packets.
                return state.routes[0] != .buffered && choice.stream == .lossless44100 && !choice.isPassThrough
            }
            if isSame { return try open(choice, context) }
            throw outputError(error)
        }
    }

    private var sighting: SpeakerSighting? { configuration.id.flatMap { configuration.network?.sighting(of: $0) } }

    /// Addresses to try, in order.
    private var addresses: [SpeakerAddress] {
        state.withLock { $0.reported }
            .addresses(configured: configuration.address, announced: sighting?.addresses ?? [])
    }

    /// A session with a stream, and what it has sent about the item.
    private struct JoinedSession {
        var session: AirPlaySession
        var setup: StreamSetup
        var updates: NowPlayingUpdates
        /// The volume that was sent.
        var decibels: Double?
    }

    /// Returns a new session with a stream. On failure it is ended.
    ///
    /// - Parameters:
    ///   - store: The packets of a lost session; nil: a new stream.
    ///   - address: Nil: the first of `addresses`.
    ///   - isYielding: Whether a busy speaker is left to the other sender.
    private func join(
        _ stream: StreamFormat, store: PacketStore?, _ context: AudioOutputContext, shownAt moment: RTPTimestamp,
        at address: SpeakerAddress? = nil, connectTimeout: Duration? = nil, isYielding: Bool = false
    ) throws(AirPlayError) -> JoinedSession {
        var configuration = configuration
        configuration.route = route
        if let group = context.group { configuration.peers = group.shared { PTPPeerGroup() } }
        let address = address ?? addresses[0]
        configuration.address = address
        let reported = state.withLock { $0.reported }
        configuration.expected = reported.deviceID ?? configuration.expected
        if let connectTimeout { configuration.connectTimeout = connectTimeout }
        let writable = context.writable
        let session = AirPlaySession(configuration, clocks: clocks)
        do throws(AirPlayError) {
            // Without a thread for the task that reads the session's events, this thread would block.
            do throws(ExhaustionError) { try WorkerThread.checkForTask() } catch { throw AirPlayError(error) }
            let info = try session.connect(yieldingTo: isYielding ? reported.busyFlags : [])
            state.withLock { $0.reported.learn(info, at: address, isFirst: store == nil) }
            volume.withLock { $0.noteReport(info.initialVolume) }
            if route == .buffered, stream.channels > 2, !stream.isOffered(by: info) {
                throw AirPlayError(.refused, "\(name) does not offer \(stream.channels) channels.")
            }
            let setup: StreamSetup
            if let store {
                setup = try session.startStream(stream, store: store, onWritable: { writable.raise() })
            } else {
                setup = try session.startStream(stream, onWritable: { writable.raise() })
            }
            // Some speakers are silent until they receive a title, and some forget a volume that precedes it.
            let item = nowPlaying
            // ignored: a refused title is inaudible, and a lost session is reported by its events.
            _ = try? session.show(.text(item, at: moment))
            let updates = NowPlayingUpdates(
                shown: item, at: moment, features: info.features ?? configuration.traits.features ?? [],
                readsAll: configuration.traits.updated(by: info).isShairportSync)
            let decibels = volume.sendRequested(to: name) { (decibels) throws(AirPlayError) in
                try session.setVolume(decibels: decibels)
            }
            return JoinedSession(session: session, setup: setup, updates: updates, decibels: decibels)
        } catch {
            session.end()
            throw error
        }
    }

    /// Makes a session the current one: its control thread follows the timebase, and its failure is handled.
    private func adopt(_ joined: JoinedSession, _ state: inout State) {
        let session = joined.session
        state.session = session
        // One that was requested while the session began found none.
        if volume.withLock({ $0.requested }) != joined.decibels { sendVolume(in: session) }
        state.setup = joined.setup
        state.anchors.beginSession()
        state.evictions.begin(at: host.now)
        let attendance = PlaybackSupervisor(speaker: self, updates: joined.updates)
        session.control.post { core in
            core.attend = attendance.performDueWork
            core.requestAttention()
        }
        let events = session.events
        let use = state.use
        state.eventTask = Task { [weak self] in
            for await item in events {
                switch item {
                case .command(let command): await self?.perform(command, of: session)
                case .lost(let error): self?.rejoin(after: session, because: error, use: use)
                }
            }
        }
    }

    // MARK: Commands

    /// Sends a command of the speaker to the player.
    ///
    /// A speaker that another sender takes over pauses as well, and then serves this session no more: a pause counts
    /// only if the speaker answers a request after it.
    private func perform(_ command: RemoteCommand, of session: AirPlaySession) async {
        // Each pause takes the time of a request: a loss that follows many must not wait for them.
        guard !session.isLost else { return }
        if command == .pause, await !session.isServedAfterPause() { return }
        let context = state.withLock { $0.session === session ? $0.context : nil }
        guard let context, !session.isLost else { return }
        context.send(OutputCommand(command))
    }

    // MARK: Loss

    /// Re-establishes a lost session on a background thread and resumes in sync.
    ///
    /// Packets not yet played are sent again. The thread ends on success, when another sender plays there, or at
    /// `close`.
    func rejoin(after session: AirPlaySession, because error: AirPlayError, use: UInt64) {
        let task = BackgroundTask()
        let lost = state.withLock { state -> (context: AudioOutputContext, isUnwelcome: Bool)? in
            guard state.use == use, state.session === session, let context = state.context else { return nil }
            // From now on the task ends the session; `close` stops the task.
            (state.session, state.backgroundTask) = (nil, task)
            state.anchors.revokeStart(at: host.now)
            state.interruption = error.saying(configuration.phrases.inErrors).message
            state.evictions.end(at: host.now)
            return (context, state.evictions.isUnwelcome)
        }
        guard let (context, isUnwelcome) = lost else { return }
        context.events.append(.outputLost(output: context.id))
        // A pending start must wait for the rejoin.
        context.writable.raise()
        do throws(ExhaustionError) {
            try task.start(name: "airplay rejoin") { backgroundTask in
                session.end()
                guard !isUnwelcome else {
                    return self.giveUp(
                        OutputError(.busy, "\(self.name) keeps ending the session; another sender may be using it."),
                        use: use)
                }
                if error.code == .ended, !backgroundTask.rest(until: .now.advanced(by: Self.courtesy)) { return }
                self.rejoin(context, use: use, after: session, isEvicted: error.code == .ended, backgroundTask)
            }
        } catch let exhausted {
            giveUp(OutputError(.lost, "\(name) was lost and cannot be reconnected: \(exhausted.message)."), use: use)
        }
    }

    private func rejoin(
        _ context: AudioOutputContext, use: UInt64, after lost: AirPlaySession, isEvicted: Bool,
        _ backgroundTask: BackgroundTask
    ) {
        var attempts = RejoinAttempts(
            isEvicted: isEvicted, from: lost.configuration.address, tellsGroup: lost.tellsGroup, at: .now)
        while true {
            let attempt = HostInstant.now
            guard let input = state.withLock({ $0.use == use ? $0.input : nil }) else { return }
            input.rewind(to: context.timebase.snapshot.mediaTime(at: host.now))
            let announcesOurs = sighting?.group == lost.configuration.peers.identifier
            let (address, isYielding) = attempts.next(of: addresses, announcesOurs: announcesOurs, at: attempt)
            do throws(AirPlayError) {
                let joined = try join(
                    input.format, store: input.store, context, shownAt: input.timestampOnWire(audibleAt: nil),
                    at: address, connectTimeout: Self.connectTimeout, isYielding: isYielding)
                let isWanted = state.withLock { state in
                    if state.use == use { adopt(joined, &state) }
                    return state.use == use
                }
                guard isWanted else { return joined.session.end() }
                context.events.append(.outputRestored(output: context.id))
                context.writable.raise()
                return
            } catch {
                // A spoofed speaker must not get repeated attempts to guess the password.
                if error.isMistrust { return giveUp(outputError(error), use: use) }
                if error.code == .busy, attempts.noteBusy(announcesOurs: announcesOurs, at: .now) {
                    return giveUp(OutputError(.busy, "Another sender is now playing on \(name)."), use: use)
                }
            }
            guard backgroundTask.rest(until: attempts.nextAttempt(after: attempt)) else { return }
        }
    }

    // MARK: Failure

    /// Ends this use of the speaker without a rejoin. Any thread; returns at once.
    func giveUp(_ error: OutputError, use: UInt64? = nil) {
        let task = BackgroundTask()
        let (context, session, eventTask) = state.withLock { state in
            guard use == nil || state.use == use, state.failure == nil else {
                return (AudioOutputContext?.none, AirPlaySession?.none, Task<Void, Never>?.none)
            }
            state.failure = error
            if state.session != nil { state.backgroundTask = task }
            defer { (state.session, state.eventTask) = (nil, nil) }
            return (state.context, state.session, state.eventTask)
        }
        eventTask?.cancel()
        if let session {
            if let context { context.events.append(.outputLost(output: context.id)) }
            // Ending joins the control thread, which may be the caller.
            do throws(ExhaustionError) {
                try task.start(name: "airplay ending") { _ in session.end() }
            } catch {
                // Releasing the last reference ends the session.
            }
        }
        context?.writable.raise()
    }

    /// Converts a session's error to one that names the speaker.
    func outputError(_ error: AirPlayError) -> OutputError {
        OutputError(error, of: name).saying(configuration.phrases.inErrors)
    }
}
