/// The bar of a player along the lower edge of the window: where the film is, and what a pointer can do.
public struct ScreenBar: Sendable, Hashable {
    /// What a person pointed at.
    public enum Part: Sendable, Hashable {
        case previous, play, next
        /// A place on the line, 0…1.
        case place(Double)
        /// The sign of the loudness.
        case mute
        /// A place on the line of the loudness, 0…1.
        case volume(Double)
        /// The number beside that line, which only the wheel changes.
        case volumeNumber
        case button(Button)
        /// The bar's ground.
        case nothing

        var isVolume: Bool {
            switch self {
            case .mute, .volume, .volumeNumber: true
            default: false
            }
        }
    }

    /// What opens a list or changes something; each is shown with the words that say how it stands.
    public enum Button: String, Sendable, CaseIterable { case chapters, sound, subtitles, speed, rooms, fullScreen }

    /// What a pointer would do where it rests on the line.
    public struct Aim: Sendable, Hashable {
        /// 0…1.
        public var place: Double
        /// `00:12:34`, and the chapter that lies there.
        public var words: String

        public init(place: Double, words: String) { (self.place, self.words) = (place, words) }
    }

    /// How loud it is.
    public struct Volume: Sendable, Hashable {
        /// 0…100, and up to 130 where sound is lifted; nil while it is not known.
        public var percent: Int?
        public var isMuted: Bool

        public init(percent: Int?, isMuted: Bool) { (self.percent, self.isMuted) = (percent, isMuted) }
    }

    public var isPlaying: Bool
    /// The film plays as soon as enough of it has been read.
    public var isWaiting: Bool
    /// Where the film is, 0…1; nil where nobody knows how long it lasts.
    public var place: Double?
    /// How far the film has been read, 0…1.
    public var loaded: Double?
    /// How far the speaker holds the sound already, 0…1.
    public var handed: Double?
    /// Where chapters begin, 0…1.
    public var chapters: [Double]
    /// `00:01:02 / 01:02:03`.
    public var time: String
    /// What is shown of each button, the longest way to say it first, such as `Subtitles: eng`, `Subs: eng`; one that is absent is
    /// left out, and one without words shows its sign.
    public var buttons: [Button: [String]]
    /// There is something before, and behind.
    public var hasPrevious: Bool
    public var hasNext: Bool
    /// Nil without sound.
    public var volume: Volume?
    public var aim: Aim?

    public init(
        isPlaying: Bool, isWaiting: Bool = false, place: Double?, loaded: Double? = nil, handed: Double? = nil,
        chapters: [Double] = [],
        time: String, buttons: [Button: [String]] = [:], hasPrevious: Bool = false, hasNext: Bool = false,
        volume: Volume? = nil, aim: Aim? = nil
    ) {
        self.isPlaying = isPlaying
        self.isWaiting = isWaiting
        self.place = place
        self.loaded = loaded
        self.handed = handed
        self.chapters = chapters
        self.time = time
        self.buttons = buttons
        self.hasPrevious = hasPrevious
        self.hasNext = hasNext
        self.volume = volume
        self.aim = aim
    }
}
