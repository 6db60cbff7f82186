internal import AirPlayWire
public import MediaCore
public import SyncRendering

extension AirPlaySpeaker {
    /// A sentence about why the sound was interrupted, once it was; kept when the speaker is back. Any thread.
    public var interruption: String? { state.withLock { $0.interruption } }

    public var failure: OutputError? { state.withLock { $0.failure } }

    /// The failure, or that the session was lost and is being made again. Any thread.
    public var loss: OutputError? {
        state.withLock { state in
            if let failure = state.failure { return failure }
            guard state.session == nil, state.store != nil, let why = state.interruption else { return nil }
            return OutputError(.lost, why)
        }
    }

    public var isUnresponsive: Bool { state.withLock { $0.session }?.isUnresponsive ?? false }

    public var isAudible: Bool {
        let now = host.now
        return state.withLock { $0.audibleFrom.map { $0 <= now } ?? ($0.failure != nil) }
    }

    /// Why the speaker refuses the volume that was set last, or the mute. Any thread.
    public var gainFailure: OutputError? { state.withLock { $0.gainFailure } }

    /// Sets the volume on the session's own thread, and notes whether the speaker takes it.
    func apply(_ decibels: Double, in core: SessionCore) {
        do throws(AirPlayError) {
            try core.setVolume(decibels: decibels)
            noteVolume(nil, decibels)
        } catch {
            noteVolume(error, decibels)
        }
    }

    /// A session that is lost is told elsewhere; its volume is set again with the next.
    func noteVolume(_ error: AirPlayError?, _ decibels: Double) {
        let isRefused = error.map { ![.lost, .ended].contains($0.code) } ?? false
        let what = decibels <= -144 ? "to be muted" : "the volume"
        let refusal = OutputError(.failed, "\(name) refuses \(what); set it at the speaker itself")
        state.withLock { $0.gainFailure = isRefused ? refusal : nil }
    }

    /// How far the speaker is with the clock, and from when on it is ready as far as that can be said. Any thread.
    public var clock: (state: SpeakerClockState, ready: HostInstant?) {
        guard let clock = state.withLock({ $0.session })?.clock else { return (.cold, nil) }
        return (SpeakerClockState(clock.readiness), clock.ready)
    }

    /// This use of the speaker is over, and no attempt to get it back is made. Any thread; returns at once.
    func giveUp(_ error: OutputError, use: UInt64? = nil) {
        let (context, session, news) = state.withLock { state in
            guard use == nil || state.use == use, state.failure == nil else {
                return (AudioOutputContext?.none, AirPlaySession?.none, Task<Void, Never>?.none)
            }
            state.failure = error
            defer {
                state.session = nil
                state.news = nil
            }
            return (state.context, state.session, state.news)
        }
        news?.cancel()
        if let session {
            context?.events.note(.outputLost(output: context!.id))
            // Ending waits for the control thread, which may be the one that gives up.
            do throws(ExhaustionError) {
                run(try BackgroundTask(name: "airplay ending") { _ in session.end() })
            } catch {
                // Its last reference lets the session end by itself.
            }
        }
        context?.room.raise()
    }

    /// The errand is waited for when the speaker is closed.
    func run(_ errand: BackgroundTask) { state.withLock { $0.errand = errand } }

    /// The session's error for people who may have several speakers.
    func outputError(_ error: AirPlayError) -> OutputError {
        let code: OutputError.Code
        switch error.code {
        case .busy: code = .busy
        case .pairingRequired, .notAuthentic, .timingUnavailable: code = .notPermitted
        case .unreachable, .timedOut: code = .unavailable
        case .lost, .ended: code = .lost
        default: code = error.status == 403 ? .notPermitted : .failed
        }
        return OutputError(code, Self.naming(name, in: error.problem), remedy: error.remedy)
            .saying(configuration.phrases.inErrors)
    }

    /// Sessions know their speaker by its address only.
    static func naming(_ name: String, in message: String) -> String {
        let subject = "The speaker "
        guard message.hasPrefix(subject), !message.hasPrefix(subject + "at ") else { return message }
        return "'\(name)' " + message.dropFirst(subject.count)
    }
}
