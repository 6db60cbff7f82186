/// What a calibration found out for good: how much later than the picture on one screen the sound of one speaker is.
public struct LatencyProfile: Sendable, Equatable {
    /// What a number depends on: another screen, another refresh, another route is another delay.
    public struct Key: Sendable, Hashable {
        /// Digits of the speaker's id, or `SoundSink.key` for a sink of this computer: `sink-…`, `bluetooth-…`, `hw-…`.
        /// Once it was `local-` and ALSA's name for a card: see `isOfUnknownSink`.
        public var speaker: String
        /// The display's name, as the window system tells it; empty where there was no picture.
        public var screen: String
        /// `unpaced window`, `60 Hz full-screen`, …
        public var mode: String
        /// The kind of stream, or `card`.
        public var route: String

        public init(speaker: String, screen: String, mode: String, route: String) {
            self.speaker = speaker
            self.screen = screen
            self.mode = mode
            self.route = route
        }

        /// Letters, digits, `-`, `_` and `.`: safe as a file's name.
        static func isSpeakerKey(_ text: String) -> Bool {
            (1...64).contains(text.utf8.count) && !text.hasPrefix(".")
                && text.utf8.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                        || byte == 0x2D || byte == 0x5F || byte == 0x2E
                }
        }

        /// Kept before sinks were told apart: behind ALSA's name there may have been any, so that it holds for none.
        public var isOfUnknownSink: Bool { Self.isOfUnknownSink(speaker: speaker, route: route) }

        static func isOfUnknownSink(speaker: String, route: String) -> Bool {
            route == CalibrationOutputs.cardRoute && speaker.hasPrefix("local-")
        }

        static func isUnpaced(_ mode: String) -> Bool { mode.hasPrefix("unpaced") }
        static func isFullScreen(_ mode: String) -> Bool { mode.hasSuffix("full-screen") }
        /// The same pace of pictures, in a window or not.
        static func hasEqualPace(_ one: String, _ other: String) -> Bool {
            one.prefix { $0 != " " } == other.prefix { $0 != " " }
        }

        static func mode(refresh hertz: Int?, isFullScreen: Bool) -> String {
            (hertz.map { "\($0)-Hz" } ?? "unpaced") + (isFullScreen ? " full-screen" : " window")
        }
    }

    public var key: Key
    /// As the speaker was called then.
    public var speakerName: String
    /// Milliseconds, positive when sound is later than picture; nil when only differences between rooms are known.
    public var offset: Double?
    /// Standard deviation of one event, and half the 95 % interval.
    public var sigma: Double
    public var halfWidth: Double
    public var events: Int
    /// The offset is the first less the second: what sound is late behind its command, and picture.
    var soundRest: Double
    var screenRest: Double
    /// `measured`, `stated`, `unknown` or `inside` (`SpeakerAnswer.ScreenShare`).
    var screenSource: String
    /// `CalibrationWay`.
    var way: String
    /// The run that brought rooms together, and how much later than its first speaker this one was.
    var room: Room?
    /// Seconds of the Unix epoch.
    public var measuredAt: Int64
    /// What the outputs stated about themselves then.
    var shares: [LatencyLedger.Share] = []

    struct Room: Sendable, Equatable {
        var run: String
        var behindFirst: Double
    }

    /// What every value is held to, in milliseconds: nothing in a living room is later.
    static let largestOffset = 5000.0

    /// - Parameter run: names the run that speakers were aligned in.
    init(
        _ answer: SpeakerAnswer, in whole: CalibrationAnswer, run: String, shares: [LatencyLedger.Share], at time: Int64
    ) {
        key = Key(
            speaker: answer.speaker.key, screen: whole.display?.name ?? "", mode: whole.display?.mode ?? "",
            route: answer.speaker.route)
        speakerName = answer.speaker.name
        offset = answer.knowsPicture ? answer.offset : nil
        sigma = answer.sigma
        halfWidth = (answer.interval.upperBound - answer.interval.lowerBound) / 2
        events = answer.used
        soundRest = answer.soundRest
        screenRest = answer.screenRest
        screenSource = "\(answer.screenShare)"
        way = whole.way.rawValue
        room = whole.speakers.count > 1 ? Room(run: run, behindFirst: answer.behindFirst ?? 0) : nil
        measuredAt = time
        self.shares = shares
    }

    init(key: Key, speakerName: String) {
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
    func likeness(to screen: String?, mode: String?) -> Int {
        var likeness = 0
        if let screen, screen == self.screen { likeness += 8 }
        if let mode {
            if mode == self.mode { likeness += 4 } else if Self.hasEqualPace(mode, self.mode) { likeness += 2 }
        }
        return likeness
    }
}
