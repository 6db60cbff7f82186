package import MediaCore
package import SyncRendering

/// A speaker with sessions as an output: its volume, display and failure, and how a lost session comes back. Both
/// versions of AirPlay are one.
package protocol SpeakerOutput: PacketOutput, StartReportingOutput, RecoveringOutput, OwnerVolumeOutput,
    NowPlayingOutput
{
    associatedtype Session: SenderSession
    associatedtype Setup: Sendable
    associatedtype Details: Sendable

    var state: Lock<SpeakerState<Session, Details>> { get }
    var volume: Lock<SpeakerVolume> { get }
    /// The current item; nil: none.
    var shown: Lock<NowPlaying?> { get }
    /// This computer's clock, on which the timebase runs.
    var host: any HostClock { get }
    /// The application's wording of remedies.
    var phrases: RemedyPhrases { get }
    /// The addresses to try, in order. Not empty.
    var addresses: [SpeakerAddress] { get }
    /// The minimum lead of a partial flush over the playhead.
    var partialFlushLead: Duration { get }

    /// Returns whether the speaker announces the group of a session that was lost.
    func announcesGroup(of lost: Session) -> Bool
    /// Begins another session for a stream. On failure it is ended.
    ///
    /// - Parameter isYielding: Whether a busy speaker is left to the other sender.
    func begin(
        _ input: StreamInput, _ context: AudioOutputContext, at address: SpeakerAddress, timeout: Duration,
        isYielding: Bool
    ) throws(AirPlayError) -> JoinedSession<Session, Setup>
    /// Records what the speaker has agreed on in a session that becomes the current one.
    func record(_ setup: Setup, in details: inout Details)
    /// Returns the work between the requests of a session.
    func supervision(_ updates: NowPlayingUpdates) -> @Sendable (Session.Core) -> HostInstant?
}

extension SpeakerOutput {
    package typealias State = SpeakerState<Session, Details>

    // MARK: Display

    /// Sets the item that the speaker displays, also for later sessions. Any thread; returns at once.
    package func setNowPlaying(_ nowPlaying: NowPlaying?) {
        let isNew = shown.withLock { shown in
            defer { shown = nowPlaying }
            return shown != nowPlaying
        }
        if isNew { requestAttention() }
    }

    /// The item to display; never without a title, since some speakers are silent until they receive one.
    package var nowPlaying: NowPlaying {
        var item = shown.withLock { $0 } ?? NowPlaying(title: "")
        if item.title.isEmpty { item.title = "Talkie" }
        return item
    }

    // MARK: Volume

    /// Sets the gain, limited to −30…0 dB or mute. Until the first call the speaker keeps its owner's volume. Any
    /// thread.
    package func setGain(_ gain: Float) {
        volume.withLock { $0.request(gain: gain) }
        sendVolume()
    }

    /// Restores the owner's volume, if it was changed here. Any thread.
    package func restoreGain() {
        volume.withLock { $0.restore() }
        sendVolume()
    }

    /// The owner's volume, 0…100; an audible one for a speaker that does not report its own. Nil before the first
    /// session. Any thread.
    package var ownVolume: Double? { volume.withLock { $0.own } }

    /// True after the start of the first session, whether the speaker reported its volume or not.
    package var isOwnVolumeKnown: Bool { volume.withLock { $0.isOwnKnown } }

    /// The refusal of the last requested volume or mute; nil if it was accepted. Any thread.
    package var gainFailure: OutputError? { volume.withLock { $0.refusal } }

    private func sendVolume() { if let session = state.withLock({ $0.session }) { sendVolume(in: session) } }

    /// Sends the requested volume on the control thread of a session.
    func sendVolume(in session: Session) {
        guard volume.withLock({ $0.queue() }) else { return }
        // One that has ended runs nothing; the next session begins with the volume.
        session.control.post { [weak self] core in
            guard let self else { return }
            _ = volume.sendRequested(to: name) { (decibels) throws(AirPlayError) in
                try core.setVolume(decibels: decibels)
            }
        }
    }

    // MARK: Input

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

    /// Extends a finished input by silence, for 0.5 s beyond the lead of a partial flush; see `StreamInput.extendTail`.
    ///
    /// - Returns: When to call it again; nil: after the end of the input.
    package func extendTail(along segment: TimebaseSegment, at now: HostInstant) -> HostInstant? {
        let lead = partialFlushLead
        return state.withLock { state in
            let goal = segment.mediaTime(at: now.advanced(by: lead + .milliseconds(500)))
            guard let end = state.input?.extendTail(until: goal) else { return nil }
            state.session?.wakeWriter()
            let due = segment.hostInstant(of: end)?.advanced(by: .zero - lead)
            return due.flatMap { $0 > now ? $0 : nil }
        }
    }

    // MARK: Status

    /// The permanent failure; nil while the speaker is usable or rejoining. Any thread.
    package var failure: OutputError? { state.withLock { $0.failure } }

    /// The failure, or the loss of the session while it is being re-established. Any thread.
    package var loss: OutputError? {
        state.withLock { state in
            if let failure = state.failure { return failure }
            guard state.session == nil, state.input != nil, let why = state.interruption else { return nil }
            return OutputError(.lost, why)
        }
    }

    /// Whether the speaker shows no sign of life; it may still play its buffered audio. Any thread.
    package var isUnresponsive: Bool { state.withLock { $0.session }?.isUnresponsive ?? false }

    /// Whether the current session is audible, or the speaker has failed. Any thread.
    package var isAudible: Bool {
        let now = host.now
        return state.withLock { $0.anchors.isAudible(at: now) ?? ($0.failure != nil) }
    }

    /// Whether a start is possible: the speaker has begun to measure the clock, has failed, or was audible before. Any
    /// thread.
    ///
    /// After it was audible once, playback continues without the speaker.
    package var isReadyToStart: Bool {
        let now = host.now
        let (session, isDecided) = state.withLock {
            ($0.session, $0.anchors.hasBeenAudible(at: now) || $0.failure != nil)
        }
        return isDecided || session?.clock.ready != nil
    }

    /// Required audio before a start. One receiver terminates when started with less than half a second.
    package var preroll: Duration { .milliseconds(600) }

    /// Schedules an update of the speaker on its control thread. Returns at once.
    package func timebaseDidChange(_ snapshot: TimebaseSnapshot) { requestAttention() }

    package func requestAttention() { state.withLock { $0.session }?.control.post { $0.requestAttention() } }

    /// Converts a session's error to one that names the speaker.
    package func outputError(_ error: AirPlayError) -> OutputError {
        OutputError(error, of: name).saying(phrases.inErrors)
    }
}
