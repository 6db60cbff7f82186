internal import MediaCore
internal import SyncRendering

/// Reads the video of successive entries for their decoders and enqueues the frames at their position on the timeline,
/// as far as they are in time (`DecodingLoad`).
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
        var open: @Sendable (PrefetchedMedia, Track) throws(MediaError) -> VideoReader
        /// Reports a message to the user; any thread.
        var tell: @Sendable (String) -> Void = { _ in }
    }

    private let setting: Setting
    private var layer: DisplayLayer { setting.layer }
    private var list: SharedPlaybackList { setting.list }
    var intake: TrackIntake? { setting.intake }
    /// The entry being decoded; nil before the first seek.
    private var entry: PlaybackList.ScheduledItem?
    /// The open track; nil before the first one, and in an entry without video.
    private var reader: VideoReader?
    private let source: StageSource
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
    /// - Parameter reader: That of the first entry.
    init(_ setting: Setting, reader: VideoReader) {
        (self.setting, self.reader) = (setting, reader)
        source = StageSource(reader.source)
    }

    /// Creates a stage that starts with the successor of an entry without video.
    init(_ setting: Setting, behind entry: PlaybackList.ScheduledItem) {
        self.setting = setting
        self.entry = entry
        source = StageSource()
        isAtEnd = true
        setting.list.markEntered(entry.serial, .video)
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
        list.markEntered(entry.serial, .video)
        guard let track = entry.videoTrack else {
            showNothing(at: time)
            return time
        }
        do throws(MediaError) {
            if reader?.film !== entry.film || reader?.source.track != track {
                try use(setting.open(entry.media, track))
            }
            // Undecodable cover art is replaced by black at this position.
            stillTime = time
            let landed = try reader?.seek(to: time - (entry.offset ?? .zero), aim: aim)
            isAtEnd = false
            return landed.map { $0 + (entry.offset ?? .zero) }
        } catch {
            if error.code == .cancelled { throw error }
            // A failed source ends.
            list.recordFailure(error, at: time - (entry.offset ?? .zero), .video, of: entry.serial)
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
        list.markEntered(serial, .video)
    }

    private func use(_ reader: VideoReader?) throws(MediaError) {
        try source.replace(reader?.source)
        self.reader = reader
    }

    // MARK: Steps

    func step() throws(MediaError) -> TrackStep {
        load.reportSkipped()
        guard let entry else { return .full }
        if isAtEnd { return try proceed(behind: entry) }
        guard let reader else { return reachEnd(of: entry) }
        defer { recordRead(reader) }
        guard layer.isReadyForMoreMediaData else { return try readAhead(reader) ? .moved : .full }
        load.prepare(reader.frames, for: layer, offset: entry.offset ?? .zero)
        let step = reader.frames.step()
        // The layer may have been flushed for another item while the decoder blocked.
        try source.checkCancellation()
        switch step {
        case .frame(let frame): return enqueue(frame, of: entry, from: reader)
        case .moved: return .moved
        case .starved:
            try read(reader)
            return .moved
        case .ended:
            if reader.isSingleFrame {
                if !reader.frames.hasDelivered { leaveOut(of: entry) }
            } else {
                recordEnd(of: entry, reader)
            }
            return reachEnd(of: entry)
        }
    }

    /// Reads a packet; returns false if none can be read.
    @discardableResult
    private func read(_ reader: VideoReader) throws(MediaError) -> Bool {
        do throws(MediaError) {
            let hasRead = try reader.read(noting: intake)
            // The layer may have been flushed for another item while a read blocked.
            try source.checkCancellation()
            return hasRead
        } catch {
            if !source.isCancelled { layer.finish() }
            throw error
        }
    }

    /// Records the end of the video and its errors.
    private func recordEnd(of entry: PlaybackList.ScheduledItem, _ reader: VideoReader) {
        let end = load.lastEnd.map { $0 - (entry.offset ?? .zero) }
        if reader.decoder.decodeErrorCount > 0 { list.recordDamage(of: entry.serial) }
        if let end {
            list.recordRead(videoUntil: end, failure: reader.frames.failure, of: entry.serial)
        } else if let error = reader.frames.failure ?? Self.undecodable(reader) {
            list.recordFailure(error, at: entry.start, .video, of: entry.serial)
        }
    }

    /// Returns the error of a track that was read to its end without a decoded frame; nil without a decode error.
    private static func undecodable(_ reader: VideoReader) -> MediaError? {
        guard reader.decoder.decodeErrorCount > 0 else { return nil }
        return MediaError(
            .damagedPacket, "no picture of it can be decoded; it is damaged, or it needs a newer FFmpeg")
    }

    /// Reads packets in advance as the engine requires, although the layer is full.
    ///
    /// - Returns: False if nothing was read.
    private func readAhead(_ reader: VideoReader) throws(MediaError) -> Bool {
        guard let intake, intake.wantsMore, !reader.isSingleFrame else { return false }
        if try read(reader) { return true }
        intake.markSated()
        return false
    }

    private func recordRead(_ reader: VideoReader) {
        if let until = reader.readUntil { intake?.record(readUntil: shift.moved(until)) }
        guard let entry, let lost = reader.consumeLostSegment() else { return }
        list.record(lostSegment: lost.error, at: lost.place ?? entry.start, .video, of: entry.serial)
    }

    /// Records the end of a frame. Where its stated duration is wrong, the interval to the preceding frame counts.
    private func recordEnqueued(until end: MediaTime, from time: MediaTime) {
        let until = max(end, time + (lastTime.map { max(.zero, time - $0) } ?? .zero))
        lastTime = time
        intake?.record(handedUntil: until)
        intake?.record(readUntil: until)
    }

    private func enqueue(
        _ frame: SampleBuffer, of entry: PlaybackList.ScheduledItem, from reader: VideoReader
    ) -> TrackStep {
        var frame = frame
        if reader.isStill {
            // Cover art lasts for the whole entry, regardless of its timestamp.
            (frame.presentationTime, frame.duration) = (stillTime, .zero)
            layer.enqueue(frame)
            setting.progress.report()
            return reachEnd(of: entry)
        }
        guard var time = frame.presentationTime else { return .moved }
        if let end = entry.limit, time >= end { return reachEnd(of: entry) }
        time = shift.moved(time)
        frame.presentationTime = time
        if let begin = entry.begin {
            // The last frame of the preceding item must not remain.
            if isGaplessBoundary, (time - begin).duration > Self.longestStart { showNothing(at: begin) }
            if begin != .zero, time < begin, let end = frame.end, end > begin, entry.offset != .zero || entry.isSection
            {
                // The frame that spans the start of the entry.
                time = begin
                (frame.presentationTime, frame.duration) = (begin, end - begin)
            }
        }
        isGaplessBoundary = false
        if let gaplessBoundary = list.settledEnd(of: entry.serial) {
            if time >= gaplessBoundary { return reachEnd(of: entry) }
            if let end = frame.end, end > gaplessBoundary { frame.duration = gaplessBoundary - time }
        }
        recordEnqueued(until: frame.end ?? time, from: time)
        if load.admits(frame, of: reader.frames, to: layer, offset: shift.offset) { layer.enqueue(frame) }
        setting.progress.report()
        return .moved
    }

    /// Replaces an undecodable image by black and reports it.
    private func leaveOut(of entry: PlaybackList.ScheduledItem) {
        let consequence = entry.audioTrack == nil ? "it is skipped." : "the sound plays without it."
        setting.tell("The picture of “\(entry.title)” is damaged or too large; \(consequence)")
        showNothing(at: stillTime)
    }

    private func reachEnd(of entry: PlaybackList.ScheduledItem) -> TrackStep {
        isAtEnd = true
        if let end = load.lastEnd ?? entry.begin {
            list.setTrackEnd(.at(end - (entry.offset ?? .zero)), .video, of: entry.serial)
        }
        return .moved
    }

    private func proceed(behind entry: PlaybackList.ScheduledItem) throws(MediaError) -> TrackStep {
        switch list.successor(of: entry.serial, .video) {
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
        let skipPolicy = reader?.decoder.skipPolicy
        try use(list.removePreparedVideo(of: next.serial))
        entry = next
        shift = TimeShift(next.offset ?? .zero)
        (load.lastEnd, lastTime, isGaplessBoundary, stillTime) = (nil, nil, true, next.begin ?? .zero)
        isAtEnd = reader == nil
        // The machine is as slow as during the preceding item.
        if let skipPolicy { reader?.decoder.skipPolicy = skipPolicy }
        if reader == nil { showNothing(at: next.begin ?? .zero) }
        list.markEntered(next.serial, .video)
    }

    /// Shows black from a position on.
    private func showNothing(at time: MediaTime) {
        layer.enqueue(BlankFrame.buffer(at: time))
        setting.progress.report()
    }

    func askForRoom(raising signal: Signal) { layer.requestMediaData(raising: signal) }

    func cancel() { source.cancel() }
}
