internal import AirPlay
package import AirPlayTransport
package import MediaCore
package import Playback
internal import Routing
package import SyncRendering
package import Telemetry

/// The checked arguments of `talkie play`; nothing is open yet.
package struct PlayArguments: Sendable {
    /// Files, addresses and playlists, in order. `-` is standard input.
    var files: [String]
    /// The player options for all films.
    package var options = PlayerOptions()
    /// The outputs, which play in sync; empty: the local sound card.
    package var speakers: [SpeakerArgument] = []
    /// The properties that options have set, also those whose value is the usual one.
    package var chosen: Set<String> = []
    /// Whether the user has set a delay, which disables calibrations.
    var isAudioDelayChosen: Bool { chosen.contains("audio-delay") }
    /// How to use remembered outputs when no `--speaker` is given.
    package var routeMemory: RouteMemoryPolicy = .ask
    /// The route of speakers that have none of their own; nil: as before.
    package var speakerRoute: SpeakerPreferences.RouteRequest?
    /// What the user wants of speakers.
    var speakerPreferences: SpeakerPreferenceTable {
        let others = SpeakerPreferences(route: speakerRoute)
        let named = speakers.map { speaker in
            var preferences = speaker.preferences
            preferences.route = preferences.route ?? others.route
            return (speaker.choice.name, preferences)
        }
        return SpeakerPreferenceTable(others, named: named)
    }
    /// The policy after all outputs are lost; nil: wait for a speaker, but replace a sound card.
    package var lostRoute: PlaybackSession.LostRoutePolicy?
    package var isFullScreen = false
    /// Nil: the screen selected by the window system.
    package var screen: ScreenChoice?
    /// Nil: the size of the video, limited to the screen.
    package var windowSize: WindowSize?
    /// The video output.
    package var videoOutput = VideoOutputChoice.auto
    /// Aspect ratio, zoom and position of the video in the window.
    package var view = VideoGeometry()
    /// How often the playlist is repeated.
    package var loopPlaylist: PlayerOptions.Loop = .times(0)
    /// Whether certificates of https servers are verified.
    package var verifiesServers = true
    /// A PEM file of certificates to trust in addition to the system's.
    package var authorityFile: String?
    /// Whether films share the cookies that servers set.
    package var sharesCookies = false
    /// A file of cookies in Netscape's format.
    package var cookieFile: String?
    /// The file of the flight recorder.
    package var timelinePath: String?
    /// When the flight recorder starts another file.
    package var timelineRotation = TimelineRotation()
    /// The socket for commands of other programs.
    package var controlSocketPath: String?
    /// The address of the page for remote control; nil: none.
    package var remote: RemoteArgument?
    /// Whether media keys and other programs of the desktop control playback.
    package var hasMediaControls = true
    /// Errors only: no status line, no messages.
    package var isReallyQuiet = false
    package var logLevel: LogLevel = .warning
    /// The start of the A-B loop, and its end.
    package var sectionStart: FilmPosition?
    package var sectionEnd: FilmPosition?
    /// The log file.
    package var logPath: String?
    /// Whether films resume at their stored position.
    package var resumesPlayback = true
    /// Whether every end stores the position, not only `Q`.
    package var keepsPositions = false
    /// The key bindings.
    package var keys = KeyMap()
    /// Messages about the configuration files.
    package var notes: [String] = []

    package init(files: [String]) { self.files = files }
}

/// How a session uses remembered outputs.
package enum RouteMemoryPolicy: String, Sendable, CaseIterable {
    /// They are neither stored nor offered.
    case never = "never"
    /// The likely output is offered.
    case ask = "ask"
    /// The likely output is used.
    case always = "always"
}

/// A screen by number (0 is the first, as in mpv) or by its manufacturer's name.
package enum ScreenChoice: Sendable, Hashable {
    case number(Int)
    case named(String)

    /// Parses a screen.
    package init(parsing text: String) throws(ValueError) {
        if text.isEmpty { throw ValueError("a screen must be a number from 0 or a name; talkie doctor lists them") }
        self = DecimalNumber.integer(text).map(ScreenChoice.number) ?? .named(text)
    }
}

/// The video output, by mpv's names.
package enum VideoOutputChoice: String, Sendable, CaseIterable {
    /// The graphics processor if there is one, otherwise software.
    case auto = "auto"
    /// The graphics processor, through libplacebo.
    case gpuNext = "gpu-next"
    /// Same as `gpuNext`: mpv's older output has no counterpart here.
    case gpu = "gpu"
    /// The graphics processor, through SDL's renderer.
    case sdl = "sdl"
    /// Software, into the window's memory; mpv has two names for it, by window system.
    case x11 = "x11"
    case wlshm = "wlshm"
}

/// The inner size of a window in pixels.
package struct WindowSize: Sendable, Hashable {
    /// The largest size in X11 is 32767 (X Window System Protocol, CARD16 widths with signed coordinates); half of it
    /// exceeds any screen.
    static let largestSide = 16384

    var width: Int
    var height: Int

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Parses a size such as `1280x720`.
    package init(parsing text: String) throws(ValueError) {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2, let width = DecimalNumber.integer(sides[0]),
            let height = DecimalNumber.integer(sides[1]),
            (1...Self.largestSide).contains(width), (1...Self.largestSide).contains(height)
        else { throw ValueError("a size must have the form 1280x720, each side 1 to \(Self.largestSide)") }
        self.init(width: width, height: height)
    }
}
