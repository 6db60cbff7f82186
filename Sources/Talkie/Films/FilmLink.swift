internal import MediaCore

/// One playing of one film on the player's line, and what is known of its place there.
///
/// Film time and the line differ by `offset`. The film lasts until the later of its tracks ends, or to the end that was
/// asked for; there the next one begins.
struct FilmLink: Sendable {
    /// Where a track ends, in film time.
    enum TrackEnd: Sendable, Equatable {
        /// It has not been read so far.
        case unknown
        /// The film plays without such a track.
        case none
        case at(MediaTime)

        var time: MediaTime? { if case .at(let time) = self { time } else { nil } }
    }

    /// Rises along the chain; never used twice.
    let serial: Int
    let film: any MediaSource
    /// What the owner calls it; nil for the film that was opened, and what loops of it.
    var item: QueueItem?
    let title: String
    /// Gives up on everything that is read of it; nil where the owner does.
    var cancellation: OpenCancellation?
    var audioTrack: Track?
    var videoTrack: Track?
    /// Film times between which it plays; `end` is what was asked for, nil plays to the film's own end.
    let start: MediaTime
    let end: MediaTime?
    /// The same film once more.
    var isLoop = false
    /// How often it is to be repeated behind this playing.
    var loopsLeft = PlayerOptions.Loop.times(0)
    /// Line minus film time; nil until the end of the film before is known.
    var offset: MediaTime?
    var soundEnd = TrackEnd.unknown
    var pictureEnd = TrackEnd.unknown

    init(
        serial: Int, film: any MediaSource, title: String, audioTrack: Track?, videoTrack: Track?, start: MediaTime,
        end: MediaTime?
    ) {
        self.serial = serial
        self.film = film
        self.title = title
        self.audioTrack = audioTrack
        self.videoTrack = videoTrack
        self.start = start
        self.end = end
        soundEnd = audioTrack == nil ? .none : .unknown
        // A still picture beside a recording lasts as long as that.
        pictureEnd = videoTrack.map { !$0.isCoverArt } ?? false ? .unknown : .none
    }

    /// Where it begins on the line.
    var begin: MediaTime? { offset.map { $0 + start } }

    /// Where it ends in film time, once both tracks' ends are known.
    var filmEnd: MediaTime? {
        var last: MediaTime?
        for end in [soundEnd, pictureEnd] {
            switch end {
            case .unknown: return nil
            case .none: break
            case .at(let time): last = max(last ?? time, time)
            }
        }
        return last.map { last in end.map { min($0, last) } ?? last }
    }

    /// Where it ends on the line, once that is known.
    var joint: MediaTime? { filmEnd.flatMap { end in offset.map { ($0 + end).reduced } } }

    /// Where it is likely to end on the line; nil when nobody can say.
    var likelyJoint: MediaTime? {
        let own = film.summary.duration
        let last = filmEnd ?? end.map { end in own.map { min($0, end) } ?? end } ?? own
        return last.flatMap { last in offset.map { $0 + last } }
    }

    /// The same film once more behind this playing of it.
    func again(serial: Int, loopsLeft: PlayerOptions.Loop) -> FilmLink {
        var link = FilmLink(
            serial: serial, film: film, title: title, audioTrack: audioTrack, videoTrack: videoTrack, start: start,
            end: end)
        (link.item, link.isLoop, link.loopsLeft, link.cancellation) = (item, true, loopsLeft, cancellation)
        // What was read to its end once ends there again.
        link.pictureEnd = pictureEnd
        return link
    }

    /// Whether films of this kind can be read ahead, each track at its own pace: not from a pipe or a live stream.
    static func isJoinable(_ film: any MediaSource) -> Bool {
        film.summary.isSeekable && !film.summary.sharesReader && !film.summary.isLive
    }
}

extension MediaTime {
    /// The same moment with the smallest timescale that can say it, so that sums of many stay exact for longer.
    var reduced: MediaTime {
        var (a, b) = (value.magnitude, UInt64(timescale))
        while b != 0 { (a, b) = (b, a % b) }
        guard a > 1 else { return self }
        return MediaTime(
            value: value / Int64(clamping: a), timescale: Int32(clamping: Int64(timescale) / Int64(clamping: a)))
    }
}

extension PlayerOptions.Loop {
    /// What is left when it is played once more; nil when that is not wanted.
    var next: PlayerOptions.Loop? {
        switch self {
        case .forever: .forever
        case .times(let count): count > 0 ? .times(count - 1) : nil
        }
    }
}
