import MediaCore
import SyncRendering

/// The health of a kiosk at one instant, as reported to monitoring. A value; the director publishes it.
struct KioskHealth: Sendable, Equatable {
    /// What is shown.
    enum Shown: Sendable, Equatable {
        case playing
        /// A film whose data arrives too slowly: the source and the film.
        case waiting(String)
        /// Paused by a fleet command.
        case paused
        /// A slate requested by a fleet command.
        case slate
        /// Screen and audio are off as configured, with the end or the reason.
        case off(String)
        /// A slate because nothing can be played, with the reason.
        case nothing(String)

        /// The names of all states in metrics and MQTT messages.
        static let names = ["playing", "waiting", "paused", "slate", "off", "nothing"]

        var name: String {
            switch self {
            case .playing: "playing"
            case .waiting: "waiting"
            case .paused: "paused"
            case .slate: "slate"
            case .off: "off"
            case .nothing: "nothing"
            }
        }
    }

    /// The state of one output.
    struct Output: Sendable, Equatable {
        /// The user-visible name.
        var name: String
        var isConnected = true
        /// The offset of its audio; positive if late.
        var error: Duration?
        /// The buffered audio ahead of the playhead.
        var buffered: Duration?
        var underruns = 0
        /// The state of the speaker's clock; nil without one.
        var clock: SpeakerClockState?

        init(_ name: String) { self.name = name }
    }

    struct Item: Sendable, Equatable {
        /// The name in the playlist, without credentials.
        var name: String
        /// The playlist position, from 1.
        var index: Int
        var began: WallTime
        /// The current media time.
        var position: MediaTime?

        init(_ name: String, index: Int, began: WallTime, position: MediaTime? = nil) {
            self.name = PrintableText.withoutCredentials(name)
            (self.index, self.began, self.position) = (index, began, position)
        }
    }

    /// The state of the configuration.
    struct Configuration: Sendable, Equatable {
        /// When the configuration in force was loaded.
        var loaded: WallTime
        /// The number of rejected configurations.
        var refusals = 0
        /// The reason of the last rejection; nil if the last configuration is in force.
        var refusal: String?
    }

    /// The instant of the observation.
    var instant: HostInstant
    var shown: Shown
    /// The reason why intended playback fails, as a sentence; nil without a fault.
    var fault: String?
    /// Impairments that do not stop playback, such as a fallback in use or skipped items; a sentence each.
    var degradations: [String] = []
    /// The number of playlist items that are not played at present.
    var skippedItems = 0
    /// The number of playbacks of items that were missing or incomplete.
    var problemCount = 0
    /// The time since a frame became visible; nil before the first.
    var sinceFrame: Duration?
    /// The time since an output accepted audio; nil before the first.
    var sinceAudio: Duration?
    /// Audio minus video: positive when audio is late.
    var offset: Duration?
    /// The largest offset between two outputs.
    var skew: Duration?
    /// The number of frames presented to a visible window.
    var frames = 0
    /// The number of frames dropped.
    var dropped = 0
    var outputs: [Output] = []
    /// The number of restarts of the process recorded in the state folder.
    var restarts = 0
    /// The number of repairs by stage.
    var repairs: [String: Int] = [:]
    /// The item that started last.
    var item: Item?
    /// The time since the director was created.
    var uptime: Duration
    var configuration: Configuration
    /// Further metrics: the wall's clock, the fleet's broker.
    var more: [MetricFamily] = []

    init(at instant: HostInstant, shown: Shown, uptime: Duration, configuration: Configuration) {
        (self.instant, self.shown, self.uptime, self.configuration) = (instant, shown, uptime, configuration)
    }

    /// The maximum age of a health value; an older one means that the kiosk's thread is blocked.
    static let longestSilence = Duration.seconds(10)

    /// The health without folders and servers of films, as it leaves this computer.
    var withoutFolders: KioskHealth {
        func bare(_ text: String) -> String { PrintableText.withoutFolders(text) }
        var health = self
        health.fault = fault.map(bare)
        health.degradations = degradations.map(bare)
        health.configuration.refusal = configuration.refusal.map(bare)
        health.item?.name = item.map { PrintableText.name(of: $0.name) } ?? ""
        switch shown {
        case .waiting(let source): health.shown = .waiting(bare(source))
        case .off(let reason): health.shown = .off(bare(reason))
        case .nothing(let reason): health.shown = .nothing(bare(reason))
        case .playing, .paused, .slate: break
        }
        return health
    }

    /// Returns the result of the health check.
    func verdict(at now: HostInstant) -> Verdict {
        let silence = now - instant
        if silence > Self.longestSilence {
            return .ill("the kiosk has not reported its health for \(Int(silence.inSeconds)) s")
        }
        if let fault { return .ill(fault) }
        let suffix = degradations.isEmpty ? "" : "; degraded: " + degradations.joined(separator: "; ")
        switch shown {
        case .playing: return .well((item.map { "playing '\($0.name)'" } ?? "playing") + suffix)
        case .waiting(let source): return .well("waiting for \(source)" + suffix)
        case .paused: return .well("paused by command" + suffix)
        case .slate: return .well("slate by command" + suffix)
        case .off(let reason): return .well("off on purpose: \(reason)")
        case .nothing(let reason): return .ill("nothing to show: \(reason)")
        }
    }

    /// The result of the health check, with a sentence.
    enum Verdict: Sendable, Equatable {
        case well(String)
        case ill(String)
    }
}
