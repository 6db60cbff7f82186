internal import MediaCore
internal import SyncRendering

/// Pictures from their sources through decoders to the display layer: one film of the chain after the other, each in its place
/// on the line.
///
/// When the machine is too slow the decoder is told to do less, before whole pictures are lost at the screen.
final class VideoStage: TrackStage {
    /// What a stage works with.
    struct Setting {
        var chain: FilmChain
        var layer: DisplayLayer
        var timebase: Timebase
        var events: EventLog
        var progress: ProgressGate
        /// Opens a film's picture track.
        var open: @Sendable (any MediaSource, Track) throws(MediaError) -> PictureTrack
    }

    private let setting: Setting
    private var layer: DisplayLayer { setting.layer }
    private var chain: FilmChain { setting.chain }
    /// The film whose pictures are decoded; nil before the first jump.
    private var link: FilmLink?
    private let pictures: Lock<(track: PictureTrack?, isCancelled: Bool)>
    /// Everything of the film is with the layer.
    private var isAtEnd = false
    private var shift = TimeShift(.zero)
    private var lastEnd: MediaTime?
    private var policy = EffortPolicy()

    /// - Parameter pictures: those of the film that is played first.
    init(_ setting: Setting, pictures: PictureTrack) {
        self.setting = setting
        self.pictures = Lock((pictures, false))
    }

    /// A stage that begins with what follows a film without pictures.
    init(_ setting: Setting, behind link: FilmLink) {
        self.setting = setting
        self.link = link
        pictures = Lock((nil, false))
        isAtEnd = true
        setting.chain.enter(link.serial, .picture)
    }

    // MARK: Jumping

    func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime? {
        layer.flush()
        lastEnd = nil
        policy.reset()
        guard let link = chain.current else { return time }
        self.link = link
        // Until its source is there, nothing of it is decoded.
        isAtEnd = true
        shift = TimeShift(link.offset ?? .zero)
        chain.enter(link.serial, .picture)
        guard let track = link.videoTrack else {
            showNothing(at: time)
            return time
        }
        do throws(MediaError) {
            if present?.film !== link.film { try take(setting.open(link.film, track)) }
            let landed = try present?.seek(to: time - (link.offset ?? .zero), aim: aim)
            isAtEnd = false
            return landed.map { $0 + (link.offset ?? .zero) }
        } catch {
            if error.code == .cancelled { throw error }
            // A source that fails is over.
            _ = reachEnd(of: link)
            return time
        }
    }

    /// What followed a film was taken back; what is to follow it now comes next.
    func cut(after serial: Int) {
        guard let kept = chain.link(serial) else { return }
        if let joint = kept.joint { layer.flush(fromSourceTime: joint) }
        (link, isAtEnd, lastEnd) = (kept, true, nil)
        chain.enter(serial, .picture)
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
        guard let link else { return .full }
        if isAtEnd { return try goOn(behind: link) }
        guard layer.isReadyForMoreMediaData else { return .full }
        guard let present else { return reachEnd(of: link) }
        do {
            switch try present.step() {
            case .picture(let picture): return hand(picture, of: link, from: present.decoder)
            case .moved: return .moved
            case .ended: return reachEnd(of: link)
            }
        } catch {
            layer.finish()
            throw error
        }
    }

    private func hand(_ picture: SampleBuffer, of link: FilmLink, from decoder: any PictureDecoder) -> TrackStep {
        if let end = link.end, let time = picture.presentationTime, time >= end { return reachEnd(of: link) }
        var picture = picture
        picture.presentationTime = picture.presentationTime.map(shift.moved)
        if let begin = link.begin, begin != .zero, let time = picture.presentationTime, time < begin,
            let end = picture.end, end > begin, link.offset != .zero
        {
            // The one that is seen at the place where the film is to begin.
            picture.presentationTime = begin
            picture.duration = end - begin
        }
        adaptEffort(to: picture, of: decoder)
        layer.enqueue(picture)
        setting.progress.report()
        return .moved
    }

    private func reachEnd(of link: FilmLink) -> TrackStep {
        isAtEnd = true
        if let end = lastEnd ?? link.begin { chain.note(.at(end - (link.offset ?? .zero)), .picture, of: link.serial) }
        return .moved
    }

    private func goOn(behind link: FilmLink) throws(MediaError) -> TrackStep {
        switch chain.successor(of: link.serial, .picture) {
        case .wait: return .full
        case .finish:
            layer.finish()
            return .full
        case .end:
            layer.finish()
            return .ended
        case .link(let next):
            try begin(next)
            return .moved
        }
    }

    private func begin(_ next: FilmLink) throws(MediaError) {
        let effort = present?.decoder.effort
        try take(chain.takePictures(of: next.serial))
        link = next
        shift = TimeShift(next.offset ?? .zero)
        lastEnd = nil
        isAtEnd = present == nil
        // A machine that was too slow for the film before is as slow now.
        if let effort { present?.decoder.effort = effort }
        if present == nil { showNothing(at: next.begin ?? .zero) }
        chain.enter(next.serial, .picture)
    }

    /// A film without pictures is black.
    private func showNothing(at time: MediaTime) {
        layer.enqueue(BlankPicture.buffer(at: time))
        setting.progress.report()
    }

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
    }

    /// What the decoder leaves out shows as a hole in film time.
    private func noteSkipped(before picture: SampleBuffer, _ decoder: any PictureDecoder) {
        defer { lastEnd = picture.end }
        guard decoder.effort < .plain, let lastEnd, let time = picture.presentationTime,
            picture.duration > .zero, time > lastEnd
        else { return }
        let count = Int(((time - lastEnd).seconds / picture.duration.seconds).rounded())
        if count > 0 { setting.events.note(.framesDropped(count: count, at: lastEnd, reason: .skippedDecoding)) }
    }
}
