internal import MediaCore
internal import Profiles
internal import SyncRendering

/// Owns the additional audio tracks, each with a renderer and outputs. They follow the main track through the list and
/// through seeks, in speed and delay. None delays playback longer than the main track. Confined to the player's thread.
final class AddedAudioTracks {
    /// Without a successor, buffered audio is drained from the converters this long before it plays.
    private static let tailLead: Duration = .milliseconds(500)
    /// The delay before an output that failed is opened again.
    private static let retryDelay: Duration = .seconds(15)

    private(set) var all: [AddedAudioTrack] = []
    private let context: PlayerContext

    init(_ context: PlayerContext) { self.context = context }

    private var calibration: RouteCalibration? { context.components.calibration }

    /// Adds a sound without a pipeline.
    func add(_ choice: AudioTrackChoice, to output: any AudioDestination, number: Int) -> AddedAudioTrack {
        // Applied before playback: a later change would be a discontinuity of its audio.
        if let group = output as? OutputGroup { calibration?.include(group) }
        calibration?.apply()
        let track = AddedAudioTrack(
            number: number, choice: choice, output: output, codecs: context.components.codecs, events: context.events)
        track.renderer.onEvent(
            context.handler { engine, error, _ in engine.tracks.added.fail(number, error) })
        track.renderer.onCommand(context.commandHandler)
        all.append(track)
        return track
    }

    /// Removes a sound; its output is closed in the background.
    ///
    /// - Parameter done: Called once its output is closed, on any thread.
    func remove(_ number: Int, done: @escaping @Sendable () -> Void = {}) {
        guard let index = all.firstIndex(where: { $0.number == number }) else { return done() }
        let track = all.remove(at: index)
        if let group = track.output as? OutputGroup { calibration?.exclude(group) }
        track.pipeline?.stop()
        track.renderer.onEvent(nil)
        track.renderer.onCommand(nil)
        context.synchronizer.removeRenderer(track.renderer) { _ in done() }
    }

    /// Continues without a sound whose output or decoder has failed.
    func fail(_ number: Int, _ failure: TalkieError) {
        guard let track = all.first(where: { $0.number == number }), !track.isLost else { return }
        track.isLost = true
        // Audio that cannot be decoded fails again.
        track.retry = failure.code == .failed ? nil : context.clock.now.advanced(by: Self.retryDelay)
        guard track.reported != failure.message else { return }
        track.reported = failure.message
        context.status.message(Sentences.joined(failure.message, "The other outputs continue."))
    }

    /// Opens outputs that have failed again, when that is due.
    func retryLost(from target: @autoclosure () -> TrackTarget) {
        guard all.contains(where: \.isLost) else { return }
        let now = context.clock.now
        for track in all where track.isLost && track.pipeline != nil && track.retry.map({ $0 <= now }) ?? false {
            (track.isLost, track.retry) = (false, nil)
            track.seek(to: target())
        }
    }

    /// Opens outputs that have failed again at once, also those that another sender had.
    func reopenLost() {
        for track in all where track.isLost && track.retry != nil {
            track.renderer.setOutput(track.output, id: track.outputID)
            track.retry = context.clock.now
        }
    }

    // MARK: Playlist

    /// Creates the missing pipelines; they start at a seek target, or with the successor of an entry.
    func addPipelines(behind entry: PlaybackList.ScheduledItem) {
        for track in all where track.pipeline == nil {
            track.isLost = false
            addPipeline(to: track, behind: entry)
        }
    }

    /// Starts a sound at a position of the current entry, if there is one.
    func start(_ track: AddedAudioTrack, at target: TrackTarget) {
        guard let entry = context.list.current, context.status.isUnderWay else { return }
        addPipeline(to: track, behind: entry)
        track.seek(to: target)
    }

    /// Creates the pipeline of a sound; removes a sound that the synchronizer refuses.
    private func addPipeline(to track: AddedAudioTrack, behind entry: PlaybackList.ScheduledItem) {
        if let refusal = context.synchronizer.addRenderer(track.renderer), refusal.code != .alreadyAdded {
            remove(track.number)
            return context.status.message(refusal.message)
        }
        let pipeline = context.pipeline(
            AudioStage(
                list: context.list, cursor: track.cursor, renderer: track.renderer,
                replayGain: context.options.replayGain,
                choose: { [choice = track.choice] in choice.withLock { $0 }.track(in: $0.film.summary) },
                behind: entry, intake: TrackIntake(clock: context.clock)))
        track.pipeline = pipeline
        context.start(pipeline, "audio reader")
        if let error = pipeline.refusal { fail(track.number, TalkieError(error.playbackCode, error.message)) }
    }

    /// Stops the pipelines; blocks until their threads have ended.
    func close() {
        for track in all { track.close() }
    }

    func wakeWaiting() { for track in all where context.list.isWaiting(track.cursor) { track.pipeline?.wake() } }
    func continueAfterEnd() { for track in all { track.pipeline?.resume() } }

    // MARK: Seeks and starts

    /// Sends all tracks to a position.
    func seek(to target: TrackTarget) { for track in all { track.seek(to: target) } }

