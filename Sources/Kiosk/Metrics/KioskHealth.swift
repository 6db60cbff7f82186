package import MediaCore
package import SyncRendering

/// How a kiosk is, at one moment: what is told to whoever watches it. A value that the session makes, as often as it likes.
package struct KioskHealth: Sendable, Equatable {
    package enum Shown: Sendable, Equatable {
        case playing
        /// A film whose data do not come fast enough: for what, and which.
        case waiting(String)
        /// Paused by a command from afar.
        case paused
        /// A slate in place of the films, by a command from afar.
        case slate
        /// Dark and silent because it was told to be: until when, or why.
        case off(String)
        /// A slate, because there is nothing that can be played: why.
        case nothing(String)
    }

    package struct Output: Sendable, Equatable {
        /// As people call it.
        package var name: String
        package var isConnected = true
        /// How late its sound is.
        package var error: Duration?
        /// How far ahead of the playhead it has sound.
        package var buffered: Duration?
        package var underruns = 0
        /// Nil for one that needs no clock.
        package var clock: SpeakerClockState?

        package init(_ name: String) { self.name = name }
    }

    package struct Item: Sendable, Equatable {
        /// As its list names it, without names and passwords.
        package var name: String
        /// Its place in the list, from 1.
        package var index: Int
        package var began: WallTime
        /// Where it is now.
        package var position: MediaTime?

        package init(_ name: String, index: Int, began: WallTime, position: MediaTime? = nil) {
            self.name = PrintableText.withoutCredentials(name)
            (self.index, self.began, self.position) = (index, began, position)
        }
    }

    /// What became of the configuration.
    package struct Configuration: Sendable, Equatable {
        /// When the one in force was read.
        package var loaded: WallTime
        /// How often another one was not taken.
        package var refusals = 0
        /// Why the last one was not; nil where the last one is in force.
        package var refusal: String?

        package init(loaded: WallTime) { self.loaded = loaded }
    }

    /// When this was so.
    package var moment: HostInstant
    package var shown: Shown
    /// Why it is not alive, in spite of what it means to show; a sentence.
    package var fault: String?
    /// What is not as it should be while the kiosk does what it is for: a speaker whose fallback plays, items that are skipped.
    package var degradations: [String] = []
    /// The number of items of the list that are not played at present.
    package var skippedItems = 0
    /// Since a picture became visible; nil before the first.
    package var sincePicture: Duration?
    /// Since an output took sound; nil before the first.
    package var sinceSound: Duration?
    /// Sound minus picture: positive when sound is late.
    package var offset: Duration?
    /// The largest difference between two outputs.
    package var skew: Duration?
    package var pictures = 0
    package var dropped = 0
    package var outputs: [Output] = []
    /// How often the process was started anew, as far as its state folder remembers.
    package var restarts = 0
    /// How often each step was taken against a fault.
    package var repairs: [String: Int] = [:]
    /// The last item that began.
    package var item: Item?
    package var uptime: Duration
    package var configuration: Configuration
    /// What other parts have to tell: the wall's clock, the fleet's broker.
    package var more: [MetricFamily] = []

    package init(at moment: HostInstant, shown: Shown, uptime: Duration, configuration: Configuration) {
        (self.moment, self.shown, self.uptime, self.configuration) = (moment, shown, uptime, configuration)
    }

    /// A session that has not said how it is for so long stands still.
    package static let longestSilence = Duration.seconds(10)

    /// What is answered to whoever asks whether it is well.
    package func verdict(at now: HostInstant) -> Verdict {
        let silence = now - moment
        if silence > Self.longestSilence {
            return .ill("the kiosk has not said how it is for \(Int(silence.inSeconds)) s")
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

    package enum Verdict: Sendable, Equatable {
        case well(String)
        case ill(String)
    }
}
