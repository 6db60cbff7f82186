internal import MediaCore
internal import SyncRendering

/// A step of an iteration of the engine, with the values that it reads and writes. `EngineStepTests` rejects an order
/// in which a step reads a value before another step writes it, unless `previous` names that step.
struct EngineStep: Sendable {
    enum Name: String {
        case reopenLostMedia, startAwaitedItem, proceedWithRemoval, removeUnreadable, cutAddedSounds, repeatSection
        case passBoundaries, endBrokenOffEntry, reconcile, publishAddedTracks, retryAddedSounds, dropUnseenFrames
        case reportLosses, loadArtwork, showItem, reportOutputs, proceedWithSeek, proceedWithFrameSteps, detectStop
        case holdIfStarved, reportSubtitles, reachEnd
    }

    enum Value {
        /// The current or awaited entry.
        case current
        /// The entries after it.
        case schedule
        /// Which items have played or cannot be played.
        case history
        /// What could not be read or decoded of the entries.
        case losses
        /// The removal of scheduled entries.
        case removal
        /// The wait for lost media, and the pauses before failed items are opened again.
        case recovery
        /// The removals and failures of the added audio tracks.
        case addedAudio
        case section, frameSteps
        /// The frames that wait for the screen.
        case frames
        /// What the state says about the current item.
        case item
        case seek, phase
        /// The rate and the media time of the synchronizer.
        case timeline
    }

    let name: Name
    let reads: Set<Value>
    /// What the step changes. One that restarts may open, seek or end besides, which changes everything: the steps
    /// after it, and those before it in the next iteration, continue from there.
    let writes: Set<Value>
    let restarts: Bool
    /// The later steps whose values of the previous iteration are read.
    let previous: Set<Name>
    let run: @Sendable (PlaybackEngine) -> Void

    private init(
        _ name: Name, reads: Set<Value> = [], writes: Set<Value> = [], restarts: Bool = false,
        previous: Set<Name> = [], _ run: @escaping @Sendable (PlaybackEngine) -> Void
    ) {
        (self.name, self.reads, self.writes, self.restarts) = (name, reads, writes, restarts)
        (self.previous, self.run) = (previous, run)
    }

    /// What a decision about the position reads.
    private static let position: Set<Value> = [.seek, .phase, .timeline]
    /// The steps that change these values come last: they see the list as the others have left it.
    private static let movers: Set<Name> = [
        .proceedWithSeek, .proceedWithFrameSteps, .detectStop, .holdIfStarved,
    ]

