internal import MediaCore
internal import SyncRendering

/// Pictures from their sources through decoders to the display layer: one entry of the list after the other, each in its place
/// on the timeline.
///
/// When the machine is too slow the decoder is told to do less, before whole pictures are lost at the screen.
final class VideoStage: TrackStage {
    /// What a stage works with.
    struct Setting {
        var list: SharedPlaybackList
        var layer: DisplayLayer
        var timebase: Timebase
        var events: EventLog
        var progress: ProgressGate
        var intake: TrackIntake?
        /// Opens a film's picture track.
        var open: @Sendable (PrefetchedMedia, Track) throws(MediaError) -> PictureTrack
        /// A sentence for people; any thread.
        var tell: @Sendable (String) -> Void = { _ in }
    }

    private let setting: Setting
    private var layer: DisplayLayer { setting.layer }
    private var list: SharedPlaybackList { setting.list }
    var intake: TrackIntake? { setting.intake }
    /// The entry whose pictures are decoded; nil before the first jump.
    private var entry: PlaybackList.Entry?
    private let pictures: Lock<(track: PictureTrack?, isCancelled: Bool)>
    /// Everything of the film is with the layer.
    private var isAtEnd = false
    private var shift = TimeShift(.zero)
    private var lastEnd: MediaTime?
    /// Time of the video frame that was handed over last.
    private var lastTime: MediaTime?
    /// The next picture is the first of an entry that follows another.
    private var isJoint = false
    /// Where the picture of a recording is shown first.
    private var stillTime = MediaTime.zero
    private var policy = EffortPolicy()
    /// The effort before film passed faster than pictures can be shown; nil while it does not.
    private var unhurried: DecodingEffort?

    /// Where the first picture comes later than that, there is black first.
    private static let longestStart: Duration = .milliseconds(250)

    /// - Parameter pictures: those of the film that is played first.
    init(_ setting: Setting, pictures: PictureTrack) {
        self.setting = setting
        self.pictures = Lock((pictures, false))
    }

    /// A stage that begins with what follows a film without pictures.
    init(_ setting: Setting, behind entry: PlaybackList.Entry) {
        self.setting = setting
        self.entry = entry
        pictures = Lock((nil, false))
        isAtEnd = true
        setting.list.enter(entry.serial, .picture)
    }

    // MARK: Jumping

    func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime? {
        layer.flush()
        (lastEnd, lastTime, isJoint) = (nil, nil, false)
        policy.reset()
        guard let entry = list.current else { return time }
        self.entry = entry
        // Until its source is there, nothing of it is decoded.
        isAtEnd = true
        shift = TimeShift(entry.offset ?? .zero)
        list.enter(entry.serial, .picture)
        guard let track = entry.videoTrack else {
            showNothing(at: time)
            return time
        }
        do throws(MediaError) {
            if present?.film !== entry.film { try take(setting.open(entry.media, track)) }
            // Where it is: a cover that cannot be decoded is black there.
            stillTime = time
            let landed = try present?.seek(to: time - (entry.offset ?? .zero), aim: aim)
            isAtEnd = false
            return landed.map { $0 + (entry.offset ?? .zero) }
        } catch {
            if error.code == .cancelled { throw error }
            // A source that fails is over.
            list.note(error, at: time - (entry.offset ?? .zero), .picture, of: entry.serial)
            _ = reachEnd(of: entry)
            return time
        }
    }

    /// What lies behind an entry was taken back, or behind its new end, to which its own pictures go on.
    func cut(after serial: Int) {
        guard let kept = list.entry(serial) else { return }
        if let joint = kept.joint {
            layer.flush(fromSourceTime: joint)
            let isShort = kept.serial == entry?.serial && !isAtEnd && lastEnd.map { $0 < joint } ?? true
            if !isShort { (isAtEnd, lastEnd) = (true, nil) }
        }
        entry = kept
        list.enter(serial, .picture)
    }

    private var present: PictureTrack? { pictures.withLock { $0.track } }

    private func take(_ track: PictureTrack?) throws(MediaError) {
        let isCancelled = pictures.withLock { pictures in
            if !pictures.isCancelled { pictures.track = track }
            return pictures.isCancelled
        }
        if isCancelled { throw MediaError(.cancelled, "reading was cancelled") }
    }

    // MARK: Steps

    func step() throws(MediaError) -> TrackStep {
        guard let entry else { return .full }
        if isAtEnd { return try goOn(behind: entry) }
        guard layer.isReadyForMoreMediaData else { return try readAhead() ? .moved : .full }
        guard let present else { return reachEnd(of: entry) }
        do {
            defer { noteRead(present) }
            switch try present.step(noting: intake) {
            case .picture(let picture): return hand(picture, of: entry, from: present.decoder)
            case .moved: return .moved
            case .ended:
                if present.isOnePicture {
                    if !present.hasGiven { leaveOut(of: entry) }
                } else {
                    noteEnd(of: entry, present)
                }
                return reachEnd(of: entry)
            }
        } catch {
            layer.finish()
            throw error
        }
    }

    /// The pictures were read to their end, or as far as they can be.
    private func noteEnd(of entry: PlaybackList.Entry, _ pictures: PictureTrack) {
        let end = lastEnd.map { $0 - (entry.offset ?? .zero) }
        if pictures.decoder.damagedPackets > 0 { list.noteDamage(of: entry.serial) }
        if let error = pictures.failure { list.note(error, at: end ?? entry.start, .picture, of: entry.serial) }
        if let end { list.noteRead(picturesUntil: end, of: entry.serial) }
    }

