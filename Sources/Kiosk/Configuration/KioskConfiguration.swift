package import MediaCore
package import ScreenOutput

/// The parsed and validated configuration of a kiosk. No file or device has been opened yet.
package struct KioskConfiguration: Sendable, Equatable {
    /// The order of a playlist.
    package enum Order: String, Sendable, CaseIterable {
        /// In playlist order; folders in natural order.
        case listed = "listed"
        /// Every item once per pass, in a random order that changes with each pass.
        case shuffled = "shuffled"
    }

    package typealias Overscan = ScreenArrangement.Overscan
    package typealias DisplayMode = ScreenOutput.DisplayMode

    /// When playback starts.
    package enum Start: Sendable, Hashable {
        case atOnce
        /// The next time that the clock shows this.
        case time(TimeOfDay)
        case moment(WrittenMoment)
    }

    /// The action for an item that cannot be played.
    package enum BrokenItem: String, Sendable, CaseIterable {
        /// Plays the next item without a gap.
        case skip = "skip"
        /// Shows the slate with the item's failure for ten seconds.
        case slate = "slate"
        /// Ends the kiosk with the item's exit status, for a supervisor.
        case stop = "stop"
    }

    /// A display, by its index or a part of its name.
    package enum Screen: Sendable, Hashable {
        case number(Int)
        case named(String)

        var display: ScreenOptions.Display {
            switch self {
            case .number(let index): .index(index)
            case .named(let name): .name(name)
            }
        }
    }

    /// The display of the operator's board.
    package enum OperatorScreen: Sendable, Hashable {
        /// The first display that does not show the films.
        case other
        case chosen(Screen)
    }

    /// The settings that may differ by time of day.
    package struct Programme: Sendable, Equatable {
        /// Files, folders, playlists and web addresses, in order; paths are absolute.
        package var playlist: [String] = []
        package var order = Order.listed
        /// The outputs that play at the same time; empty: no audio.
        package var speakers = ["local"]
        /// The outputs used, in this order, if all `speakers` are lost; the sound card is the last.
        package var fallbacks: [String] = []
        /// 0…130; nil: the volumes of speakers are not changed.
        package var volume: Double?
    }

    /// A part of the day with a different programme.
    package struct DayPart: Sendable, Equatable {
        package var name: String
        package var span: DaySpan
        /// The weekdays on which the part starts; 1 is Monday.
        package var days: Set<Int>
        package var programme: Programme
    }

    /// The programme outside of `parts`.
    package var programme = Programme()
    /// If several parts apply, the last one counts.
    package var parts: [DayPart] = []
    /// Whether the playlist is repeated.
    package var loops = true
    /// The display of the films.
    package var screen: Screen?
    /// The display of the operator's board; nil: none. Further displays are not used.
    package var operatorScreen: OperatorScreen?
    /// Degrees clockwise: 0, 90, 180, 270.
    package var rotation = 0
    /// Nil: video is scaled on a display whose EDID states overscan.
    package var overscan: Overscan?
    /// The margin that text keeps to each side, in percent.
    package var titleSafe = 0.0
    package var mode = DisplayMode.current
    /// When playback starts.
    package var start = Start.atOnce
    /// The hours in which screen and audio are off.
    package var quietHours: [DaySpan] = []
    /// The image shown while nothing can be played; nil: the built-in slate.
    package var slate: String?
    package var onBrokenItem = BrokenItem.skip
    /// The display duration of image files.
    package var imageDuration = Duration.seconds(10)
    /// The timeout of an unresponsive speaker before fallbacks take over; nil: until its connection is lost.
    package var speakerTimeout: Duration?
    package var hooks = Hooks()
    /// The address of the metrics server; nil: no server.
    package var metrics: MetricsAddress? = .standard
    /// The flight recorder's file; nil: no recording.
    package var timeline: Timeline?
    /// Synchronization with other kiosks; nil: none.
    package var wall: Wall?
    /// Remote control and monitoring over MQTT; nil: none.
    package var fleet: Fleet?

    /// Valid settings that should be written differently, each with its line.
    package var remarks: [ConfigMistake] = []
    /// The lines of the keys.
    var lines = KeyLines()

    package init() {}

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
    var hasSound: Bool { !programme.speakers.isEmpty || parts.contains { !$0.programme.speakers.isEmpty } }
}