    /// The steps in the order of an iteration: what was opened or removed, the playhead's entry, the schedule behind
    /// it, reports, the timeline. The end is judged last, because each step before may have moved it.
    static let all = [
        EngineStep(
            .reopenLostMedia, reads: [.recovery], writes: [.recovery, .history], restarts: true,
            previous: [
                .startAwaitedItem, .proceedWithRemoval, .removeUnreadable, .passBoundaries, .reconcile,
                .proceedWithSeek,
            ]
        ) { $0.retryLostMedia() },
        EngineStep(
            .startAwaitedItem, reads: [.current, .recovery], writes: [.current, .item, .history, .recovery],
            restarts: true,
            previous: [.proceedWithRemoval, .removeUnreadable, .passBoundaries, .reconcile, .proceedWithSeek]
        ) { $0.perform($0.arrival.proceed()) },
        // A removal in progress continues before another one starts.
        EngineStep(
            .proceedWithRemoval, reads: position.union([.removal, .schedule]),
            writes: [.removal, .schedule, .history, .recovery, .addedAudio], restarts: true,
            previous: movers.union([.removeUnreadable, .passBoundaries, .endBrokenOffEntry, .reconcile])
        ) { $0.perform($0.truncation.proceed()) },
        EngineStep(
            .removeUnreadable, reads: position.union([.removal, .schedule]),
            writes: [.removal, .schedule, .history, .recovery, .addedAudio], restarts: true,
            previous: movers.union([.passBoundaries, .endBrokenOffEntry, .reconcile])
        ) { $0.perform($0.truncation.removeUnreadable()) },
        EngineStep(
            .cutAddedSounds, reads: [.addedAudio], writes: [.addedAudio],
            previous: [.endBrokenOffEntry, .reconcile, .retryAddedSounds, .proceedWithSeek]
        ) { $0.tracks.added.proceedWithCuts() },
        // Before a boundary is passed: a section may end where the entry does.
        EngineStep(
            .repeatSection, reads: position.union([.section, .current]), writes: [.section], restarts: true,
            previous: movers.union([.passBoundaries])
        ) { $0.repeatSection() },
        EngineStep(
            .passBoundaries, reads: position.union([.current, .schedule]),
            writes: [.current, .schedule, .item, .history, .recovery, .losses], restarts: true,
            previous: movers.union([.endBrokenOffEntry, .reconcile])
        ) { if $0.isPerceived { $0.perform($0.announcer.passBoundaries()) } },
        EngineStep(
            .endBrokenOffEntry, reads: position.union([.removal, .current, .schedule, .losses]),
            writes: [.removal, .schedule, .losses, .item, .addedAudio], restarts: true,
            previous: movers.union([.reconcile, .reportLosses, .reachEnd])
        ) { $0.perform($0.truncation.endBrokenOffEntry()) },
        EngineStep(
            .reconcile, reads: position.union([.removal, .current, .schedule, .history, .recovery]),
            writes: [.removal, .schedule, .history, .recovery, .addedAudio], restarts: true,
            previous: movers.union([.reachEnd])
        ) { $0.reconcile() },
        EngineStep(.publishAddedTracks, reads: [.current, .phase], writes: [.item], previous: movers.phase) {
            $0.tracks.added.publishTracks()
        },
        EngineStep(
            .retryAddedSounds, reads: position.union([.addedAudio]), writes: [.addedAudio], previous: movers
        ) { if $0.state.phase == .playing { $0.tracks.added.retryLost(from: $0.seeks.trackTarget) } },
        EngineStep(.dropUnseenFrames, reads: [.phase, .timeline], writes: [.frames], previous: movers) {
            $0.tracks.dropUnseenFrames()
        },
        EngineStep(
            .reportLosses, reads: position.union([.current, .losses]), writes: [.losses, .item],
            previous: movers.union([.reachEnd])
        ) { $0.losses.reportCurrent(until: $0.isPerceived ? $0.synchronizer.currentTime() : nil) },
        EngineStep(.loadArtwork, reads: [.current, .item, .phase], previous: movers.phase) {
            $0.artwork.load(isDisplayed: $0.audioControl.hasDisplays)
        },
        EngineStep(.showItem, reads: [.item]) { $0.audioControl.showItem() },
        EngineStep(.reportOutputs) { $0.reportOutputs() },
        EngineStep(
            .proceedWithSeek, reads: position.union([.current, .frames]),
            writes: position.union([.recovery, .history, .addedAudio]), restarts: true,
            previous: [.proceedWithFrameSteps, .detectStop, .holdIfStarved]
        ) { $0.proceedWithSeek() },
        EngineStep(
            .proceedWithFrameSteps, reads: position.union([.frameSteps, .frames, .current]),
            writes: [.frameSteps, .timeline], restarts: true, previous: [.detectStop, .holdIfStarved]
        ) { $0.proceedWithSteps() },
        EngineStep(.detectStop, reads: position, writes: [.seek, .phase], previous: [.holdIfStarved]) {
            $0.seeks.detectStop()
        },
        EngineStep(.holdIfStarved, reads: position, writes: position) { $0.seeks.holdIfStarved() },
        EngineStep(.reportSubtitles) { $0.tracks.subtitles.reportTroubles() },
        EngineStep(
            .reachEnd, reads: [.current, .schedule, .phase, .timeline], writes: [.history, .losses], restarts: true
        ) { if $0.state.phase == .playing, $0.hasReachedEnd { $0.reachEnd() } },
    ]
}

extension Set<EngineStep.Name> {
    /// Those that change the phase.
    fileprivate var phase: Self { subtracting([.proceedWithFrameSteps]) }
}
