/// A track of an item: its format and its position on the timeline.
public struct Track: Sendable, Hashable {
    /// The format by kind.
    public enum Format: Sendable, Equatable {
        /// The format of an audio track.
        case audio(AudioFormat)
        /// The format of a video track.
        case video(VideoFormat)
        /// The format of a subtitle track.
        case subtitle(SubtitleFormat)
    }

    /// The kinds of tracks.
    public enum Kind: String, Sendable {
        /// Audio, selected by `--aid`.
        case audio = "audio"
        /// Video, selected by `--vid`.
        case video = "video"
        /// Subtitles, selected by `--sid`.
        case subtitle = "subtitle"
    }

    /// What the content of a track is made for. Raw values are those of `--audio-track`.
    public enum Purpose: String, Sendable, CaseIterable {
        /// The film's usual sound, picture or subtitles.
        case main = "main"
        /// The usual sound with a narration of the picture, for the visually impaired (audio description).
        case description = "description"
        /// Sound with intelligible speech, for the hearing impaired (clean dialogue).
        case hearingImpaired = "hearing-impaired"
        /// A commentary on the film.
        case commentary = "commentary"
        /// Music without the lead voice.
        case karaoke = "karaoke"
        /// Music and effects without speech.
        case effects = "effects"
    }

    /// Unique within the item; stable while it is open.
    public var id: Int
    /// Position among the tracks of its kind, from 1, as in `--aid`, `--vid` and `--sid`.
    public var number: Int
    /// The format of the samples.
    public var format: Format
    /// Language as written in the media, usually ISO 639-2 (`eng`); nil if unspecified.
    public var language: String?
    /// The title in the metadata; nil if there is none.
    public var title: String?
    /// True if the author marked it as default.
    public var isDefault: Bool
    /// What it is made for. Others than `main` are played only if requested, or if there is no `main` one.
    public var purpose: Purpose
    /// True for a still image attached to a recording; it does not count as video.
    public var isCoverArt: Bool
    /// True for a still image that is an item itself, displayed for `duration`.
    public package(set) var isStillImage = false
    /// True for forced subtitles, which translate only passages in a foreign language.
    public var isForced: Bool
    /// True for subtitles that also describe sounds.
    public var isForHearingImpaired: Bool
    /// True for a track in a separate file.
    public var isExternal: Bool
    /// True for a track in a file that the user named for this item.
    public package(set) var isUserProvided = false
    /// Loudness metadata; nil if unspecified.
    public var replayGain: ReplayGain?
    /// Media time of its first sample; nil if unknown before reading.
    public var start: MediaTime?
    /// Duration in media time; nil if unspecified.
    public var duration: MediaTime?

    /// Creates a track.
    public init(
        id: Int, number: Int, format: Format, language: String? = nil, title: String? = nil, isDefault: Bool = false,
        purpose: Purpose = .main, isCoverArt: Bool = false, isForced: Bool = false,
        isForHearingImpaired: Bool = false, isExternal: Bool = false, start: MediaTime? = nil,
        duration: MediaTime? = nil
    ) {
        self.id = id
        self.number = number
        self.format = format
        self.language = language
        self.title = title
        self.isDefault = isDefault
        self.purpose = purpose
        self.isCoverArt = isCoverArt
        self.isForced = isForced
        self.isForHearingImpaired = isForHearingImpaired
        self.isExternal = isExternal
        self.start = start
        self.duration = duration
    }

    /// The kind, derived from `format`.
    public var kind: Kind {
        switch format {
        case .audio: return .audio
        case .video: return .video
        case .subtitle: return .subtitle
        }
    }

    /// The audio format; nil for other kinds.
    public var audioFormat: AudioFormat? {
        if case .audio(let format) = format { return format }
        return nil
    }

    /// The video format; nil for other kinds.
    public var videoFormat: VideoFormat? {
        if case .video(let format) = format { return format }
        return nil
    }

    /// The subtitle format; nil for other kinds.
    public var subtitleFormat: SubtitleFormat? {
        if case .subtitle(let format) = format { return format }
        return nil
    }

    /// Compares `id` and `format` only.
    public static func == (left: Track, right: Track) -> Bool { left.id == right.id && left.format == right.format }
    /// Hashes `id`.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
