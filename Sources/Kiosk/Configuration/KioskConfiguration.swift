package import LocalOutput
package import MediaCore

/// What a kiosk was told by its configuration, understood and checked for sense; nothing has been opened yet.
package struct KioskConfiguration: Sendable, Equatable {
    package enum Order: String, Sendable, CaseIterable {
        /// As the list has it; folders in natural order.
        case listed
        /// Every item once, in an order that is thrown anew for each round.
        case shuffled
    }

    package typealias Overscan = ScreenArrangement.Overscan
    package typealias DisplayMode = LocalOutput.DisplayMode

    package enum Start: Sendable, Hashable {
        case atOnce
        /// The next time that the clock shows this.
        case time(TimeOfDay)
        case moment(WrittenMoment)
    }

    package enum BrokenItem: String, Sendable, CaseIterable {
        /// The next one follows without a gap.
        case skip
        /// The slate says which, for as long as the item would have lasted, or ten seconds.
        case slate
        /// The kiosk ends with the item's status, for a supervisor.
        case stop
    }

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

    /// Where whoever runs the show reads how it goes.
    package enum OperatorScreen: Sendable, Hashable {
        /// The first display that does not show the films.
        case other
        case chosen(Screen)
    }

    /// What may be another at other times of the day.
    package struct Programme: Sendable, Equatable {
        /// Files, folders, playlists and addresses, in order; paths are whole.
        package var playlist: [String] = []
        package var order = Order.listed
        /// Where the sound goes, all at once; empty is silent.
        package var speakers = ["local"]
        /// Who takes over, in this order, when all of them are lost; behind them the sound card.
        package var fallbacks: [String] = []
        /// Nil leaves speakers as their owners set them.
        package var volume: Double?
    }

    package struct DayPart: Sendable, Equatable {
        package var name: String
        package var span: DaySpan
        /// The days on which it begins; 1 is Monday.
        package var days: Set<Int>
        package var programme: Programme
    }

    package var programme = Programme()
    /// Of several that are in force the last one counts.
    package var parts: [DayPart] = []
    package var loops = true
    package var screen: Screen?
    /// Nil for none; further displays are left alone.
    package var operatorScreen: OperatorScreen?
    /// Degrees clockwise: 0, 90, 180, 270.
    package var rotation = 0
    /// Nil scales the picture on a display that states that it hides edges (EDID).
    package var overscan: Overscan?
    /// Per cent of each side that words keep free.
    package var titleSafe = 0.0
    package var mode = DisplayMode.current
    package var start = Start.atOnce
    /// Screen and sound are off.
    package var quietHours: [DaySpan] = []
    /// A picture for when there is nothing to show; nil is Talkie's own.
    package var slate: String?
    package var onBrokenItem = BrokenItem.skip
    /// How long a picture file is shown.
    package var imageDuration = Duration.seconds(10)
    /// How long a speaker may leave everything unanswered before others take over; nil waits until its connection is given up.
    package var speakerTimeout: Duration?
    package var hooks = Hooks()
    /// Where health can be asked for; nil for nowhere.
    package var metrics: MetricsAddress? = .standard
    /// Where the flight recorder writes; nil for nowhere.
    package var timeline: Timeline?
    /// In step with other kiosks; nil plays by itself.
    package var wall: Wall?
    /// Driven and watched over MQTT; nil is by nobody.
    package var fleet: Fleet?

    /// What is understood but should be written in another way, each with its line.
    package var remarks: [ConfigMistake] = []
    /// Where its keys were written.
    var lines = KeyLines()

    package init() {}

    /// How all that is drawn lies on the screen.
    ///
    /// - Parameter isOverscanning: whether the display states that it hides the edges.
    func arrangement(isOverscanning: Bool) -> ScreenArrangement {
        var arrangement = ScreenArrangement()
        arrangement.rotation = rotation
        arrangement.overscan = overscan ?? (isOverscanning ? .scale(Overscan.usual) : .none)
        arrangement.titleSafe = titleSafe
        return arrangement
    }

    /// Whether any hour has sound.
    var hasSound: Bool { !programme.speakers.isEmpty || parts.contains { !$0.programme.speakers.isEmpty } }
}
