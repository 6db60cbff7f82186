internal import MediaCore
internal import SyncRendering

/// Reads and decodes the video of successive entries and enqueues the frames at their position on the timeline, as far
/// as they are in time (`DecodingLoad`).
///
/// Confined to the pipeline's thread, except `cancel`.
final class VideoStage: TrackStage {
    /// The components that a stage uses.
    struct Setting {
        var list: SharedPlaybackList
        var layer: DisplayLayer
        var progress: ProgressGate
        var intake: TrackIntake?
        /// Opens a video track.
        var open: @Sendable (PrefetchedMedia, Track) throws(MediaError) -> PictureTrack
        /// Reports a message to the user; any thread.
        var tell: @Sendable (String) -> Void = { _ in }
    }

    private let setting: Setting
    private var layer: DisplayLayer { setting.layer }
    private var list: SharedPlaybackList { setting.list }
    var intake: TrackIntake? { setting.intake }
    /// The entry being decoded; nil before the first seek.
    private var entry: PlaybackList.ScheduledItem?
    /// The open track, and whether the stage was cancelled; guarded by its own lock.
    private let pictures: Lock<(track: PictureTrack?, isCancelled: Bool)>
    /// Whether all frames of the entry were enqueued.
    private var isAtEnd = false
    private var shift = TimeShift(.zero)
    /// The time of the last enqueued frame on the timeline.
    private var lastTime: MediaTime?
    /// Whether the next frame is the first after a gapless boundary.
    private var isGaplessBoundary = false
    /// The position at which cover art is shown.
    private var stillTime = MediaTime.zero
    private var load = DecodingLoad()

    /// If the first frame comes later than this, black precedes it.
    private static let longestStart: Duration = .milliseconds(250)

    /// Creates a stage with an open track.
    ///
    /// - Parameter pictures: The track of the first entry.
    init(_ setting: Setting, pictures: PictureTrack) {
        self.setting = setting
        self.pictures = Lock((pictures, false))
    }

    /// Creates a stage that starts with the successor of an entry without video.
    init(_ setting: Setting, behind entry: PlaybackList.ScheduledItem) {
        self.setting = setting
        self.entry = entry
        pictures = Lock((nil, false))
        isAtEnd = true
        setting.list.markEntered(entry.serial, .picture)
    }

    // MARK: Seeking

    func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime? {
        layer.flush()
        (lastTime, isGaplessBoundary) = (nil, false)
        load.reset()
        guard let entry = list.current else { return time }
        self.entry = entry
        // Nothing is decoded until its source is open.
        isAtEnd = true
        shift = TimeShift(entry.offset ?? .zero)
        list.markEntered(entry.serial, .picture)
        guard let track = entry.videoTrack else {
            showNothing(at: time)
            return time
        }
        do throws(MediaError) {
            if present?.film !== entry.film || present?.source.track != track {
                try useTrack(setting.open(entry.media, track))
            }
            // Undecodable cover art is replaced by black at this position.
            stillTime = time
            let landed = try present?.seek(to: time - (entry.offset ?? .zero), aim: aim)
            isAtEnd = false
            return landed.map { $0 + (entry.offset ?? .zero) }
        } catch {
            if error.code == .cancelled { throw error }
            // A failed source ends.
            list.recordFailure(error, at: time - (entry.offset ?? .zero), .picture, of: entry.serial)
            _ = reachEnd(of: entry)
            return time
        }
    }

    /// Returns to an entry after its successors, or its end, have changed; its own frames continue up to that end.
    func cut(after serial: Int) {
        guard let kept = list.entry(serial) else { return }
        if let gaplessBoundary = kept.gaplessBoundary {
            layer.flush(fromSourceTime: gaplessBoundary)
            let isShort = kept.serial == entry?.serial && !isAtEnd && load.lastEnd.map { $0 < gaplessBoundary } ?? true
            if !isShort { (isAtEnd, load.lastEnd) = (true, nil) }
        }
        entry = kept
        list.markEntered(serial, .picture)
    }

    private var present: PictureTrack? { pictures.withLock { $0.track } }
    private var isCancelled: Bool { pictures.withLock { $0.isCancelled } }

    private func useTrack(_ track: PictureTrack?) throws(MediaError) {
        let isCancelled = pictures.withLock { pictures in
            if !pictures.isCancelled { pictures.track = track }
            return pictures.isCancelled
        }
        if isCancelled { throw MediaError(.cancelled, "reading was cancelled") }
    }

    // MARK: Steps

    func step() throws(MediaError) -> TrackStep {
        load.reportSkipped()
        guard let entry else { return .full }
        if isAtEnd { return try proceed(behind: entry) }
        guard layer.isReadyForMoreMediaData else { return try readAhead() ? .moved : .full }
        guard let present else { return reachEnd(of: entry) }
        do throws(MediaError) {
            defer { noteRead(present) }
            load.prepare(present.frames, for: layer, offset: entry.offset ?? .zero)
            let step = try present.step(noting: intake)
            // The layer may have been flushed for another item while a read blocked.
            if isCancelled { throw MediaError(.cancelled, "reading was cancelled") }
            switch step {
            case .picture(let picture): return enqueue(picture, of: entry, from: present)
            case .moved: return .moved
            case .ended:
                if present.isOnePicture {
                    if !present.frames.hasDelivered { leaveOut(of: entry) }
                } else {
                    noteEnd(of: entry, present)
                }
                return reachEnd(of: entry)
            }
        } catch {
            if !isCancelled { layer.finish() }
            throw error
        }
    }

