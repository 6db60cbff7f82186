internal import MediaCore
internal import Profiles
internal import SyncRendering

/// Owns the additional audio tracks, each with a renderer and outputs. They follow the main track through the list and
/// through seeks, in speed and delay. None delays playback longer than the main track. Confined to the player's thread.
final class AddedSounds {
    /// Without a successor, buffered audio is drained from the converters this long before it plays.
    private static let tailLead: Duration = .milliseconds(500)
    /// The delay before an output that failed is opened again.
    private static let retryDelay: Duration = .seconds(15)

    private(set) var all: [AddedSound] = []
    private let context: PlayerContext

    init(_ context: PlayerContext) { self.context = context }

    private var calibration: RouteCalibration? { context.parts.calibration }

    /// Adds a sound without a pipeline.
    func add(_ choice: SoundTrackChoice, to output: any AudioDestination, number: Int) -> AddedSound {
        // Applied before playback: a later change would be a discontinuity of its audio.
        if let group = output as? OutputGroup { calibration?.include(group) }
        calibration?.apply()
        let sound = AddedSound(
            number: number, choice: choice, output: output, codecs: context.parts.codecs, events: context.events)
        sound.renderer.onEvent(
            context.handler { engine, error in engine.tracks.added.fail(number, error) })
        sound.renderer.onCommand(context.commandHandler)
        all.append(sound)
        return sound
    }

    /// Removes a sound; its output is closed in the background.
    ///
    /// - Parameter done: Called once its output is closed, on any thread.
    func remove(_ number: Int, done: @escaping @Sendable () -> Void = {}) {
        guard let index = all.firstIndex(where: { $0.number == number }) else { return done() }
        let sound = all.remove(at: index)
        if let group = sound.output as? OutputGroup { calibration?.exclude(group) }
        sound.pipeline?.stop()
        sound.renderer.onEvent(nil)
        sound.renderer.onCommand(nil)
        context.synchronizer.removeRenderer(sound.renderer) { _ in done() }
    }

    /// Continues without a sound whose output or decoder has failed.
    func fail(_ number: Int, _ failure: TalkieError) {
        guard let sound = all.first(where: { $0.number == number }), !sound.isLost else { return }
        sound.isLost = true
        // Audio that cannot be decoded fails again.
        sound.retry = failure.code == .failed ? nil : context.clock.now.advanced(by: Self.retryDelay)
        guard sound.reported != failure.message else { return }
        sound.reported = failure.message
        context.status.message(Sentences.joined(failure.message, "The other outputs continue."))
    }

    /// Opens outputs that have failed again, when that is due.
    func retryLost(from target: @autoclosure () -> TrackTarget) {
        guard all.contains(where: \.isLost) else { return }
        let now = context.clock.now
        for sound in all where sound.isLost && sound.pipeline != nil && sound.retry.map({ $0 <= now }) ?? false {
            (sound.isLost, sound.retry) = (false, nil)
            sound.seek(to: target())
        }
    }

    // MARK: Playlist

    /// Creates the missing pipelines; they start at a seek target, or with the successor of an entry.
    func addPipelines(behind entry: PlaybackList.ScheduledItem) {
        for sound in all where sound.pipeline == nil {
            sound.isLost = false
            addPipeline(to: sound, behind: entry)
        }
    }

    /// Starts a sound at a position of the current entry, if there is one.
    func start(_ sound: AddedSound, at target: TrackTarget) {
        guard let entry = context.list.current, context.status.isUnderWay else { return }
        addPipeline(to: sound, behind: entry)
        sound.seek(to: target)
    }

    /// Creates the pipeline of a sound; removes a sound that the synchronizer refuses.
    private func addPipeline(to sound: AddedSound, behind entry: PlaybackList.ScheduledItem) {
        if let refusal = context.synchronizer.addRenderer(sound.renderer), refusal.code != .alreadyAdded {
            remove(sound.number)
            return context.status.message(refusal.message)
        }
        let pipeline = context.pipeline(
            AudioStage(
                list: context.list, cursor: sound.cursor, renderer: sound.renderer,
                replayGain: context.options.replayGain,
                choose: { [choice = sound.choice] in choice.withLock { $0 }.track(in: $0.film.summary) },
                behind: entry, intake: TrackIntake(clock: context.clock)))
        sound.pipeline = pipeline
        context.start(pipeline, "audio reader")
        if let error = pipeline.refusal { fail(sound.number, TalkieError(error.playbackCode, error.message)) }
    }

