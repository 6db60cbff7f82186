/// The position at which reading resumes after a seek.
public enum SeekMode: Sendable {
    /// The latest position from which the target can be decoded exactly: the preceding key frame; for audio early
    /// enough for the decoder to converge. Samples before the target have the flag `decodeOnly`.
    case exact
    /// The last key frame at or before the target; all samples from there are presented.
    case syncBefore
    /// The first key frame after the target; all samples from there are presented.
    case syncAfter
}

/// The samples of one track in decode order.
///
/// Media files are one implementation; an application may provide others to read from elsewhere, to decrypt, or to
/// modify samples. One thread at a time reads and seeks; `cancel` may be called from any thread.
///
/// All sources of an item share one timeline: media time 0 is the same instant in each.
public protocol SampleSource: AnyObject, Sendable {
    /// The track as known at creation. Buffers carry their own format, which may change during playback.
    var track: Track { get }

    /// Returns the next samples; nil at the end of the track. May block on disk or network.
    ///
    /// - Throws: `damagedPacket` if reading can continue; any other code is final. `incomplete`: the data ends before
    ///   the length in the header. `truncated`: the file became shorter while it was open. `readFailed`: an error of
    ///   disk or network. An error is never reported as the end.
    func read() throws(MediaError) -> SampleBuffer?

    /// Changes the reading position. Returns the media time of the next samples, if known: at or before the target,
    /// except for `syncAfter`. The next buffer has the `discontinuity` flag.
    ///
    /// After an error the position is undefined; another seek is allowed.
    @discardableResult
    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime?

    /// Returns the media time of the last key frame at or before a time, from an index and without reading. Inaccurate
    /// by the few frames of reordering. Nil if there is no index, or the time is beyond it.
    func syncTime(before time: MediaTime) -> MediaTime?

    /// Makes a blocked call and every later one fail with `cancelled`. Any thread; does not block.
    func cancel()
}

extension SampleSource {
    /// Nil: no index.
    public func syncTime(before time: MediaTime) -> MediaTime? { nil }
}

/// An item of media: its tracks, and a source for each.
public protocol MediaSource: AnyObject, Sendable {
    /// The properties of the item.
    var summary: MediaSummary { get }

    /// Returns a source for a track, positioned at the start of the item.
    ///
    /// Sources of different tracks are independent unless `summary.sharesReader` is true.
    func source(for track: Track) throws(MediaError) -> any SampleSource

    /// The host name of a server to which the connection is being re-established; nil otherwise. Any thread.
    var lostServer: String? { get }

    /// How much of the item was read ahead from a server; nil for items that are not read ahead. Any thread.
    var readAhead: ReadAheadProgress? { get }

    /// The media time by which reading has shortened the item so far, by closing gaps in its timestamps. The duration
    /// of `summary` includes it. Any thread.
    var closedGaps: MediaTime { get }
}

extension MediaSource {
    /// Nil: no connection.
    public var lostServer: String? { nil }

    /// Nil: no server.
    public var readAhead: ReadAheadProgress? { nil }

    /// Zero: no gaps are closed.
    public var closedGaps: MediaTime { .zero }
}

/// How much of an item was read ahead from a server, beyond what its sources have returned.
public struct ReadAheadProgress: Sendable, Equatable {
    /// The number of bytes.
    public var byteCount: Int
    /// The duration of these bytes, estimated from the average bit rate; nil if that is unknown.
    public var duration: Duration?

    /// Creates a value.
    public init(byteCount: Int, duration: Duration? = nil) { (self.byteCount, self.duration) = (byteCount, duration) }
}

/// The properties of an item that are known before its samples are read.
public struct MediaSummary: Sendable {
    /// The container's short name: `mp4`, `matroska`, `mpegts`, …
    public var container: String
    /// The tracks of all kinds.
    public var tracks: [Track]
    /// Duration from media time 0; nil for live streams and if unknown.
    public var duration: MediaTime?
    /// True if `duration` comes from the container's header, not from data or bit rate. Data that ends earlier is then
    /// incomplete.
    package var isDurationStated = false
    /// The title in the metadata; nil if there is none.
    public var title: String?
    /// The artist in the metadata; nil if there is none.
    public package(set) var artist: String?
    /// The album in the metadata; nil if there is none.
    public package(set) var album: String?
    /// The genre in the metadata; nil if there is none.
    public package(set) var genre: String?
    /// The number of the recording on its album, 1…9999; nil if there is none.
    public package(set) var trackNumber: Int?
    /// True if `seek` is supported by the sources.
    public var isSeekable: Bool
    /// True if all tracks share one demuxer, because the input cannot be opened twice (a pipe, a live stream). Tracks
    /// can then be read only within a limited window of each other.
    public var sharesReader: Bool
    /// True for a real-time stream without a known end.
    public var isLive: Bool
    /// The chapters in order of their start; may be empty.
    public var chapters: [Chapter]
    /// Whether the item has subtitles that cannot be read, and are no tracks.
    package var hasUnreadSubtitles = false
    /// The interstitials to insert, in order.
    package var interstitials: [Interstitial] = []

    /// Creates a summary.
    public init(
        container: String, tracks: [Track], duration: MediaTime? = nil, title: String? = nil, isSeekable: Bool = true,
        sharesReader: Bool = false, isLive: Bool = false, chapters: [Chapter] = []
    ) {
        self.container = container
        self.tracks = tracks
        self.duration = duration
        self.title = title
        self.isSeekable = isSeekable
        self.sharesReader = sharesReader
        self.isLive = isLive
        self.chapters = chapters
    }

    /// Returns the default track of a kind. Order: the requested number; in the first requested language, then the
    /// first of the user's languages, a track of the requested purpose, otherwise a main one; one of the requested
    /// purpose in the language of the default track, then in any; the default track: the one marked as such, or the
    /// first. A track without a language fits any language if it has the requested purpose. Cover art is returned only
    /// by number; of other purposes than the requested one and `main` only if there is no other track.
    ///
    /// - Parameters:
    ///   - number: position among the tracks of its kind, from 1.
    ///   - languages: requested languages in order of preference, ISO 639 codes of two or three letters, regions
    ///     ignored.
    ///   - userLanguages: the languages of the user's session, in the same notation.
    ///   - purpose: the requested purpose.
    /// - Returns: nil if there is no such track, also if the requested number does not exist.
    public func track(
        _ kind: Track.Kind, number: Int? = nil, languages: [String] = [], userLanguages: [String] = [],
        purpose: Track.Purpose = .main
    ) -> Track? {
        let all = tracks.filter { $0.kind == kind }
        if let number { return all.first { $0.number == number } }
        let films = all.filter { !$0.isCoverArt }
        func first(_ candidates: [Track]) -> Track? { candidates.first { $0.isDefault } ?? candidates.first }
        func language(of track: Track) -> LanguageCode? {
            track.language.map(LanguageCode.init).flatMap { $0.isUndetermined ? nil : $0 }
        }
        let main = films.filter { $0.purpose == .main }
        let requested = purpose == .main ? [] : films.filter { $0.purpose == purpose }
        func inLanguage(_ code: LanguageCode?) -> Track? {
            first(requested.filter { language(of: $0) == code }) ?? first(requested.filter { language(of: $0) == nil })
        }
        for code in (languages + userLanguages).map(LanguageCode.init) {
            if let track = inLanguage(code) ?? first(main.filter { $0.language.map(LanguageCode.init) == code }) {
                return track
            }
        }
        let usual = first(main) ?? first(films)
        return inLanguage(usual.flatMap(language)) ?? first(requested) ?? usual
    }
}
