package import MediaCore

extension PlaybackList {
    /// One playing of one item, and what is known of its place on the timeline.
    ///
    /// Film time and the timeline differ by `offset`. The film lasts until the later of its tracks ends, or to the end that was
    /// asked for; there the next one begins.
    package struct Entry: Sendable {
        /// Where a track ends, in film time.
        package enum TrackEnd: Sendable, Equatable {
            /// It has not been read so far.
            case unknown
            /// The film plays without such a track.
            case none
            case at(MediaTime)

            package var time: MediaTime? { if case .at(let time) = self { time } else { nil } }
        }

        /// Rises along the list; never used twice.
        let serial: Int
        package var turn: Turn
        let media: PrefetchedMedia
        package var audioTrack: Track?
        package var videoTrack: Track?
        /// Film times between which it plays; `end` is what was asked for, nil plays to the film's own end.
        package private(set) var start: MediaTime
        package let end: MediaTime?
        /// Where the item begins; a part of it begins elsewhere.
        private let itemStart: MediaTime
        /// Where a part of the film ends that another part follows without a seam, in film time.
        var sectionEnd: MediaTime?
        /// The timeline minus film time; nil until the end of the film before is known.
        package var offset: MediaTime?
        var soundEnd = TrackEnd.unknown
        var pictureEnd = TrackEnd.unknown
        /// Its pictures ended there, in film time, long before the end that was settled: the file was cut short meanwhile.
        var brokenOff: MediaTime?
        /// Sound that goes on a little behind the pictures of a film that was cut short is not heard beyond this, in film time.
        var tornEnd: MediaTime?
        /// What of it could not be read or decoded.
        var losses = EntryLosses()
        /// The list changed when it could not be taken back any more: it is perceived all the same, to `cutEnd` if that is known.
        var isCut = false
        var cutEnd: MediaTime?
        /// What follows it is what follows this place in the list, because it has no place there any more.
        var basis: Turn?

        package init(
            serial: Int, turn: Turn, media: PrefetchedMedia, audioTrack: Track?, videoTrack: Track?,
            start: MediaTime = .zero, end: MediaTime? = nil
        ) {
            self.serial = serial
            self.turn = turn
            self.media = media
            self.audioTrack = audioTrack
            self.videoTrack = videoTrack
            (self.start, itemStart) = (start, start)
            self.end = end
            soundEnd = audioTrack == nil ? .none : .unknown
            // A still picture beside a recording lasts as long as that.
            pictureEnd = videoTrack.map { !$0.isCoverArt } ?? false ? .unknown : .none
        }

        package var item: QueueItem { turn.item }
        package var film: any MediaSource { media.film }
        /// The same film once more, behind the entry before.
        var isLoop: Bool { turn.itemPass > 0 || isPart }
        /// It goes on from another part of the same film.
        var isPart: Bool { turn.from != nil }
        /// What people are shown.
        package var title: String { (turn.aside?.item ?? item).title ?? film.summary.title ?? item.name }

        /// How long a part of an interstitial lasts, as far as that was said when it was opened.
        var asideLength: MediaTime {
            let own = film.summary.duration ?? .zero
            return end.map { min($0, own) } ?? own
        }

        /// Plays a part of the film that goes on from another.
        package mutating func begin(from place: MediaTime, until end: MediaTime?) { (start, sectionEnd) = (place, end) }

        /// Where it begins on the timeline.
        var begin: MediaTime? { offset.map { $0 + start } }

        /// Nothing of it is perceived from here on, in film time, as far as that was asked for.
        package var limit: MediaTime? { setEnd ?? end }
        /// Where it was made to end, wherever its tracks do.
        var setEnd: MediaTime? { cutEnd ?? sectionEnd ?? tornEnd }

        /// Where it ends in film time, once both tracks' ends are known.
        var filmEnd: MediaTime? {
            if let setEnd { return setEnd }
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

        /// Where it ends on the timeline, once that is known.
        package var joint: MediaTime? { filmEnd.flatMap { end in offset.map { ($0 + end).reduced } } }

        /// Where it is likely to end on the timeline; nil when nobody can say.
        var likelyJoint: MediaTime? {
            let own = film.summary.duration
            let last = filmEnd ?? limit.map { end in own.map { min($0, end) } ?? end } ?? own
            return last.flatMap { last in offset.map { $0 + last } }
        }

        /// It lasts no time at all.
        package var isEmpty: Bool { setEnd == nil && filmEnd.map { $0 <= start } ?? false }

        /// Begins anew somewhere, and is no part any more.
        mutating func becomeWhole() {
            (start, sectionEnd, brokenOff, tornEnd) = (itemStart, nil, nil, nil)
            (turn.from, turn.until) = (nil, nil)
            losses.restart()
        }

        /// The same film, or a part of it, once more behind this playing of it.
        package func again(serial: Int, turn: Turn) -> Entry {
            var entry = Entry(
                serial: serial, turn: turn, media: media, audioTrack: audioTrack, videoTrack: videoTrack,
                start: itemStart, end: end)
            if let from = turn.from { (entry.start, entry.sectionEnd) = (from, turn.until) }
            // What was read to its end once ends there again.
            entry.pictureEnd = pictureEnd
            return entry
        }
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
