internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import SyncRendering

/// The session with the receiver: how it begins, is lost, comes back and fails.
extension ClassicSpeaker {
    /// Delay after the receiver ended the session, in which a new sender sets up its own.
    private static let courtesy: Duration = .seconds(1)
    /// Connection timeout of a rejoin; an available host on the same network accepts at once.
    private static let connectTimeout: Duration = .seconds(1)
    /// Time between the pause and the end of a session that another sender takes over.
    private static let takeoverTime: Duration = .milliseconds(150)

    // MARK: Begin

    /// A session with a stream, and what it has sent about the item.
    struct JoinedSession {
        var session: ClassicSession
        var updates: NowPlayingUpdates
        /// The volume that was sent.
        var decibels: Double?
    }

    /// Addresses to try, in order.
    private var addresses: [SpeakerAddress] {
        let known = state.withLock { $0.address } ?? configuration.address
        let announced = configuration.id.flatMap { configuration.network?.classicAddresses(of: $0) } ?? []
        return announced.contains(known) ? [known] + announced.filter { $0 != known } : announced + [known]
    }

    /// Returns a new session with a stream. On failure it is ended.
    ///
    /// - Parameters:
    ///   - store: The packets of the stream, perhaps of a lost session.
    ///   - address: Nil: the first of `addresses`.
    func join(
        _ store: PacketStore, _ context: AudioOutputContext, shownAt moment: RTPTimestamp,
        at address: SpeakerAddress? = nil, connectTimeout: Duration? = nil
    ) throws(AirPlayError) -> JoinedSession {
        var configuration = configuration
        configuration.address = address ?? addresses[0]
        if let connectTimeout { configuration.connectTimeout = connectTimeout }
        let writable = context.writable
        let session = ClassicSession(configuration, serving: served)
        do throws(AirPlayError) {
            // Without a thread for the task that reads the session's events, this thread would block.
            do throws(ExhaustionError) { try WorkerThread.checkForTask() } catch { throw AirPlayError(error) }
            try session.begin(Self.format, store: store, first: moment) { writable.raise() }
            state.withLock { $0.address = configuration.address }
            volume.withLock { $0.noteReport(nil) }
            // Some receivers are silent until they receive a title, and some forget a volume that precedes it.
            let item = nowPlaying
            // ignored: a refused title is inaudible, and a lost session is reported by its events.
            _ = try? session.show(.text(item, at: moment))
            let decibels = volume.sendRequested(to: name) { (decibels) throws(AirPlayError) in
                try session.setVolume(decibels: decibels)
            }
            return JoinedSession(session: session, updates: updates(shown: item, at: moment), decibels: decibels)
        } catch {
            session.end()
            throw error
        }
    }

    /// Makes a session the current one: its control thread follows the timebase, and its failure is handled.
    func adopt(_ joined: JoinedSession, _ state: inout State) {
        let session = joined.session
        state.session = session
        // One that was requested while the session began found none.
        if volume.withLock({ $0.requested }) != joined.decibels { sendVolume(in: session) }
        state.anchors.beginSession()
        state.evictions.begin(at: host.now)
        let supervisor = ClassicSupervisor(speaker: self, updates: joined.updates)
        session.control.post { core in
            core.attend = supervisor.performDueWork
            core.requestAttention()
        }
        let events = session.shared.events
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

    /// Sends a command of the receiver to the player.
    ///
    /// A receiver that another sender takes over pauses as well, and then serves this session no more: a pause counts
    /// only if the receiver answers a request after it.
    private func perform(_ command: RemoteCommand, of session: ClassicSession) async {
        guard !session.isLost else { return }
        if command == .pause {
            // ignored: a cancelled task belongs to a session that is no longer used.
            try? await Task.sleep(for: Self.takeoverTime)
            let isServed = await withCheckedContinuation { continuation in
                let isPosted = session.control.post { continuation.resume(returning: $0.answers()) }
                if !isPosted { continuation.resume(returning: false) }
            }
            guard isServed else { return }
        }
        let context = state.withLock { $0.session === session ? $0.context : nil }
        guard let context, !session.isLost else { return }
        context.send(OutputCommand(command))
    }

    // MARK: Loss

    /// Re-establishes a lost session on a background thread and resumes in sync.
    ///
    /// Packets not yet played are sent again. The thread ends on success, when another sender plays there, or at
    /// `close`.
    private func rejoin(after session: ClassicSession, because error: AirPlayError, use: UInt64) {
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
        _ context: AudioOutputContext, use: UInt64, after lost: ClassicSession, isEvicted: Bool,
        _ backgroundTask: BackgroundTask
    ) {
        var attempts = RejoinAttempts(
            isEvicted: isEvicted, from: lost.configuration.address, tellsGroup: false, at: .now)
        while true {
            let attempt = HostInstant.now
            guard let input = state.withLock({ $0.use == use ? $0.input : nil }) else { return }
            input.rewind(to: context.timebase.snapshot.mediaTime(at: host.now))
            let (address, _) = attempts.next(of: addresses, announcesOurs: false, at: attempt)
            do throws(AirPlayError) {
                let joined = try join(
                    input.store, context, shownAt: input.timestampOnWire(audibleAt: nil), at: address,
                    connectTimeout: Self.connectTimeout)
                let isWanted = state.withLock { state in
                    if state.use == use { adopt(joined, &state) }
                    return state.use == use
                }
                guard isWanted else { return joined.session.end() }
                context.events.append(.outputRestored(output: context.id))
                context.writable.raise()
                return
            } catch {
                // A spoofed receiver must not get repeated attempts to guess the password.
                if error.isMistrust { return giveUp(outputError(error), use: use) }
                if error.code == .busy, attempts.noteBusy(announcesOurs: false, at: .now) {
                    return giveUp(OutputError(.busy, "Another sender is now playing on \(name)."), use: use)
                }
            }
            guard backgroundTask.rest(until: attempts.nextAttempt(after: attempt)) else { return }
        }
    }

    /// Ends this use of the receiver without a rejoin. Any thread; returns at once.
    func giveUp(_ error: OutputError, use: UInt64? = nil) {
        let task = BackgroundTask()
        let given = state.withLock { state -> (AudioOutputContext?, ClassicSession?, Task<Void, Never>?)? in
            guard use == nil || state.use == use, state.failure == nil else { return nil }
            state.failure = error
            if state.session != nil { state.backgroundTask = task }
            defer { (state.session, state.eventTask) = (nil, nil) }
            return (state.context, state.session, state.eventTask)
        }
        guard let (context, session, eventTask) = given else { return }
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
}
