internal import AirPlayWire
internal import MediaCore
package import SyncRendering

/// The session of a speaker: how it is adopted, lost, comes back and ends.
extension SpeakerOutput {
    /// Performs the first requests of a session; on failure it is ended.
    package func begin<Result>(
        _ session: Session, _ body: () throws(AirPlayError) -> Result
    ) throws(AirPlayError) -> Result {
        do throws(AirPlayError) {
            // Without a thread for the task that reads the session's events, this thread would block.
            do throws(ExhaustionError) { try WorkerThread.checkForTask() } catch { throw AirPlayError(error) }
            return try body()
        } catch {
            session.end()
            throw error
        }
    }

    /// Makes a session the current one: its control thread follows the timebase, and its failure is handled.
    package func adopt(_ joined: JoinedSession<Session, Setup>, _ state: inout State) {
        let session = joined.session
        state.session = session
        // One that was requested while the session began found none.
        if volume.withLock({ $0.requested }) != joined.decibels { sendVolume(in: session) }
        record(joined.setup, in: &state.details)
        state.anchors.beginSession()
        state.evictions.begin(at: host.now)
        let supervise = supervision(joined.updates)
        session.control.post { core in
            core.service = supervise
            core.requestAttention()
        }
        let (events, use) = (session.events, state.use)
        state.eventTask = Task { [weak self] in
            for await item in events {
                switch item {
                case .command(let command): await self?.perform(command, of: session)
                case .lost(let error): self?.rejoin(after: session, because: error, use: use)
                }
            }
        }
    }

    /// Sends a command of the speaker to the player.
    ///
    /// A speaker that another sender takes over pauses as well, and then serves this session no more: a pause counts
    /// only if the speaker answers a request after it.
    private func perform(_ command: RemoteCommand, of session: Session) async {
        // Each pause takes the time of a request: a loss that follows many must not wait for them.
        guard !session.isLost else { return }
        if command == .pause, await !session.isServedAfterPause() { return }
        let context = state.withLock { $0.session === session ? $0.context : nil }
        guard let context, !session.isLost else { return }
        context.send(OutputCommand(command))
    }

    /// Wakes the feeder, because there is space again: that of the present context, which changes when the output moves
    /// to another renderer. Any thread.
    package func raiseWritable() { state.withLock { $0.context }?.writable.raise() }

    // MARK: Loss

    /// Re-establishes a lost session on a background thread and resumes in sync.
    ///
    /// Packets not yet played are sent again. The thread ends on success, when another sender plays there, or at
    /// `endUse`.
    func rejoin(after session: Session, because error: AirPlayError, use: UInt64) {
        let task = BackgroundTask()
        let lost = state.withLock { state -> (context: AudioOutputContext, isUnwelcome: Bool)? in
            guard state.use == use, state.session === session, let context = state.context else { return nil }
            // From now on the task ends the session; `endUse` stops the task.
            (state.session, state.backgroundTask) = (nil, task)
            state.anchors.revokeStart(at: host.now)
            state.interruption = error.saying(phrases.inErrors).message
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
                    return self.abandon(
                        OutputError(.busy, "\(self.name) keeps ending the session; another sender may be using it."),
                        use: use)
                }
                // By then a new sender shows in the speaker's flags.
                if error.code == .ended, !backgroundTask.rest(until: .now.advanced(by: .seconds(1))) { return }
                self.rejoin(context, use: use, after: session, isEvicted: error.code == .ended, backgroundTask)
            }
        } catch let exhausted {
            abandon(OutputError(.lost, "\(name) was lost and cannot be reconnected: \(exhausted.message)."), use: use)
        }
    }

    private func rejoin(
        _ context: AudioOutputContext, use: UInt64, after lost: Session, isEvicted: Bool,
        _ backgroundTask: BackgroundTask
    ) {
        var attempts = RejoinAttempts(
            isEvicted: isEvicted, from: lost.address, tellsGroup: lost.tellsGroup, at: .now)
        while true {
            let attempt = HostInstant.now
            guard let input = state.withLock({ $0.use == use ? $0.input : nil }) else { return }
            input.rewind(to: context.timebase.snapshot.mediaTime(at: host.now))
            let announcesOurs = announcesGroup(of: lost)
            let (address, isYielding) = attempts.next(of: addresses, announcesOurs: announcesOurs, at: attempt)
            do throws(AirPlayError) {
                // An available host on the same network accepts at once.
                let joined = try begin(input, context, at: address, timeout: .seconds(1), isYielding: isYielding)
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
                if error.isMistrust { return abandon(outputError(error), use: use) }
                if error.code == .busy, attempts.recordBusy(announcesOurs: announcesOurs, at: .now) {
                    return abandon(OutputError(.busy, "Another sender is now playing on \(name)."), use: use)
                }
            }
            guard backgroundTask.rest(until: attempts.nextAttempt(after: attempt)) else { return }
        }
    }

    // MARK: End

    /// Ends this use of the speaker without a rejoin. Any thread; returns at once.
    package func abandon(_ error: OutputError) { abandon(error, use: nil) }

    private func abandon(_ error: OutputError, use: UInt64?) {
        let task = BackgroundTask()
        let given = state.withLock { state -> (AudioOutputContext?, Session?, Task<Void, Never>?)? in
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

    /// Ends the session and stops background work. May block for a few seconds. Volume and speed are kept for the next
    /// use.
    ///
    /// - Parameter reset: Resets what else is not kept.
    package func endUse(_ reset: (inout Details) -> Void) {
        let (session, eventTask, backgroundTask) = state.withLock { state in
            defer {
                state = state.ended
                reset(&state.details)
            }
            return (state.session, state.eventTask, state.backgroundTask)
        }
        volume.withLock { $0.endUse() }
        eventTask?.cancel()
        session?.end()
        backgroundTask?.stop()
    }
}
