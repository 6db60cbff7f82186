/// Where reading goes on after a jump.
public enum SeekMode: Sendable {
    /// At the latest place from which the target can be decoded exactly: the sync sample before it, and for sound
    /// early enough for the decoder to settle. What lies before the target is marked `decodeOnly`.
    case exact
    /// At the sync sample nearest before the target; everything from there on is meant to be seen.
    case syncBefore
    /// At the first sync sample after the target; everything from there on is meant to be seen.
    case syncAfter
}

/// The samples of one track, in the order a decoder wants them.
///
/// A film read from disk is one kind of source; an application brings its own to read from elsewhere, to decrypt, or
/// to change samples on their way. One thread at a time reads and seeks; `cancel` may come from any thread.
///
/// All sources of one film speak of one timeline: film time 0 is the same moment for each.
public protocol SampleSource: AnyObject, Sendable {
    /// The track as known when the source was made. Buffers carry their own format, which may change on the way.
    var track: Track { get }

    /// The next samples, or nil at the end of the track. May block while a disk or a network answers.
    ///
    /// - Throws: `damagedPacket` or `lostSegment` when reading can continue, anything else when it cannot: `incomplete`
    ///   where the data end before the length that the header states, `readFailed` where the disk or the network
    ///   fails. A failure is never an end.
    func read() throws(MediaError) -> SampleBuffer?

    /// Goes elsewhere on the film. Returns the film time from which samples will come, as far as known: at or before
    /// the target, except for `syncAfter`. The first buffer read afterwards bears the `discontinuity` flag.
    ///
    /// After a failure the position is undefined, and the source can be asked to seek again.
    @discardableResult
    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime?

    /// The film time of the last sync sample at or before a moment, give or take the few pictures by which decoding leads showing,
    /// where an index tells without reading; nil where none does, and behind what it knows.
    func syncTime(before time: MediaTime) -> MediaTime?

    /// Makes a blocked call, and every later one, fail with `cancelled`. Any thread; returns at once.
    func cancel()
}

extension SampleSource {
    public func syncTime(before time: MediaTime) -> MediaTime? { nil }
}

/// A film: its tracks, and a source for each.
public protocol MediaSource: AnyObject, Sendable {
    /// What is known about the film.
    var summary: MediaSummary { get }

    /// Begins reading a track from the start of the film.
    ///
    /// Sources of different tracks are independent of each other unless `summary.sharesReader` says otherwise.
    func source(for track: Track) throws(MediaError) -> any SampleSource

    /// The host name of the server whose connection broke off and is being reopened; nil otherwise. Any thread.
    var lostServer: String? { get }
}

extension MediaSource {
    public var lostServer: String? { nil }
}

/// What is known about a film before its samples are read.
public struct MediaSummary: Sendable {
    /// The container's short name: `mp4`, `matroska`, `mpegts`, …
    public var container: String
    public var tracks: [Track]
    /// How long the film lasts from film time 0; nil for live streams and where it can't be known.
    public var duration: MediaTime?
    /// `duration` comes from the container's header and not from the data or the bitrate: data that end earlier are incomplete.
    package var isDurationStated = false
    public var title: String?
    /// Who plays or sings, and the record that it is from, where a recording says so.
    public package(set) var artist: String?
    public package(set) var album: String?
    /// Whether `seek` can work.
    public var isSeekable: Bool
    /// True when all tracks come from one reader, because the input cannot be opened twice (a pipe, a live stream):
    /// then no track can be read further ahead of the others than a window of bytes.
    public var sharesReader: Bool
    /// Arrives in real time and has no end in sight.
    public var isLive: Bool
    /// In order of their starts; empty where the film names none.
    public var chapters: [Chapter]
    /// What is to play in the middle of it, in order.
    package var interstitials: [Interstitial] = []

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

    /// The track a listener or viewer expects: the one with the number asked for, else the first in the first
    /// language found, else the one its author marked, else the first; never cover art, and tracks for special
    /// purposes only when asked for.
    ///
    /// - Parameters:
    ///   - number: position among the tracks of its kind, from 1.
    ///   - languages: wanted languages, most wanted first, as ISO 639 codes of two or three letters, regions ignored.
    /// - Returns: nil when the film has no such track; a number that does not exist gives nil, too.
    public func track(_ kind: Track.Kind, number: Int? = nil, languages: [String] = []) -> Track? {
        let all = tracks.filter { $0.kind == kind }
        if let number { return all.first { $0.number == number } }
        let films = all.filter { !$0.isCoverArt }
        for language in languages {
            let wanted = LanguageCode(language)
            let spoken = films.filter { $0.language.map(LanguageCode.init) == wanted }
            if let track = spoken.first(where: { !$0.isSpecialPurpose }) ?? spoken.first { return track }
        }
        let ordinary = films.filter { !$0.isSpecialPurpose }
        return ordinary.first { $0.isDefault } ?? ordinary.first ?? films.first { $0.isDefault } ?? films.first
    }
}
