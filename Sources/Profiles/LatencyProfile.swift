internal import SyncRendering

/// What a calibration found out for good: how much later than the picture on one screen the sound of one speaker is.
package struct LatencyProfile: Sendable, Equatable {
    /// What a number depends on: another screen, another refresh, another route is another delay.
    package struct Key: Sendable, Hashable {
        /// Digits of the speaker's id, or `SoundSink.key` for a sink of this computer: `sink-…`, `bluetooth-…`, `hw-…`.
        /// Once it was `local-` and ALSA's name for a card: see `isOfUnknownSink`.
        package var speaker: String
        /// The display's name, as the window system tells it; empty where there was no picture.
        package var screen: String
        /// `unpaced window`, `60 Hz full-screen`, …
        package var mode: String
        /// The kind of stream, or `card`.
        package var route: String

        package init(speaker: String, screen: String, mode: String, route: String) {
            self.speaker = speaker
            self.screen = screen
            self.mode = mode
            self.route = route
        }

        package static func isSpeakerKey(_ text: String) -> Bool { OutputIdentity.isKey(text) }

        /// Kept before sinks were told apart: behind ALSA's name there may have been any, so that it holds for none.
        package var isOfUnknownSink: Bool { Self.isOfUnknownSink(speaker: speaker, route: route) }

        package static func isOfUnknownSink(speaker: String, route: String) -> Bool {
            route == OutputIdentity.cardRoute && speaker.hasPrefix("local-")
        }

        package static func isUnpaced(_ mode: String) -> Bool { mode.hasPrefix("unpaced") }
        package static func isFullScreen(_ mode: String) -> Bool { mode.hasSuffix("full-screen") }
        /// The same pace of pictures, in a window or not.
        static func hasEqualPace(_ one: String, _ other: String) -> Bool {
            one.prefix { $0 != " " } == other.prefix { $0 != " " }
        }

        package static func mode(refresh hertz: Int?, isFullScreen: Bool) -> String {
            (hertz.map { "\($0)-Hz" } ?? "unpaced") + (isFullScreen ? " full-screen" : " window")
        }
    }

    package var key: Key
    /// As the speaker was called then.
    package var speakerName: String
    /// Milliseconds, positive when sound is later than picture; nil when only differences between rooms are known.
    package var offset: Double?
    /// Standard deviation of one event, and half the 95 % interval.
    package var sigma: Double
    package var halfWidth: Double
    package var events: Int
    /// The offset is the first less the second: what sound is late behind its command, and picture.
    package var soundRest: Double
    package var screenRest: Double
    /// `measured`, `stated`, `unknown` or `inside` (`SpeakerAnswer.ScreenShare`).
    package var screenSource: String
    /// `CalibrationWay`.
    package var way: String
    /// The run that brought rooms together, and how much later than its first speaker this one was.
    package var room: Room?
    /// Seconds of the Unix epoch.
    package var measuredAt: Int64
    /// What the outputs stated about themselves then.
    package var shares: [LatencyLedger.Share] = []

    package struct Room: Sendable, Equatable {
        package var run: String
        package var behindFirst: Double

        package init(run: String, behindFirst: Double) {
            self.run = run
            self.behindFirst = behindFirst
        }
    }

    /// What every value is held to, in milliseconds: nothing in a living room is later.
    static let largestOffset = 5000.0

    package init(key: Key, speakerName: String) {
        self.key = key
        self.speakerName = speakerName
        (offset, sigma, halfWidth, events) = (nil, 0, 0, 0)
        (soundRest, screenRest, screenSource, way, measuredAt) = (
            0, 0, "unknown", CalibrationWay.differences.rawValue, 0
        )
    }
}

extension LatencyProfile.Key {
    /// How well a number for this key fits a screen and mode; nil is not known yet. First the same screen and mode, then
    /// the same screen, then any: a screen's own share is then wrong, the speaker's is not.
    package func likeness(to screen: String?, mode: String?) -> Int {
        var likeness = 0
        if let screen, screen == self.screen { likeness += 8 }
        if let mode {
            if mode == self.mode { likeness += 4 } else if Self.hasEqualPace(mode, self.mode) { likeness += 2 }
        }
        return likeness
    }
}
