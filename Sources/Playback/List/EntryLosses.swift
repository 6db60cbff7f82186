internal import MediaCore
internal import SyncRendering

/// What of one playing of an item could not be read or decoded, and how far its tracks were read. Times are film times.
struct EntryLosses: Sendable {
    /// A kind of track, and why reading it failed.
    struct Failure: Sendable {
        var kind: Track.Kind
        var error: MediaError
        /// How far the track had been read.
        var place: MediaTime
    }

    private(set) var failures: [Failure] = []
    /// The first segment of a stream that could not be read, and how far its track had been read.
    private(set) var lostSegment: Failure?
    /// How far a track was read that has been read to its end.
    var soundRead: MediaTime?
    var picturesRead: MediaTime?
    /// Sound that could not be decoded.
    private(set) var undecodable: UndecodableSound?
    /// Places where the stamps of the sound leave a hole; a loss where the file is damaged, and the film's own otherwise.
    private(set) var holes: UndecodableSound?
    /// Packets of sound or pictures were damaged.
    var isDamaged = false
    /// One sentence has been given; further losses of this playing are not reported.
    var isReported = false

    /// Shorter holes come from stamps that are rounded.
    static let shortestHole = MediaTime(value: 1, timescale: 4)
    /// Sound that follows without a loss for so long ends what is reported together.
    static let stretch = MediaTime(value: 5, timescale: 1)
    /// A duration in a header may be off by so much, or by a twentieth of it.
    static let tolerance = MediaTime(value: 2, timescale: 1)

    mutating func note(_ failure: Failure) {
        if !failures.contains(where: { $0.kind == failure.kind }) { failures.append(failure) }
    }

    mutating func note(lostSegment loss: Failure) {
        if lostSegment.map({ loss.place < $0.place }) ?? true { lostSegment = loss }
    }

    mutating func note(undecodable sound: UndecodableSound) { undecodable = undecodable?.adding(sound) ?? sound }

    mutating func note(hole start: MediaTime, until end: MediaTime) {
        let hole = UndecodableSound(start: start, duration: end - start)
        holes = holes?.adding(hole) ?? hole
    }

    /// The item begins at another place: its tracks are read again.
    mutating func restart() { (failures, lostSegment, soundRead, picturesRead) = ([], nil, nil, nil) }

    /// Returns the sound that is missing; nil where none is.
    ///
    /// - Parameter countsHoles: whether holes between stamps are a loss.
    func missingSound(countsHoles: Bool) -> UndecodableSound? {
        guard countsHoles, let holes else { return undecodable }
        return undecodable.map(holes.adding) ?? holes
    }
}

extension PlaybackList.Entry {
    /// Returns what is to be reported of this playing now; nil where nothing is.
    ///
    /// - Parameters:
    ///   - moment: the film time that is perceived; nil where the playing is over.
    func failure(at moment: MediaTime?) -> MediaFailure? {
        guard !losses.isReported else { return nil }
        return lossOfSegment(at: moment) ?? lossOfTracks(at: moment) ?? lossOfSound(at: moment)
    }

    private func lossOfSegment(at moment: MediaTime?) -> MediaFailure? {
        guard let lost = losses.lostSegment, moment.map({ $0 >= lost.place }) ?? true else { return nil }
        return MediaFailure(
            .failed, "“\(title)” lacks a part from \(lost.place.clock) on: \(lost.error.message)", at: lost.place)
    }

    private func lossOfTracks(at moment: MediaTime?) -> MediaFailure? {
        // Subtitles are read with sound and pictures, which say better where an incomplete file ends.
        let failures = losses.failures.filter { $0.kind != .subtitle || $0.error.code != .incomplete }
        let isRead = hasEnded(.audio, audioTrack) && hasEnded(.video, videoTrack.flatMap { $0.isCoverArt ? nil : $0 })
        if failures.contains(where: { $0.error.code == .incomplete }) || isShort {
            let end =
                ([losses.soundRead, losses.picturesRead].compactMap { $0 } + failures.map(\.place)).max() ?? start
            guard isRead || moment.map({ $0 >= end }) ?? true else { return nil }
            // Of some containers the duration is computed from the bytes that are there.
            let whole =
                film.summary.duration.flatMap { $0 - end > EntryLosses.shortestHole ? " of \($0.clock)" : nil } ?? ""
            return MediaFailure(
                .failed, "“\(title)” ends at \(end.clock)\(whole): the file is incomplete; copy or download it again",
                at: end)
        }
        guard let first = failures.min(by: { $0.place < $1.place }) else { return nil }
        guard isRead || moment.map({ $0 >= first.place }) ?? true else { return nil }
        let kinds = Set([audioTrack, videoTrack].compactMap { $0 }.filter { !$0.isCoverArt }.map(\.kind))
        let place = failures.map(\.place).max() ?? first.place
        guard !kinds.isSubset(of: failures.map(\.kind)) else {
            // Less than can be noticed: the item could not be played, as one of which nothing comes.
            let code: TalkieError.Code = place - start < EntryLosses.shortestHole ? first.error.playbackCode : .failed
            return MediaFailure(code, "“\(title)” breaks off at \(place.clock): \(first.error.message)", at: place)
        }
        return MediaFailure(
            .failed, "\(first.kind.name) of “\(title)” ends at \(first.place.clock): \(first.error.message)",
            at: first.place)
    }

    private func lossOfSound(at moment: MediaTime?) -> MediaFailure? {
        let summary = film.summary
        // In MP4, at discontinuities of playlists and in streams without a stated duration a hole may be the film's
        // own.
        let isWhole = summary.isDurationStated && !["mp4", "hls", "dash"].contains(summary.container)
        guard
            let missing = losses.missingSound(
                countsHoles: isWhole || losses.isDamaged || losses.undecodable != nil)
        else { return nil }
        guard moment.map({ $0 >= missing.end + EntryLosses.stretch }) ?? true else { return nil }
        return MediaFailure(
            .failed,
            "\(missing.duration.seconds.oneDecimal) s of sound of “\(title)” could not be decoded at "
                + "\(missing.start.clock); the file is damaged, copy or download it again",
            at: missing.start)
    }

    /// Whether the tracks that were read end well before the length that the header states. Only where sound was read: the last
    /// picture of a silent film may stay for long.
    private var isShort: Bool {
        let summary = film.summary
        guard summary.isDurationStated, let stated = summary.duration, let sound = losses.soundRead, setEnd == nil
        else { return false }
        let hasPictures = summary.tracks.contains { $0.kind == .video && !$0.isCoverArt }
        guard !hasPictures || losses.picturesRead != nil else { return false }
        let last = max(sound, losses.picturesRead ?? sound)
        return stated - last > max(EntryLosses.tolerance, MediaTime(seconds: stated.seconds / 20))
    }

    private func hasEnded(_ kind: Track.Kind, _ track: Track?) -> Bool {
        guard track != nil else { return true }
        return (kind == .audio ? losses.soundRead : losses.picturesRead) != nil
            || losses.failures.contains { $0.kind == kind }
    }
}

extension Track.Kind {
    fileprivate var name: String {
        switch self {
        case .audio: "The sound"
        case .video: "The picture"
        case .subtitle: "The subtitle track"
        }
    }
}

extension Double {
    fileprivate var oneDecimal: String {
        let tenths = Int64(min(max(0, self * 10), 1e15).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension MediaFailure {
    fileprivate init(_ code: TalkieError.Code, _ message: String, at position: MediaTime) {
        self.init(error: TalkieError(code, message), position: position)
    }
}
