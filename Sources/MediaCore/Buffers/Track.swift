/// One track of a film: what it holds and where it lies on the film's timeline.
public struct Track: Sendable, Hashable {
    public enum Format: Sendable, Equatable {
        case audio(AudioFormat)
        case video(VideoFormat)
        case subtitle(SubtitleFormat)
    }

    public enum Kind: String, Sendable { case audio, video, subtitle }

    /// Names the track within its film; stable as long as the film is open.
    public var id: Int
    /// Position among the tracks of its kind, from 1, as `--aid`, `--vid` and `--sid` count.
    public var number: Int
    public var format: Format
    /// Language as the film writes it, usually ISO 639-2 (`eng`); nil when not said.
    public var language: String?
    public var title: String?
    /// The film's author marked it as the one to play.
    public var isDefault: Bool
    /// Made for a purpose that a listener does not expect unasked: commentary, description for the blind, karaoke.
    public var isSpecialPurpose: Bool
    /// A still picture that came along with a recording: something to show, but not a film.
    public var isCoverArt: Bool
    /// One picture that is a film of its own, shown for as long as `duration` says.
    public package(set) var isPicture = false
    /// Subtitles for what the film's own language leaves foreign: shown also to who understands the rest.
    public var isForced: Bool
    /// Subtitles that also tell what is heard.
    public var isForHearingImpaired: Bool
    /// It lies in a file of its own beside the film.
    public var isExternal: Bool
    /// How loud its maker found it; nil when not said.
    public var replayGain: ReplayGain?
    /// Film time of its first sample; nil when not known before reading.
    public var start: MediaTime?
    /// How long it lasts; nil when the film does not say.
    public var duration: MediaTime?

    public init(
        id: Int, number: Int, format: Format, language: String? = nil, title: String? = nil, isDefault: Bool = false,
        isSpecialPurpose: Bool = false, isCoverArt: Bool = false, isForced: Bool = false,
        isForHearingImpaired: Bool = false, isExternal: Bool = false, start: MediaTime? = nil,
        duration: MediaTime? = nil
    ) {
        self.id = id
        self.number = number
        self.format = format
        self.language = language
        self.title = title
        self.isDefault = isDefault
        self.isSpecialPurpose = isSpecialPurpose
        self.isCoverArt = isCoverArt
        self.isForced = isForced
        self.isForHearingImpaired = isForHearingImpaired
        self.isExternal = isExternal
        self.start = start
        self.duration = duration
    }

    public var kind: Kind {
        switch format {
        case .audio: return .audio
        case .video: return .video
        case .subtitle: return .subtitle
        }
    }

    public var audioFormat: AudioFormat? {
        if case .audio(let format) = format { return format }
        return nil
    }

    public var videoFormat: VideoFormat? {
        if case .video(let format) = format { return format }
        return nil
    }

    public var subtitleFormat: SubtitleFormat? {
        if case .subtitle(let format) = format { return format }
        return nil
    }

    public static func == (left: Track, right: Track) -> Bool { left.id == right.id && left.format == right.format }
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
