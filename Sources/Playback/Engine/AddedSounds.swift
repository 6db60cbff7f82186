internal import MediaCore
internal import Profiles
internal import SyncRendering

/// Owns the additional audio tracks, each with a renderer and outputs. They follow the main track through the list and
/// through seeks, in speed and delay. None delays playback longer than the main track. Confined to the player's thread.
final class AddedSounds {
    /// Without a successor, buffered audio is drained from the converters this long before it plays.
    private static let tailLead: Duration = .milliseconds(500)

    private(set) var all: [AddedSound] = []
    private let context: PlayerContext

    init(_ context: PlayerContext) { self.context = context }

    private var calibration: RouteCalibration? { context.parts.calibration }

    /// Adds a sound without a pipeline.
    func add(_ choice: SoundTrackChoice, to output: any AudioOutput, number: Int) -> AddedSound {
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
    func remove(_ number: Int) {
        guard let index = all.firstIndex(where: { $0.number == number }) else { return }
        let sound = all.remove(at: index)
        if let group = sound.output as? OutputGroup { calibration?.exclude(group) }
        sound.pipeline?.stop()
        sound.renderer.onEvent(nil)
        sound.renderer.onCommand(nil)
        context.synchronizer.removeRenderer(sound.renderer, completion: nil)
    }

    /// Continues without a sound whose output or decoder has failed.
    func fail(_ number: Int, _ failure: TalkieError) {
        guard let sound = all.first(where: { $0.number == number }), !sound.isLost else { return }
        sound.isLost = true
        context.status.message(Sentences.joined(failure.message, "The other outputs continue."))
    }

    // MARK: Playlist

    /// Creates the missing pipelines; they start at a seek target, or with the successor of an entry.
    func addPipelines(behind entry: PlaybackList.ScheduledItem) {
        for sound in all where sound.pipeline == nil {
            sound.isLost = false
            addPipeline(to: sound, behind: entry)
        }
    }

    /// Creates the pipeline of a sound; removes a sound that the synchronizer refuses.
    func addPipeline(to sound: AddedSound, behind entry: PlaybackList.ScheduledItem) {
        if let refusal = context.synchronizer.addRenderer(sound.renderer), refusal.code != .alreadyAdded {
            remove(sound.number)
            return context.status.message(refusal.message)
        }
        let pipeline = context.pipeline(
            AudioStage(
                list: context.list, cursor: sound.cursor, renderer: sound.renderer,
                replayGain: context.options.replayGain,
                choose: { [choice = sound.choice] in AddedSound.track(choice, of: $0) },
                behind: entry, intake: TrackIntake(clock: context.clock)))
        sound.pipeline = pipeline
        context.start(pipeline, "audio reader")
        if let error = pipeline.refusal { fail(sound.number, TalkieError(error.playbackCode, error.message)) }
    }

    func close() {
        for sound in all {
            sound.pipeline?.stop()
            sound.pipeline = nil
            sound.renderer.flush()
            sound.renderer.stopRequestingMediaData()
        }
    }

    func wakeWaiting() { for sound in all where context.list.isWaiting(sound.cursor) { sound.pipeline?.wake() } }
    func continueAfterEnd() { for sound in all { sound.pipeline?.resume() } }

    // MARK: Seeks and starts

    /// Sends all tracks to a position.
    func seek(to target: TrackTarget) { for sound in all { sound.seek(to: target) } }

    /// Sends tracks that have read an obsolete entry to the current position; only their audio is interrupted.
    ///
    /// - Parameter time: A track that has enqueued beyond this time has read it as well.
    func reread(from target: TrackTarget, thatEntered serial: Int, handedBeyond time: MediaTime? = nil) {
        for sound in all {
            let until = sound.renderer.progress.enqueuedUntil
            let isBeyond = time.map { time in until.map { $0 > time } ?? false } ?? false
            if isBeyond || context.list.hasEntered(serial, sound.cursor) { sound.seek(to: target) }
        }
    }

    /// Whether all tracks have reached the target of a seek, so that their renderers hold its media.
    func haveReached(_ serial: Int) -> Bool {
        all.allSatisfy { $0.isLost || $0.pipeline.map { $0.status.seekSerial == serial } ?? true }
    }

    /// Drains tracks whose successor is not ready, or for which an item has no audio, so that no start waits for them.
    func drainTails(isStarting: Bool) {
        for sound in all where context.list.isWaiting(sound.cursor) && !sound.renderer.progress.isDrained {
            if isStarting {
                guard sound.renderer.startWait?.cause == .sound else { continue }
            } else {
                let until = sound.renderer.progress.enqueuedUntil ?? .zero
                guard (until - context.playhead).duration < Self.tailLead else { continue }
            }
            context.list.end(sound.cursor)
            sound.pipeline?.wake()
        }
    }
}
