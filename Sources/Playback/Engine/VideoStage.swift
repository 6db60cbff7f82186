internal import MediaCore
internal import SyncRendering

/// Reads and decodes the video of successive entries and enqueues the frames at their position on the timeline.
///
/// If the machine is too slow, the skip policy of the decoder changes before complete frames are lost at the screen.
/// Confined to the pipeline's thread, except `cancel`.
final class VideoStage: TrackStage {
    /// The components that a stage uses.
    struct Setting {
        var list: SharedPlaybackList
        var layer: DisplayLayer
        var timebase: Timebase
        var events: EventLog
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
    /// The end of the last decoded frame on the timeline.
    private var lastEnd: MediaTime?
    /// The time of the last enqueued frame on the timeline.
    private var lastTime: MediaTime?
    /// Whether the next frame is the first after a gapless boundary.
    private var isGaplessBoundary = false
    /// The position at which cover art is shown.
    private var stillTime = MediaTime.zero
    private var policy = SkipPolicySelector()
    /// The skip policy before fast playback exceeded the screen's frame rate; nil otherwise.
    private var unhurried: SkipPolicy?

    /// Frames that the decoder skipped before one that is not due yet: reported as dropped when it is.
    private var skipped: [(count: Int, from: MediaTime, until: MediaTime)] = []
    /// Whether the decoder skips to a frame that can be in time.
    private var isSkipping = false
    /// The distance of the last skip from the playhead; doubled by each frame that is late in spite of it.
    private var skipDistance = VideoStage.skips.lowerBound

