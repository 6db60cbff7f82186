internal import MediaCore
internal import Profiles
internal import SyncRendering

/// The state machine of the player: it connects the parts that own its state, runs them, and executes what they decide
/// (`PlaybackAction`). Confined to the player's thread, including `init` and deinitialization.
///
/// | part | owns |
/// | --- | --- |
/// | `SharedPlaybackList` | the list and its schedule, along which the pipelines read |
/// | `PlayerStatus` | the published state, events |
/// | `PlaybackTracks`, `AddedAudioTracks`, `SubtitleTracks` | renderers, pipelines |
/// | `AudioControl` | volume, processing, delay of audio |
/// | `SeekController`, `SourceHold` | the seek in progress, holds for a slow source |
/// | `SeekDecision`, `FrameSteps`, `SectionRepeat` | what a user's seek does, frame steps, the A-B loop |
/// | `EntryFactory`, `ItemPreparation`, `ItemArrival` | selected tracks, items opened in advance, the awaited item |
/// | `ListTruncation`, `PendingEdits` | the removal of scheduled entries, the outcome of edits |
/// | `EntryAnnouncer`, `LossReporter`, `MediaRecovery` | what was reported, what is to be opened again |
/// | `ItemArtwork` | which item's image was requested |
/// | `ActiveInterruptions` | the interruptions in progress, and whether playback resumes after them |
package final class PlaybackEngine {
    let components: Player.Components
    let options: PlayerOptions
    let synchronizer: RenderSynchronizer
    let mailbox: PlayerMailbox
    private let publisher: PlayerStatePublisher
    private let prefetcher: Prefetcher
    private let watch: TimelineWatch
    private let supply: TrackSupply

    let shared: SharedPlaybackList
    let status: PlayerStatus
    let tracks: PlaybackTracks
    let audioControl: AudioControl
    let seeks: SeekController
    let factory: EntryFactory
    let recovery: MediaRecovery
    let preparation: ItemPreparation
    let announcer: EntryAnnouncer
    let arrival: ItemArrival
    let losses: LossReporter
    let artwork: ItemArtwork
    let edits = PendingEdits()
    let truncation: ListTruncation
    var section = SectionRepeat()
    var steps = FrameSteps()
    var interruptions = ActiveInterruptions()
    /// The reported change of the outputs that the session has to respond to.
    var pendingRouteChange: PlaybackRouteChange?
    /// Whether playback is paused because all outputs are silent (`PlaybackSession.LostRoutePolicy.pause`).
    var isPausedWithoutOutput = false
    /// Whether the main audio was lost because of its outputs, and not restarted since.
    var isOutputLost = false
    /// Whether `play` has opened the outputs again since the main audio was last lost because of them.
    var hasReopenedOutputs = false
    /// The table of the player's `PlayerControl`, with the commands of the program.
    var controls = ControlTable.player
    private var isRunning = true
    /// The position before the last seek of the user, and the marked one, each with its item.
    var seekOrigin: (time: MediaTime, item: QueueItem.ID)?
    var seekMark: (time: MediaTime, item: QueueItem.ID)?

    init(
        components: Player.Components, options: PlayerOptions, synchronizer: RenderSynchronizer, layer: DisplayLayer,
        events: EventLog, mailbox: PlayerMailbox, publisher: PlayerStatePublisher,
        startPipeline: @escaping (TrackPipeline, String) -> Void = { $0.start(name: $1) },
        runBackgroundWork: @escaping Prefetcher.Run = Prefetcher.onThreads,
        onEvent: @escaping @Sendable (PlayerEvent) -> Void
    ) {
        (self.components, self.options, self.synchronizer) = (components, options, synchronizer)
        (self.mailbox, self.publisher) = (mailbox, publisher)
        status = PlayerStatus(publisher: publisher, options: options, onEvent: onEvent)
        shared = SharedPlaybackList { [mailbox] in mailbox.signal.raise() }
        shared.update { _ = $0.apply(.loop(item: options.loopFile, list: options.loopPlaylist)) }
        prefetcher = Prefetcher(components, run: runBackgroundWork)
        let context = PlayerContext(
            components: components, options: options, list: shared, synchronizer: synchronizer, events: events,
            mailbox: mailbox,
            progress: ProgressGate(signal: mailbox.signal), status: status, start: startPipeline)
        // Applied before playback: a later change would be a discontinuity of the audio.
        components.calibration?.apply()
        tracks = PlaybackTracks(context, layer)
        audioControl = AudioControl(context, tracks)
        supply = TrackSupply(context, tracks)
        seeks = SeekController(context, tracks, supply)
        factory = EntryFactory(context, tracks)
        recovery = MediaRecovery(clock: components.clock, status: status)
        preparation = ItemPreparation(
            context: context, tracks: tracks, seeks: seeks, factory: factory, recovery: recovery, prefetcher: prefetcher
        )
        losses = LossReporter(context, tracks.renderer)
        announcer = EntryAnnouncer(
            context: context, tracks: tracks, preparation: preparation, losses: losses, recovery: recovery)
        artwork = ItemArtwork(context, prefetcher)
        arrival = ItemArrival(
            context: context, tracks: tracks, factory: factory, preparation: preparation, announcer: announcer)
        truncation = ListTruncation(
            context: context, tracks: tracks, seeks: seeks, preparation: preparation, edits: edits, losses: losses)
        watch = TimelineWatch(mailbox.signal)
        synchronizer.add(watch)
    }

    /// A copy of the current list.
    var list: PlaybackList { shared.list }
    /// The current entry.
    var current: PlaybackList.ScheduledItem? { shared.current }
    package var state: PlayerState { status.state }
    /// The published state, with the position and the state of the outputs.
    var presentedState: PlayerState { publisher.state }
    /// The renderer of the main audio track; nil if no audio is played.
    var renderer: AudioRenderer? { tracks.renderer }

    // MARK: Thread

    /// The loop of the player's thread.
    func run() {
        while runIteration() {
            mailbox.signal.wait(until: .now.advanced(by: restingTime))
            mailbox.signal.clear()
        }
    }

    /// Runs one iteration: executes commands and handles changes. Returns false when the player is shut down.
    func runIteration() -> Bool {
        synchronizer.serviceTimeline()
        for command in mailbox.drain() { command(self) }
        guard isRunning else {
            edits.finish(as: .unchanged)
            return false
        }
        for step in EngineStep.all { step.run(self) }
        supply.publish(to: publisher)
        if state.phase == .playing { publisher.tick() }
        return true
    }

    /// How long no work is due without a signal.
    var restingTime: Duration {
        // Polled, because the screen takes the frame of a step without a signal.
        if steps.isActive { return .milliseconds(10) }
        if seeks.pending != nil { return .milliseconds(50) }
        if let next = recovery.nextAttempt ?? preparation.nextOpening {
            return max(.milliseconds(1), next - components.clock.now)
        }
        // An output that recovers raises no signal while nothing plays.
        guard state.phase == .playing else {
            let isSilent = status.isUnderWay && state.outputProblems.contains { $0.kind == .silent }
            return isSilent ? .milliseconds(500) : .seconds(3600)
        }
        let limit = section.end.map { $0 + state.timelineOffset }
        return min(tracks.restingTime(until: limit), seeks.timeUntilSupplyCheck)
    }

    /// Stops all tracks and threads; blocks until they have ended.
    func shutDown() {
        isRunning = false
        // Edits among them are answered at the end of this iteration.
        for command in mailbox.close() { command(self) }
        closeMedia()
        status.close(entering: state.phase)
        preparation.cancelOpening()
        prefetcher.stop()
        synchronizer.remove(watch)
        tracks.shutDown()
    }

    // MARK: Progress

    /// Whether the current position is perceived.
    var isPerceived: Bool { seeks.pending == nil && (state.phase == .playing || state.phase == .paused) }

    func proceedWithSeek() {
        switch seeks.proceed() {
        case .pending: break
        case .started:
            recovery.recordStart()
            // Outputs that fail before the next comparison have been open.
            audioControl.compareOutputs()
            reportOutputs()
            announcer.resetRetryPauses()
            announcer.announce(isJoined: false)
        case .paused: announcer.announce(isJoined: false)
        case .restarts(let time): begin(at: time)
        case .foundNothing: perform(current.map { preparation.abandon($0) })
        }
    }

    var hasReachedEnd: Bool { tracks.entryEnd.map { synchronizer.currentTime() >= $0 } ?? false }
}