    /// Records the end of the video and its errors.
    private func noteEnd(of entry: PlaybackList.ScheduledItem, _ pictures: PictureTrack) {
        let end = load.lastEnd.map { $0 - (entry.offset ?? .zero) }
        if pictures.decoder.decodeErrorCount > 0 { list.noteDamage(of: entry.serial) }
        if let end {
            list.noteRead(picturesUntil: end, failure: pictures.failure, of: entry.serial)
        } else if let error = pictures.failure ?? Self.undecodable(pictures) {
            list.recordFailure(error, at: entry.start, .picture, of: entry.serial)
        }
    }

    /// Returns the error of a track that was read to its end without a decoded frame; nil without a decode error.
    private static func undecodable(_ pictures: PictureTrack) -> MediaError? {
        guard pictures.decoder.decodeErrorCount > 0 else { return nil }
        return MediaError(
            .damagedPacket, "no picture of it can be decoded; it is damaged, or it needs a newer FFmpeg")
    }

    /// Reads packets in advance as the engine requires, although the layer is full.
    ///
    /// - Returns: False if nothing was read.
    private func readAhead() throws(MediaError) -> Bool {
        guard let intake, intake.wantsMore, let present, !present.isOnePicture else { return false }
        defer { noteRead(present) }
        if try present.readAhead(noting: intake) { return true }
        intake.noteSated()
        return false
    }

    private func noteRead(_ present: PictureTrack) {
        if let until = present.readUntil { intake?.record(readUntil: shift.moved(until)) }
        guard let entry, let lost = present.takeLostSegment() else { return }
        list.record(lostSegment: lost.error, at: lost.place ?? entry.start, .picture, of: entry.serial)
    }

    /// Records the end of the enqueued frame. If the container states a wrong duration, the interval to the preceding
    /// frame counts.
    private func noteHanded(_ picture: SampleBuffer) {
        guard let intake, let time = picture.presentationTime else { return }
        let interval = lastTime.map { max(.zero, time - $0) } ?? .zero
        let until = max(picture.end ?? time, time + interval)
        lastTime = time
        intake.record(handedUntil: until)
        intake.record(readUntil: until)
    }

    private func enqueue(
        _ picture: SampleBuffer, of entry: PlaybackList.ScheduledItem, from track: PictureTrack
    ) -> TrackStep {
        var picture = picture
        if track.isStill {
            // Cover art lasts for the whole entry, regardless of its timestamp.
            (picture.presentationTime, picture.duration) = (stillTime, .zero)
            layer.enqueue(picture)
            setting.progress.report()
            return reachEnd(of: entry)
        }
        if let end = entry.limit, let time = picture.presentationTime, time >= end { return reachEnd(of: entry) }
        picture.presentationTime = picture.presentationTime.map(shift.moved)
        if isGaplessBoundary, let begin = entry.begin, let time = picture.presentationTime {
            isGaplessBoundary = false
            // The last frame of the preceding item must not remain.
            if (time - begin).duration > Self.longestStart { showNothing(at: begin) }
        }
        if let begin = entry.begin, begin != .zero, let time = picture.presentationTime, time < begin,
            let end = picture.end, end > begin, entry.offset != .zero || entry.isPart
        {
            // The frame that spans the start of the entry.
            picture.presentationTime = begin
            picture.duration = end - begin
        }
        if let gaplessBoundary = list.settledEnd(of: entry.serial), let time = picture.presentationTime {
            if time >= gaplessBoundary { return reachEnd(of: entry) }
            if let end = picture.end, end > gaplessBoundary { picture.duration = gaplessBoundary - time }
        }
        noteHanded(picture)
        if load.admits(picture, of: track.frames, to: layer, offset: shift.offset) { layer.enqueue(picture) }
        setting.progress.report()
        return .moved
    }

    /// Replaces an undecodable image by black and reports it.
    private func leaveOut(of entry: PlaybackList.ScheduledItem) {
        let sound = entry.audioTrack == nil ? "it is skipped." : "the sound plays without it."
        setting.tell("The picture of “\(entry.title)” is damaged or too large; \(sound)")
        showNothing(at: stillTime)
    }

    private func reachEnd(of entry: PlaybackList.ScheduledItem) -> TrackStep {
        isAtEnd = true
        if let end = load.lastEnd ?? entry.begin {
            list.setTrackEnd(.at(end - (entry.offset ?? .zero)), .picture, of: entry.serial)
        }
        return .moved
    }

    private func proceed(behind entry: PlaybackList.ScheduledItem) throws(MediaError) -> TrackStep {
        switch list.successor(of: entry.serial, .picture) {
        case .wait: return .full
        case .finish:
            layer.finish()
            return .full
        case .end:
            layer.finish()
            return .ended
        case .entry(let next):
            try begin(next)
            return .moved
        }
    }

    private func begin(_ next: PlaybackList.ScheduledItem) throws(MediaError) {
        let skipPolicy = present?.decoder.skipPolicy
        try useTrack(list.takePictures(of: next.serial))
        entry = next
        shift = TimeShift(next.offset ?? .zero)
        (load.lastEnd, lastTime, isGaplessBoundary, stillTime) = (nil, nil, true, next.begin ?? .zero)
        isAtEnd = present == nil
        // The machine is as slow as during the preceding item.
        if let skipPolicy { present?.decoder.skipPolicy = skipPolicy }
        if present == nil { showNothing(at: next.begin ?? .zero) }
        list.markEntered(next.serial, .picture)
    }

    /// Shows black from a position on.
    private func showNothing(at time: MediaTime) {
        layer.enqueue(BlankPicture.buffer(at: time))
        setting.progress.report()
    }

    func askForRoom(raising signal: Signal) { layer.requestMediaData(raising: signal) }

    func cancel() {
        let track = pictures.withLock { pictures -> PictureTrack? in
            pictures.isCancelled = true
            return pictures.track
        }
        track?.cancel()
    }
}
