internal import AirPlay
internal import MediaCore

/// Everything `talkie play` was told, understood and checked for sense; nothing has been opened yet.
public struct PlayArguments: Sendable {
    /// Films, addresses and playlists, in order. `-` is standard input.
    public var files: [String]
    /// What every film's player is told.
    public var options = PlayerOptions()
    /// Where the sound goes, all at once; empty is the local card.
    public var speakers: [SpeakerChoice] = []
    /// The user's own delay sets calibrated ones aside.
    public var isAudioDelayChosen = false
    /// What is made of where the sound went on other evenings, when nothing is said about it.
    public var routeMemory: RouteMemoryPolicy = .ask
    /// What to do when everything that plays is lost; nil waits for a speaker, while a sound card gives way to another.
    public var lostRoute: LostRoutePolicy?
    public var isFullScreen = false
    /// Nil is the screen the window system chooses.
    public var screen: ScreenChoice?
    /// Nil is the film's own size, as far as the screen allows.
    public var windowSize: WindowSize?
    /// How often the whole list is played again.
    public var loopPlaylist: PlayerOptions.Loop = .times(0)
    /// Where the flight recorder writes.
    public var timelinePath: String?
    public var controlSocketPath: String?
    /// Errors only: no status line, no messages.
    public var isReallyQuiet = false
    public var logLevel: LogLevel = .warning

    public init(files: [String]) { self.files = files }
}

/// Where sound should go, as named by a person.
public enum SpeakerChoice: Sendable, Hashable {
    /// This computer's sound card.
    case local
    /// A speaker's name, its identifier, or its address as `airplay://HOST[:PORT]`.
    case named(String)

    public init(parsing text: String) throws(ValueError) {
        if text.isEmpty { throw ValueError("a speaker is a name, an ID, airplay://HOST[:PORT] or local") }
        do {
            self = try SpeakerQuery(text) == .local ? .local : .named(text)
        } catch {
            throw ValueError(error.message)
        }
    }
}

/// What a session makes of where the sound went on other evenings.
public enum RouteMemoryPolicy: String, Sendable, CaseIterable {
    /// Neither kept nor offered.
    case never
    /// The likely place is offered.
    case ask
    /// The sound goes to the likely place by itself.
    case always
}

/// What a session does when the sound has nowhere to go any more: a card unplugged, a speaker gone.
public enum LostRoutePolicy: String, Sendable, CaseIterable {
    /// The picture plays on; the sound comes back in sync when its output does.
    case wait
    /// This computer's own sound takes over.
    case local
    /// The film pauses.
    case pause
}

/// A screen by number (0 is the first, as mpv counts) or by the name its maker gave it.
public enum ScreenChoice: Sendable, Hashable {
    case number(Int)
    case named(String)

    public init(parsing text: String) throws(ValueError) {
        if text.isEmpty { throw ValueError("a screen is a number from 0 or a name; talkie doctor lists them") }
        self = DecimalNumber.whole(text).map(ScreenChoice.number) ?? .named(text)
    }
}

/// A window's inside, in pixels.
public struct WindowSize: Sendable, Hashable {
    /// The largest side that X11 can express is 32767 (X Window System Protocol, CARD16 widths with signed
    /// coordinates); half of it is wider than any screen.
    public static let largestSide = 16384

    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// `1280x720`.
    public init(parsing text: String) throws(ValueError) {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2, let width = DecimalNumber.whole(sides[0]), let height = DecimalNumber.whole(sides[1]),
            (1...Self.largestSide).contains(width), (1...Self.largestSide).contains(height)
        else { throw ValueError("a size is written 1280x720, each side 1 to \(Self.largestSide)") }
        self.init(width: width, height: height)
    }
}

/// How much is told on the terminal; each level includes those before it.
public enum LogLevel: Int, Sendable, Comparable, CaseIterable {
    case error, warning, info, debug

    public init(parsing text: String) throws(ValueError) {
        guard let level = Self.allCases.first(where: { "\($0)" == text }) else {
            throw ValueError("a log level is error, warning, info or debug")
        }
        self = level
    }

    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}