    /// Stops the pipelines; blocks until their threads have ended.
    func close() {
        for sound in all { sound.close() }
    }

    func wakeWaiting() { for sound in all where context.list.isWaiting(sound.cursor) { sound.pipeline?.wake() } }
    func continueAfterEnd() { for sound in all { sound.pipeline?.resume() } }

    // MARK: Seeks and starts

    /// Sends all tracks to a position.
    func seek(to target: TrackTarget) { for sound in all { sound.seek(to: target) } }

    /// Removes an obsolete entry from the sounds that have read it. A sound whose output cannot remove it, or whose end
    /// is unknown, is sent to the current position, which interrupts it.
    ///
    /// - Parameters:
    ///   - kept: The last entry that remains.
    ///   - time: Its end on the timeline; nil if unknown.
    ///   - shortens: Whether a sound that has enqueued beyond this time has read it as well.
    func withdraw(_ serial: Int, after kept: Int, at time: MediaTime?, shortens: Bool, target: TrackTarget) {
        // A pending seek reads by the list as it is now; a cut would follow it and end the current entry.
        for sound in all where sound.pipeline?.isSeekPending != true {
            let until = sound.renderer.progress.enqueuedUntil
            let isBeyond = shortens && (time.flatMap { time in until.map { $0 > time } } ?? false)
            guard isBeyond || context.list.hasEntered(serial, sound.cursor) else { continue }
            guard let time, sound.cut(after: kept, at: time) else {
                sound.seek(to: target)
                continue
            }
        }
    }

    /// Continues removals whose pipelines have stopped.
    func proceedWithCuts() {
        for sound in all {
            sound.proceedWithCut { [mailbox = context.mailbox, number = sound.number] cut, result in
                mailbox.post { $0.tracks.added.endCut(cut, of: number, result, target: $0.seeks.trackTarget) }
            }
        }
    }

    /// Continues after the renderer of a sound has answered a removal.
    private func endCut(_ cut: Int, of number: Int, _ result: PartialFlushResult, target: TrackTarget) {
        guard let sound = all.first(where: { $0.number == number }) else { return }
        if !sound.endCut(cut, result) { sound.seek(to: target) }
    }

    /// Changes the selection of a sound. Sends it to a position if another track is read on a scheduled entry.
    func setTrack(_ choice: SoundTrackChoice, of number: Int, target: @autoclosure () -> TrackTarget) {
        guard let sound = all.first(where: { $0.number == number }) else { return }
        let old = sound.choice.withLock { current in
            defer { current = choice }
            return current
        }
        let isOther = context.list.list.entries.contains { entry in
            choice.track(in: entry.film.summary) != old.track(in: entry.film.summary)
        }
        if isOther { sound.seek(to: target()) }
    }

    /// Publishes the tracks of the current entry, if they have changed.
    func publishTracks() {
        let published = context.status.state.addedTracks
        guard !all.isEmpty || !published.isEmpty else { return }
        var tracks: [SoundID: Track] = [:]
        if context.status.isUnderWay, let summary = context.list.current?.film.summary {
            for sound in all { tracks[SoundID(number: sound.number)] = sound.choice.withLock { $0 }.track(in: summary) }
        }
        if tracks != published { context.status.change { $0.addedTracks = tracks } }
    }

    // MARK: Outputs that are not ready

    /// Notes the sounds that a start has waited for in vain.
    func noteLate(_ waits: [OutputWait]) {
        for sound in all where waits.contains(where: { $0.id == sound.outputID }) { sound.isLate = true }
    }

    /// Lets starts wait again for sounds that have become ready.
    func forgetReady() {
        for sound in all where sound.isLate && sound.renderer.startWait == nil { sound.isLate = false }
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
        for sound in all where context.list.isWaiting(sound.cursor) && !sound.renderer.progress.isDrained {
            if isStarting {
                guard sound.renderer.startWait?.cause == .audio else { continue }
            } else {
                let until = sound.renderer.progress.enqueuedUntil ?? .zero
                guard (until - context.playhead).duration < Self.tailLead else { continue }
            }
            context.list.end(sound.cursor)
            sound.pipeline?.wake()
        }
    }
}