    /// Reads packets although the layer is full, as far as the engine wants.
    ///
    /// - Returns: false where there is nothing to read.
    private func readAhead() throws(MediaError) -> Bool {
        guard let intake, intake.wantsMore, let present, !present.isOnePicture else { return false }
        defer { noteRead(present) }
        if try present.readAhead(noting: intake) { return true }
        intake.noteSated()
        return false
    }

    private func noteRead(_ present: PictureTrack) {
        if let until = present.readUntil { intake?.note(readUntil: shift.moved(until)) }
        guard let entry, let lost = present.takeLostSegment() else { return }
        list.note(lostSegment: lost.error, at: lost.place ?? entry.start, .picture, of: entry.serial)
    }

    /// Notes how far the layer is filled: to the end of the frame, or, where containers state a frame's duration wrongly, for as long as
    /// the frame before was shown.
    private func noteHanded(_ picture: SampleBuffer) {
        guard let intake, let time = picture.presentationTime else { return }
        let interval = lastTime.map { max(.zero, time - $0) } ?? .zero
        let until = max(picture.end ?? time, time + interval)
        lastTime = time
        intake.note(handedUntil: until)
        intake.note(readUntil: until)
    }

    private func hand(
        _ picture: SampleBuffer, of entry: PlaybackList.Entry, from decoder: any PictureDecoder
    ) -> TrackStep {
        var picture = picture
        if present?.isStill == true {
            // Whatever its stamp says: it is there from the beginning to the end.
            (picture.presentationTime, picture.duration) = (stillTime, .zero)
            layer.enqueue(picture)
            setting.progress.report()
            return reachEnd(of: entry)
        }
        if let end = entry.limit, let time = picture.presentationTime, time >= end { return reachEnd(of: entry) }
        picture.presentationTime = picture.presentationTime.map(shift.moved)
        if isJoint, let begin = entry.begin, let time = picture.presentationTime {
            isJoint = false
            // Nobody is to stand under another film's last picture.
            if (time - begin).duration > Self.longestStart { showNothing(at: begin) }
        }
        if let begin = entry.begin, begin != .zero, let time = picture.presentationTime, time < begin,
            let end = picture.end, end > begin, entry.offset != .zero || entry.isPart
        {
            // The one that is seen at the place where the film is to begin.
            picture.presentationTime = begin
            picture.duration = end - begin
        }
        if let joint = list.settledEnd(of: entry.serial), let time = picture.presentationTime {
            if time >= joint { return reachEnd(of: entry) }
            if let end = picture.end, end > joint { picture.duration = joint - time }
        }
        adaptEffort(to: picture, of: decoder)
        noteHanded(picture)
        layer.enqueue(picture)
        setting.progress.report()
        return .moved
    }

    /// The one picture that there should have been cannot be decoded.
    private func leaveOut(of entry: PlaybackList.Entry) {
        let sound = entry.audioTrack == nil ? "it is left out." : "the sound plays without it."
        setting.tell("The picture of “\(entry.title)” is damaged or too large; \(sound)")
        showNothing(at: stillTime)
    }

    private func reachEnd(of entry: PlaybackList.Entry) -> TrackStep {
        isAtEnd = true
        if let end = lastEnd ?? entry.begin {
            list.note(.at(end - (entry.offset ?? .zero)), .picture, of: entry.serial)
        }
        return .moved
    }

    private func goOn(behind entry: PlaybackList.Entry) throws(MediaError) -> TrackStep {
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

    private func begin(_ next: PlaybackList.Entry) throws(MediaError) {
        let effort = present?.decoder.effort
        try take(list.takePictures(of: next.serial))
        entry = next
        shift = TimeShift(next.offset ?? .zero)
        (lastEnd, lastTime, isJoint, stillTime) = (nil, nil, true, next.begin ?? .zero)
        isAtEnd = present == nil
        // A machine that was too slow for the film before is as slow now.
        if let effort { present?.decoder.effort = effort }
        if present == nil { showNothing(at: next.begin ?? .zero) }
        list.enter(next.serial, .picture)
    }

    /// A film without pictures is black.
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

    // MARK: Effort

    /// Less effort is first no loop filter, then no pictures that no other needs, then key pictures only.
    private func adaptEffort(to picture: SampleBuffer, of decoder: any PictureDecoder) {
        noteSkipped(before: picture, decoder)
        guard setting.timebase.rate > 0, let end = picture.end else { return }
        let step =
            switch policy.advice(end: end, now: setting.timebase.currentTime) {
            case .same: 0
            case .less: -1
            case .more: 1
            }
        if step != 0, let effort = DecodingEffort(rawValue: decoder.effort.rawValue + step) { decoder.effort = effort }
        hurry(decoder, with: picture)
    }

    /// Film at several times its speed has more pictures than a screen can show: those that no other one needs are left out from the
    /// start, before the machine falls behind.
    private func hurry(_ decoder: any PictureDecoder, with picture: SampleBuffer) {
        if EffortPolicy.isHurried(picture.duration, at: setting.timebase.rate) {
            unhurried = unhurried ?? decoder.effort
            decoder.effort = min(decoder.effort, .referencesOnly)
        } else if let before = unhurried.take() {
            decoder.effort = before
        }
    }

    /// What the decoder leaves out shows as a hole in film time.
    private func noteSkipped(before picture: SampleBuffer, _ decoder: any PictureDecoder) {
        defer { lastEnd = picture.end }
        guard decoder.effort < .plain, let lastEnd, let time = picture.presentationTime else { return }
        let count = EffortPolicy.missing(from: lastEnd, to: time, each: picture.duration)
        if count > 0 { setting.events.note(.framesDropped(count: count, at: lastEnd, reason: .skippedDecoding)) }
    }
}
