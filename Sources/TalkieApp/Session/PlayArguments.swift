internal import AirPlay
package import MediaCore
package import Playback
internal import Routing
package import SyncRendering
package import Telemetry

/// Everything `talkie play` was told, understood and checked for sense; nothing has been opened yet.
package struct PlayArguments: Sendable {
    /// Films, addresses and playlists, in order. `-` is standard input.
    package var files: [String]
    /// What every film's player is told.
    package var options = PlayerOptions()
    /// Where the sound goes, all at once; empty is the local card.
    package var speakers: [SpeakerChoice] = []
    /// The user's own delay sets calibrated ones aside.
    package var isAudioDelayChosen = false
    /// What is made of where the sound went on other evenings, when nothing is said about it.
    package var routeMemory: RouteMemoryPolicy = .ask
    /// What to do when everything that plays is lost; nil waits for a speaker, while a sound card gives way to another.
    package var lostRoute: LostRoutePolicy?
    package var isFullScreen = false
    /// Nil is the screen the window system chooses.
    package var screen: ScreenChoice?
    /// Nil is the film's own size, as far as the screen allows.
    package var windowSize: WindowSize?
    /// Who draws the pictures.
    package var videoOutput = VideoOutputChoice.auto
    /// How pictures lie in the window.
    package var view = PictureView()
    /// How often the whole list is played again.
    package var loopPlaylist: PlayerOptions.Loop = .times(0)
    /// Whether https servers must prove who they are.
    package var verifiesServers = true
    /// Certificates to believe beside the system's, in PEM.
    package var authorityFile: String?
    /// Whether films share the cookies that servers set.
    package var sharesCookies = false
    /// Cookies in Netscape's format, for the films' servers.
    package var cookieFile: String?
    /// Where the flight recorder writes.
    package var timelinePath: String?
    /// When it begins another file.
    package var timelineRotation = TimelineRotation()
    package var controlSocketPath: String?
    /// Errors only: no status line, no messages.
    package var isReallyQuiet = false
    package var logLevel: LogLevel = .warning
    /// Between which places films are repeated.
    package var sectionStart: FilmPosition?
    package var sectionEnd: FilmPosition?
    /// Where everything is written that is said.
    package var logPath: String?
    /// Whether a film goes on where it was stopped.
    package var resumesPlayback = true
    /// Whether every end keeps the film's place, not only `Q`.
    package var keepsPlaces = false
    /// Which key asks for what.
    package var keys = KeyMap()
    /// What a person should know of the files that this was read from.
    package var notes: [String] = []

    package init(files: [String]) { self.files = files }
}

/// What a session makes of where the sound went on other evenings.
package enum RouteMemoryPolicy: String, Sendable, CaseIterable {
    /// Neither kept nor offered.
    case never
    /// The likely place is offered.
    case ask
    /// The sound goes to the likely place by itself.
    case always
}

/// What a session does when the sound has nowhere to go any more: a card unplugged, a speaker gone.
package enum LostRoutePolicy: String, Sendable, CaseIterable {
    /// The picture plays on; the sound comes back in sync when its output does.
    case wait
    /// This computer's own sound takes over.
    case local
    /// The film pauses.
    case pause
}

/// A screen by number (0 is the first, as mpv counts) or by the name its maker gave it.
package enum ScreenChoice: Sendable, Hashable {
    case number(Int)
    case named(String)

    package init(parsing text: String) throws(ValueError) {
        if text.isEmpty { throw ValueError("a screen is a number from 0 or a name; talkie doctor lists them") }
        self = DecimalNumber.whole(text).map(ScreenChoice.number) ?? .named(text)
    }
}

/// Who draws the pictures, in mpv's words.
package enum VideoOutputChoice: String, Sendable, CaseIterable {
    /// The graphics processor when there is one, else this processor.
    case auto
    /// The graphics processor, through libplacebo.
    case gpuNext = "gpu-next"
    /// The same: what mpv's older one does is not here.
    case gpu
    /// The graphics processor, through SDL's own renderer.
    case sdl
    /// This processor, into the window's memory; mpv's words for it are two, by window system.
    case x11
    case wlshm
}

/// A window's inside, in pixels.
package struct WindowSize: Sendable, Hashable {
    /// The largest side that X11 can express is 32767 (X Window System Protocol, CARD16 widths with signed
    /// coordinates); half of it is wider than any screen.
    package static let largestSide = 16384

    package var width: Int
    package var height: Int

    package init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// `1280x720`.
    package init(parsing text: String) throws(ValueError) {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2, let width = DecimalNumber.whole(sides[0]), let height = DecimalNumber.whole(sides[1]),
            (1...Self.largestSide).contains(width), (1...Self.largestSide).contains(height)
        else { throw ValueError("a size is written 1280x720, each side 1 to \(Self.largestSide)") }
        self.init(width: width, height: height)
    }
}
