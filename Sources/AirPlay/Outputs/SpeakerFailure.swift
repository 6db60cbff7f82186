internal import AirPlayWire
public import MediaCore
public import SyncRendering

extension AirPlaySpeaker {
    /// A sentence about the last interruption; kept after the speaker is back. Any thread.
    public var interruption: String? { state.withLock { $0.interruption } }

    /// The permanent failure; nil while the speaker is usable or rejoining. Any thread.
    public var failure: OutputError? { state.withLock { $0.failure } }

    /// The failure, or the loss of the session while it is being re-established. Any thread.
    public var loss: OutputError? {
        state.withLock { state in
            if let failure = state.failure { return failure }
            guard state.session == nil, state.store != nil, let why = state.interruption else { return nil }
            return OutputError(.lost, why)
        }
    }

    /// Whether the speaker shows no sign of life; it may still play its buffered audio. Any thread.
    public var isUnresponsive: Bool { state.withLock { $0.session }?.isUnresponsive ?? false }

    /// Whether the current session is audible, or the speaker has failed. Any thread.
    public var isAudible: Bool {
        let now = host.now
        return state.withLock { $0.audibleFrom.map { $0 <= now } ?? ($0.failure != nil) }
    }

    /// The refusal of the last requested volume or mute; nil if it was accepted. Any thread.
    public var gainFailure: OutputError? { state.withLock { $0.gainFailure } }

    /// Sets the volume on the control thread and records a refusal.
    func apply(_ decibels: Double, in core: SessionCore) {
        do throws(AirPlayError) {
            try core.setVolume(decibels: decibels)
            noteVolume(nil, decibels)
        } catch {
            noteVolume(error, decibels)
        }
    }

    /// Records the result of a volume request. A lost session is no refusal; the next session sets the volume again.
    func noteVolume(_ error: AirPlayError?, _ decibels: Double) {
        let isRefused = error.map { ![.lost, .ended].contains($0.code) } ?? false
        let what = decibels <= -144 ? "muting" : "the volume"
        let refusal = OutputError(.failed, "\(name) refused \(what); set it on the speaker itself")
        state.withLock { $0.gainFailure = isRefused ? refusal : nil }
    }

    /// The clock state of the speaker, and when it is ready, if known. Any thread.
    public var clock: (state: SpeakerClockState, ready: HostInstant?) {
        guard let clock = state.withLock({ $0.session })?.clock else { return (.cold, nil) }
        return (SpeakerClockState(clock.readiness), clock.ready)
    }

    /// Ends this use of the speaker without a rejoin. Any thread; returns at once.
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
            // Ending joins the control thread, which may be the caller.
            do throws(ExhaustionError) {
                run(try BackgroundTask(name: "airplay ending") { _ in session.end() })
            } catch {
                // Releasing the last reference ends the session.
            }
        }
        context?.room.raise()
    }

    /// Stores a background task; `close` stops it.
    func run(_ errand: BackgroundTask) { state.withLock { $0.errand = errand } }

    /// Converts a session's error to one that names the speaker.
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

    /// Replaces "The speaker" by its name, since sessions only know its address.
    static func naming(_ name: String, in message: String) -> String {
        let subject = "The speaker "
        guard message.hasPrefix(subject), !message.hasPrefix(subject + "at ") else { return message }
        return "'\(name)' " + message.dropFirst(subject.count)
    }
}