    /// The shortest and the longest distance of a skip from the playhead.
    private static let skips = Duration.milliseconds(100)...Duration.seconds(1)
    /// The decoder returns sync frames only if its frames are later than this: they may be ten seconds apart.
    private static let longestDelay = Duration.seconds(1)

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
        (lastEnd, lastTime, isGaplessBoundary) = (nil, nil, false)
        (skipped, isSkipping, skipDistance) = ([], false, Self.skips.lowerBound)
        policy.reset()
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
            let isShort = kept.serial == entry?.serial && !isAtEnd && lastEnd.map { $0 < gaplessBoundary } ?? true
            if !isShort { (isAtEnd, lastEnd) = (true, nil) }
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
        reportSkipped()
        guard let entry else { return .full }
        if isAtEnd { return try proceed(behind: entry) }
        guard layer.isReadyForMoreMediaData else { return try readAhead() ? .moved : .full }
        guard let present else { return reachEnd(of: entry) }
        do throws(MediaError) {
            defer { noteRead(present) }
            let step = try stepAdaptively(present, of: entry)
            // The layer may have been flushed for another item while a read blocked.
            if isCancelled { throw MediaError(.cancelled, "reading was cancelled") }
            switch step {
            case .picture(let picture): return enqueue(picture, of: entry, from: present.decoder)
            case .moved: return .moved
            case .ended:
                if present.isOnePicture {
                    if !present.hasDelivered { leaveOut(of: entry) }
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

    /// Performs a step of the track, which may end the skip policy `syncOnly` at a sync frame that is not late.
    private func stepAdaptively(
        _ pictures: PictureTrack, of entry: PlaybackList.ScheduledItem
    ) throws(MediaError) -> PictureTrack.Step {
        adaptConversion(of: pictures.decoder)
        guard pictures.decoder.skipPolicy == .syncOnly else { return try pictures.step(noting: intake) }
        let timebase = setting.timebase
        pictures.playhead = timebase.rate > 0 ? timebase.currentTime - (entry.offset ?? .zero) : nil
        let step = try pictures.step(noting: intake)
        if pictures.decoder.skipPolicy > .syncOnly { policy.reset() }
        return step
    }

    /// Records the end of the video and its errors.
    private func noteEnd(of entry: PlaybackList.ScheduledItem, _ pictures: PictureTrack) {
        let end = lastEnd.map { $0 - (entry.offset ?? .zero) }
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
        _ picture: SampleBuffer, of entry: PlaybackList.ScheduledItem, from decoder: any PictureDecoder
    ) -> TrackStep {
        var picture = picture
        if present?.isStill == true {
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
        let delay = delay(of: picture)
        let followsSkip = isSkipping
        adaptEffort(to: picture, delay, of: decoder)
        noteHanded(picture)
        if delay.map({ picture.isExpired(after: $0.host, $0.media) }) == true, !layer.awaitsFirst {
            drop(picture, delay, decoder, again: followsSkip)
        } else {
            layer.enqueue(picture)
        }
        setting.progress.report()
        return .moved
    }

    /// Returns how late a decoded frame is, in host and media time; nil while the timeline is stopped.
    private func delay(of picture: SampleBuffer) -> (host: Duration, media: Duration)? {
        let timebase = setting.timebase
        guard timebase.rate > 0, let start = picture.presentationTime else { return nil }
        let media = (timebase.currentTime - start).duration
        return (media / timebase.rate, media)
    }

    /// Drops a frame that cannot be shown in time, and lets the decoder skip those that would be late as well: they are
    /// neither converted nor, if no other frame needs them, decoded.
    private func drop(
        _ picture: SampleBuffer, _ delay: (host: Duration, media: Duration)?, _ decoder: any PictureDecoder,
        again: Bool
    ) {
        guard let delay, let start = picture.presentationTime, let present else { return }
        setting.events.append(.framesDropped(count: 1, at: start, reason: .late))
        guard decoder.skipPolicy > .syncOnly, !present.isOnePicture else { return }
        // As far ahead as the decoder is behind: enough for one that skips twice as fast as the film is played. Farther
        // if that was not enough, also where the conversion of one frame lasts longer than several frames.
        skipDistance = min(max(delay.media, again ? skipDistance * 2 : skipDistance), Self.skips.upperBound)
        isSkipping = decoder.skipForward(to: (start - shift.offset).advanced(by: delay.media + skipDistance))
    }

    /// Replaces an undecodable image by black and reports it.
    private func leaveOut(of entry: PlaybackList.ScheduledItem) {
        let sound = entry.audioTrack == nil ? "it is skipped." : "the sound plays without it."
        setting.tell("The picture of “\(entry.title)” is damaged or too large; \(sound)")
        showNothing(at: stillTime)
    }

    private func reachEnd(of entry: PlaybackList.ScheduledItem) -> TrackStep {
        isAtEnd = true
        if let end = lastEnd ?? entry.begin {
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
        (lastEnd, lastTime, isGaplessBoundary, stillTime) = (nil, nil, true, next.begin ?? .zero)
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

    // MARK: Skip policy

    /// The frames that wait at the screen, below which the conversion is fast, and from which it is precise again.
    private static let waiting = (few: 2, enough: 4)

    /// Reduces the quality of the conversion while few frames wait at the screen, before any is late.
    private func adaptConversion(of decoder: any PictureDecoder) {
        let limit = decoder.prefersFastConversion ? Self.waiting.enough : Self.waiting.few
        decoder.prefersFastConversion = setting.timebase.rate > 0 && layer.count < limit
    }

    /// Adapts the skip policy: first no deblocking, then no non-reference frames, then sync frames only.
    private func adaptEffort(
        to picture: SampleBuffer, _ delay: (host: Duration, media: Duration)?, of decoder: any PictureDecoder
    ) {
        noteSkipped(before: picture, decoder)
        let followsSkip = isSkipping
        isSkipping = false
        guard let delay, let end = picture.end else { return }
        let now = setting.timebase.currentTime
        let step =
            switch policy.advice(end: end, now: now, followsSkip: followsSkip) {
            case .same: 0
            case .less: decoder.skipPolicy > .referencesOnly || delay.host > Self.longestDelay ? -1 : 0
            case .more: 1
            }
        if step > 0 { skipDistance = Self.skips.lowerBound }
        if step != 0, let skipPolicy = SkipPolicy(rawValue: decoder.skipPolicy.rawValue + step) {
            decoder.skipPolicy = skipPolicy
        }
        hurry(decoder, with: picture)
    }

    /// Skips non-reference frames in fast playback whose frame rate exceeds that of screens, before the machine is
    /// overloaded.
    private func hurry(_ decoder: any PictureDecoder, with picture: SampleBuffer) {
        if SkipPolicySelector.isHurried(picture.duration, at: setting.timebase.rate) {
            unhurried = unhurried ?? decoder.skipPolicy
            decoder.skipPolicy = min(decoder.skipPolicy, .referencesOnly)
        } else if let before = unhurried.take() {
            decoder.skipPolicy = before
        }
    }

    /// Records skipped frames, which are visible as gaps in media time.
    private func noteSkipped(before picture: SampleBuffer, _ decoder: any PictureDecoder) {
        defer { lastEnd = picture.end }
        guard isSkipping || decoder.skipPolicy < .plain, let lastEnd, let time = picture.presentationTime else {
            return
        }
        let count = SkipPolicySelector.missing(from: lastEnd, to: time, each: picture.duration)
        if count > 0 { skipped.append((count, lastEnd, time)) }
        reportSkipped()
    }

    /// Reports the skipped frames whose time has passed. With sync frames only, seconds are skipped in advance.
    private func reportSkipped() {
        guard !skipped.isEmpty else { return }
        let now = setting.timebase.currentTime
        while let first = skipped.first, first.until <= now {
            skipped.removeFirst()
            setting.events.append(.framesDropped(count: first.count, at: first.from, reason: .skippedDecoding))
        }
    }
}
