package import MediaCore
import Remote
import ScreenOutput

/// The parsed and validated configuration of a kiosk. No file or device has been opened yet.
package struct KioskConfiguration: Sendable, Equatable {
    /// The order of a playlist.
    enum Order: String, Sendable, CaseIterable {
        /// In playlist order; folders in natural order.
        case listed = "listed"
        /// Every item once per pass, in a random order that changes with each pass.
        case shuffled = "shuffled"
    }

    typealias Overscan = ScreenArrangement.Overscan
    typealias DisplayMode = ScreenOutput.DisplayMode

    /// When playback starts.
    enum Start: Sendable, Hashable {
        case atOnce
        /// The next time that the clock shows this.
        case time(TimeOfDay)
        case dateTime(WrittenDateTime)
    }

    /// The action for an item that cannot be played.
    enum BrokenItem: String, Sendable, CaseIterable {
        /// Plays the next item without a gap.
        case skip = "skip"
        /// Shows the slate with the item's failure for ten seconds.
        case slate = "slate"
        /// Ends the kiosk with the item's exit status, for a supervisor.
        case stop = "stop"
    }

    /// A display, by its index or a part of its name.
    enum Screen: Sendable, Hashable {
        case number(Int)
        case named(String)

        var display: ScreenOptions.Display {
            switch self {
            case .number(let index): .index(index)
            case .named(let name): .name(name)
            }
        }
    }

    /// The display of the operator's dashboard.
    enum OperatorScreen: Sendable, Hashable {
        /// The first display that does not show the films.
        case other
        case chosen(Screen)
    }

    /// The settings that may differ by time of day.
    struct DaySettings: Sendable, Equatable {
        /// Files, folders, playlists and web addresses, in order; paths are absolute.
        var playlist: [String] = []
        var order = Order.listed
        /// The outputs that play at the same time; empty: no audio.
        var speakers = ["local"]
        /// The outputs used, in this order, if all `speakers` are lost; the sound card is the last.
        var fallbacks: [String] = []
        /// The languages of the sound tracks of outputs in order of preference; other outputs play the film's default.
        var languages: [String: [String]] = [:]
        /// The purposes of the sound tracks of outputs, such as audio description.
        var purposes: [String: Track.Purpose] = [:]
        /// The channels of the films that outputs play; other outputs play all.
        var parts: [String: ChannelSelection] = [:]
        /// 0…130; nil: the volumes of speakers are not changed.
        var volume: Double?
    }

    /// A part of the day with a different programme.
    struct DayPeriod: Sendable, Equatable {
        var name: String
        var span: DaySpan
        /// The weekdays on which the part starts; 1 is Monday.
        var days: Set<Int>
        var settings: DaySettings
    }

    /// The programme outside of `periods`.
    var settings = DaySettings()
    /// If several parts apply, the last one counts.
    var periods: [DayPeriod] = []
    /// Whether the playlist is repeated.
    var loops = true
    /// The display of the films.
    var screen: Screen?
    /// The display of the operator's dashboard; nil: none. Further displays are not used.
    var operatorScreen: OperatorScreen?
    /// Degrees clockwise: 0, 90, 180, 270.
    package var rotation = 0
    /// Nil: video is scaled on a display whose EDID states overscan.
    var overscan: Overscan?
    /// The margin that text keeps to each side, in percent.
    var titleSafe = 0.0
    var mode = DisplayMode.current
    /// When playback starts.
    var start = Start.atOnce
    /// The hours in which screen and audio are off.
    var quietHours: [DaySpan] = []
    /// The image shown while nothing can be played; nil: the built-in slate.
    var slate: String?
    var onBrokenItem = BrokenItem.skip
    /// The display duration of image files.
    var imageDuration = Duration.seconds(10)
    /// The timeout of an unresponsive speaker before fallbacks take over; nil: until its connection is lost.
    var speakerTimeout: Duration?
    var hooks = Hooks()
    /// The address of the metrics server; nil: no server.
    var metrics: HTTPAddress? = standardMetrics
    /// The group that may use the kiosk's socket; nil: its user and root only.
    var controlGroup: String?
    /// The page for a phone; nil: none.
    var remote: Page?
    /// The flight recorder's file; nil: no recording.
    var timeline: Timeline?
    /// Synchronization with other kiosks; nil: none.
    var wall: Wall?
    /// Remote control and monitoring over MQTT; nil: none.
    var fleet: Fleet?

    /// Valid settings that should be written differently, each with its line.
    package var remarks: [ConfigMistake] = []
    /// The lines of the keys.
    var lines = KeyLines()

    init() {}

    /// Returns the layout of all content on the screen.
    ///
    /// - Parameter isOverscanning: Whether the display states overscan.
    func arrangement(isOverscanning: Bool) -> ScreenArrangement {
        var arrangement = ScreenArrangement()
        arrangement.rotation = rotation
        arrangement.overscan = overscan ?? (isOverscanning ? .scale(Overscan.usual) : .none)
        arrangement.titleSafe = titleSafe
        return arrangement
    }

    /// Whether any programme has audio.
    var hasAudio: Bool { !settings.speakers.isEmpty || periods.contains { !$0.settings.speakers.isEmpty } }
}