    /// Removes an obsolete entry from the tracks that have read it. A track whose output cannot remove it, or whose end
    /// is unknown, is sent to the current position, which interrupts it.
    ///
    /// - Parameters:
    ///   - kept: The last entry that remains.
    ///   - time: Its end on the timeline; nil if unknown.
    ///   - shortens: Whether a sound that has enqueued beyond this time has read it as well.
    func withdraw(_ serial: Int, after kept: Int, at time: MediaTime?, shortens: Bool, target: TrackTarget) {
        // A pending seek reads by the list as it is now; a cut would follow it and end the current entry.
        for track in all where track.pipeline?.isSeekPending != true {
            let until = track.renderer.progress.enqueuedUntil
            let isBeyond = shortens && (time.flatMap { time in until.map { $0 > time } } ?? false)
            guard isBeyond || context.list.hasEntered(serial, track.cursor) else { continue }
            guard let time, track.cut(after: kept, at: time) else {
                track.seek(to: target)
                continue
            }
        }
    }

    /// Continues removals whose pipelines have stopped.
    func proceedWithCuts() {
        for track in all {
            track.proceedWithCut { [mailbox = context.mailbox, number = track.number] cut, result in
                mailbox.post { $0.tracks.added.endCut(cut, of: number, result, target: $0.seeks.trackTarget) }
            }
        }
    }

    /// Continues after the renderer of a sound has answered a removal.
    private func endCut(_ cut: Int, of number: Int, _ result: PartialFlushResult, target: TrackTarget) {
        guard let track = all.first(where: { $0.number == number }) else { return }
        if !track.endCut(cut, result) { track.seek(to: target) }
    }

    /// Changes the selection of a sound. Sends it to a position if another track is read on a scheduled entry.
    func setTrack(_ choice: AudioTrackChoice, of number: Int, target: @autoclosure () -> TrackTarget) {
        guard let track = all.first(where: { $0.number == number }) else { return }
        let old = track.choice.withLock { current in
            defer { current = choice }
            return current
        }
        let isOther = context.list.list.entries.contains { entry in
            choice.track(in: entry.film.summary) != old.track(in: entry.film.summary)
        }
        if isOther {
            track.seek(to: target())
        } else if let current = context.list.current, choice != old {
            reportLack(of: track, in: current.film.summary)
        }
    }

    /// Publishes the tracks of the current entry, if they have changed, and reports tracks that the film lacks.
    func publishTracks() {
        let published = context.status.state.addedTracks
        guard !all.isEmpty || !published.isEmpty else { return }
        var tracks: [AddedAudioID: Track] = [:]
        if context.status.isUnderWay, let summary = context.list.current?.film.summary {
            for track in all {
                let (id, choice) = (AddedAudioID(number: track.number), track.choice.withLock { $0 })
                tracks[id] = choice.track(in: summary)
                if tracks[id] != published[id] { reportLack(of: track, in: summary) }
            }
        }
        if tracks != published { context.status.change { $0.addedTracks = tracks } }
    }

    /// Reports a track that a film lacks. Music has neither purposes nor languages to miss.
    private func reportLack(of track: AddedAudioTrack, in summary: MediaSummary) {
        let (choice, hasVideo) = (
            track.choice.withLock { $0 }, summary.tracks.contains { $0.kind == .video && !$0.isCoverArt }
        )
        guard hasVideo, let lack = choice.lack(of: choice.track(in: summary), on: track.outputNames) else { return }
        context.status.message(lack)
    }

    // MARK: Outputs that are not ready

    /// Notes the tracks that a start has waited for in vain.
    func recordLate(_ waits: [OutputWait]) {
        for track in all where waits.contains(where: { $0.id == track.outputID }) { track.isLate = true }
    }

    /// Lets starts wait again for tracks that have become ready.
    func forgetReady() {
        for track in all where track.isLate && track.renderer.startWait == nil { track.isLate = false }
    }

    /// Whether an output belongs to a sound for which a start has waited in vain.
    func isLate(_ output: OutputID?) -> Bool { all.contains { $0.isLate && $0.outputID == output } }

    /// Whether all tracks have reached the target of a seek, so that their renderers hold its media.
    func haveReached(_ serial: Int) -> Bool {
        // Another seek with the same serial may follow, when its track is changed meanwhile.
        all.allSatisfy { $0.isLost || $0.pipeline.map { $0.status.seekSerial == serial && !$0.isSeekPending } ?? true }
    }

    /// Drains tracks whose successor is not ready, or for which an item has no audio, so that no start waits for them.
    func drainTails(isStarting: Bool) {
        for track in all where context.list.isWaiting(track.cursor) && !track.renderer.progress.isDrained {
            if isStarting {
                guard track.renderer.startWait?.cause == .audio else { continue }
            } else {
                let until = track.renderer.progress.enqueuedUntil ?? .zero
                guard (until - context.playhead).duration < Self.tailLead else { continue }
            }
            context.list.end(track.cursor)
            track.pipeline?.wake()
        }
    }
}
