/// The control bar along the lower edge of the window.
package struct ScreenBar: Sendable, Hashable {
    /// A part of the bar under the pointer.
    package enum Control: Sendable, Hashable {
        /// The buttons for the previous item, play or pause, and the next item.
        case previous, play, next
        /// A position on the seek slider, 0…1.
        case position(Double)
        /// The mute button.
        case mute
        /// A position on the volume slider, 0…1.
        case volume(Double)
        /// The number beside that line, which only the wheel changes.
        case volumeNumber
        /// One of the text buttons, or full screen.
        case button(Button)
        /// The background.
        case nothing

        var isVolume: Bool {
            switch self {
            case .mute, .volume, .volumeNumber: true
            default: false
            }
        }
    }

    /// The buttons that open a list or change a setting; each is displayed with its current state.
    package enum Button: String, Sendable, CaseIterable {
        case chapters = "chapters"
        case audio = "sound"
        case subtitles = "subtitles"
        case speed = "speed"
        case rooms = "rooms"
        case fullScreen = "fullScreen"
    }

    /// The action of a click at the pointer's position on the slider.
    package struct Aim: Sendable, Hashable {
        /// The position, 0…1.
        var position: Double
        /// The time, `00:12:34`, and the chapter at it.
        package var text: String

        /// Creates an aim.
        package init(position: Double, text: String) { (self.position, self.text) = (position, text) }
    }

    /// The volume.
    package struct Volume: Sendable, Hashable {
        /// 0…100, and up to 130 where sound is lifted; nil while it is not known.
        var percent: Int?
        /// Whether the audio is muted.
        var isMuted: Bool

        /// Creates a volume.
        package init(percent: Int?, isMuted: Bool) { (self.percent, self.isMuted) = (percent, isMuted) }
    }

    /// The output of the audio, as shown on the button `rooms`.
    package struct Output: Sendable, Hashable {
        /// The icon before the text.
        var symbol: OutputSymbol
        /// Whether the audio plays elsewhere than on this computer; the button is blue then.
        var isElsewhere: Bool

        /// Creates an output.
        package init(symbol: OutputSymbol, isElsewhere: Bool) {
            (self.symbol, self.isElsewhere) = (symbol, isElsewhere)
        }
    }

    /// Whether the film plays; selects the play or pause icon.
    package var isPlaying: Bool
    /// Whether playback waits until enough data has been read.
    package var isWaiting: Bool
    /// The playback position, 0…1; nil if the duration is unknown.
    package var position: Double?
    /// The end of the data read, 0…1; nil: not displayed.
    package var loaded: Double?
    /// The end of the audio sent to the speaker, 0…1; nil: not displayed.
    package var handed: Double?
    /// The starts of chapters, 0…1.
    var chapters: [Double]
    /// The time display: `00:01:02 / 01:02:03`.
    var time: String
    /// The film, above the seek slider; empty: not displayed.
    package var title = ""
    /// The alternative texts of each button, longest first, such as `Subtitles: eng`, `Subs: eng`. A missing button is
    /// not displayed; one without texts shows its icon. An empty last text means the icon alone.
    package var buttons: [Button: [String]]
    /// The output of the audio; nil: the button `rooms` has no icon.
    package var output: Output?
    /// Whether there is a previous item.
    var hasPrevious: Bool
    /// Whether there is a next item.
    var hasNext: Bool
    /// The volume; nil without audio.
    package var volume: Volume?
    /// The box at the pointer; nil while the pointer is not on the slider.
    package var aim: Aim?

    /// Creates a bar.
    package init(
        isPlaying: Bool, isWaiting: Bool = false, position: Double?, loaded: Double? = nil, handed: Double? = nil,
        chapters: [Double] = [],
        time: String, buttons: [Button: [String]] = [:], hasPrevious: Bool = false, hasNext: Bool = false,
        volume: Volume? = nil, aim: Aim? = nil
    ) {
        self.isPlaying = isPlaying
        self.isWaiting = isWaiting
        self.position = position
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
