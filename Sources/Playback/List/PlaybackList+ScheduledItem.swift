import MediaCore
internal import SyncRendering

extension PlaybackList {
    /// A scheduled playback of an item and its position on the timeline.
    ///
    /// Media time and the timeline differ by `offset`. The entry ends with the later of its tracks or at the requested
    /// end, where the next one starts.
    struct ScheduledItem: Sendable {
        /// The end of a track in media time.
        enum TrackEnd: Sendable, Equatable {
            /// Not read yet.
            case unknown
            /// The entry has no such track.
            case none
            /// At this media time.
            case at(MediaTime)

            /// The media time, if known.
            var time: MediaTime? { if case .at(let time) = self { time } else { nil } }
        }

        /// Increases along the list; never reused.
        let serial: Int
        /// The position in the playlist.
        var listPosition: PlaylistPosition
        let media: PrefetchedMedia
        /// The selected audio track.
        var audioTrack: Track?
        /// The selected video track.
        var videoTrack: Track?
        /// The played range in media time. `end` is the requested end; nil: the end of the media.
        private(set) var start: MediaTime
        /// The requested end in media time; nil: the end of the media.
        let end: MediaTime?
        /// The start of the item; a part of it starts elsewhere.
        private let itemStart: MediaTime
        /// The media time at which this part ends and another part follows gaplessly.
        var sectionEnd: MediaTime?
        /// The timeline minus media time; nil until the end of the preceding entry is known.
        var offset: MediaTime?
        var audioEnd = TrackEnd.unknown
        var videoEnd = TrackEnd.unknown
        /// The media time at which the video ended, long before the known end, because the file was truncated
        /// meanwhile.
        var brokenOff: MediaTime?
        /// The media time at which the audio of a truncated file is cut if it extends slightly beyond the video.
        var tornEnd: MediaTime?
        /// Read and decode errors.
        var losses = EntryLosses()
        /// Whether the entry plays although the list no longer leads to it, up to `cutEnd` if known.
        var isCut = false
        var cutEnd: MediaTime?
        /// The playlist position that determines the successor of a cut entry.
        var basis: PlaylistPosition?

        /// Creates an entry; `offset` and the ends of its tracks are unknown.
        init(
            serial: Int, listPosition: PlaylistPosition, media: PrefetchedMedia, audioTrack: Track?, videoTrack: Track?,
            start: MediaTime = .zero, end: MediaTime? = nil
        ) {
            self.serial = serial
            self.listPosition = listPosition
            self.media = media
            self.audioTrack = audioTrack
            self.videoTrack = videoTrack
            (self.start, itemStart) = (start, start)
            self.end = end
            audioEnd = audioTrack == nil ? .none : .unknown
            // Cover art lasts as long as the audio.
            videoEnd = videoTrack.map { !$0.isCoverArt } ?? false ? .unknown : .none
        }

        /// The item in the playlist.
        var item: QueueItem { listPosition.item }
        /// The opened media.
        var film: any MediaSource { media.film }
        /// Whether the entry continues or repeats the media of the preceding entry.
        var isLoop: Bool { listPosition.itemPass > 0 || isSection }
        /// Whether the entry is a part of the media that follows another part.
        var isSection: Bool { listPosition.from != nil }
        /// The displayed title.
        var title: String {
            (listPosition.interstitialPart?.item ?? item).title ?? film.summary.title ?? item.name
        }

        /// The duration of a part of an interstitial, as known when it was opened.
        var interstitialLength: MediaTime {
            let own = film.summary.duration ?? .zero
            return end.map { min($0, own) } ?? own
        }

        /// Restricts the entry to a part of the media.
        mutating func begin(from place: MediaTime, until end: MediaTime?) { (start, sectionEnd) = (place, end) }

        /// The start on the timeline; nil if unknown.
        var begin: MediaTime? { offset.map { $0 + start } }

        /// The requested end in media time; nil if there is none.
        var limit: MediaTime? { setEnd ?? end }
        /// The end that overrides those of the tracks, in media time.
        var setEnd: MediaTime? { cutEnd ?? sectionEnd ?? tornEnd }

        /// The end in media time; nil until the ends of both tracks are known.
        var filmEnd: MediaTime? {
            if let setEnd { return setEnd }
            var last: MediaTime?
            for end in [audioEnd, videoEnd] {
                switch end {
                case .unknown: return nil
                case .none: break
                case .at(let time): last = max(last ?? time, time)
                }
            }
            return last.map { last in end.map { min($0, last) } ?? last }
        }

        /// The end on the timeline, where the next entry starts; nil if unknown.
        var gaplessBoundary: MediaTime? { filmEnd.flatMap { end in offset.map { ($0 + end).reduced } } }

        /// The expected end on the timeline; nil if it cannot be estimated.
        var likelyJoint: MediaTime? {
            let own = film.summary.duration
            let last = filmEnd ?? limit.map { end in own.map { min($0, end) } ?? end } ?? own
            return last.flatMap { last in offset.map { $0 + last } }
        }

        /// The end of the audio on the timeline; nil until it was read to its end.
        var audioEndOnTimeline: MediaTime? { audioEnd.time.flatMap { end in offset.map { $0 + end } } }
        /// The audio that could not be decoded since the last seek, on the timeline.
        var audioLosses: [MediaTimeRange] {
            let offset = offset ?? .zero
            return losses.silences.map { MediaTimeRange(start: $0.start + offset, end: $0.end + offset) }
        }

        /// Whether the entry has no duration.
        var isEmpty: Bool { setEnd == nil && filmEnd.map { $0 <= start } ?? false }

        /// Restores the whole item after a seek.
        mutating func restoreFullRange() {
            (start, sectionEnd, brokenOff, tornEnd) = (itemStart, nil, nil, nil)
            (listPosition.from, listPosition.until) = (nil, nil)
            losses.restart()
        }

        /// Returns another playback of the same media or of a part of it.
        func again(serial: Int, listPosition: PlaylistPosition) -> ScheduledItem {
            var entry = ScheduledItem(
                serial: serial, listPosition: listPosition, media: media, audioTrack: audioTrack,
                videoTrack: videoTrack,
                start: itemStart, end: end)
            if let from = listPosition.from { (entry.start, entry.sectionEnd) = (from, listPosition.until) }
            // A track that was read to its end ends there again.
            entry.videoEnd = videoEnd
            return entry
        }
    }
}

extension MediaTime {
    /// The same time with the smallest exact timescale, so that sums of many times remain exact longer.
    var reduced: MediaTime {
        var (a, b) = (value.magnitude, UInt64(timescale))
        while b != 0 { (a, b) = (b, a % b) }
        guard a > 1 else { return self }
        return MediaTime(
            value: value / Int64(clamping: a), timescale: Int32(clamping: Int64(timescale) / Int64(clamping: a)))
    }
}
