internal import SyncRendering

/// The result of a calibration: the audio offset of one speaker relative to video on one screen.
package struct LatencyProfile: Sendable, Equatable {
    /// The conditions of a measurement. Screen, refresh rate and route each change the delay.
    package struct Key: Sendable, Hashable {
        /// Hexadecimal digits of the speaker's id, or `AudioSink.key` for a local sink: `sink-…`, `bluetooth-…`,
        /// `hw-…`. Older files contain `local-` and ALSA's card name; see `isOfUnknownSink`.
        package var speaker: String
        /// The display's name in the window system; empty without video.
        package var screen: String
        /// `unpaced window`, `60 Hz full-screen`, …
        package var mode: String
        /// The stream type, or `card`.
        package var route: String

        package init(speaker: String, screen: String, mode: String, route: String) {
            self.speaker = speaker
            self.screen = screen
            self.mode = mode
            self.route = route
        }

        /// Returns true for the key of a speaker or sink.
        package static func isSpeakerKey(_ text: String) -> Bool { OutputIdentity.isKey(text) }

        /// True for profiles from before sinks were distinguished. ALSA's card name may refer to any sink, so they are
        /// not applied.
        package var isOfUnknownSink: Bool { Self.isOfUnknownSink(speaker: speaker, route: route) }

        static func isOfUnknownSink(speaker: String, route: String) -> Bool {
            route == OutputIdentity.cardRoute && speaker.hasPrefix("local-")
        }

        package static func isUnpaced(_ mode: String) -> Bool { mode.hasPrefix("unpaced") }
        /// Returns true if both modes have the same refresh rate, windowed or not.
        static func hasEqualPace(_ one: String, _ other: String) -> Bool {
            one.prefix { $0 != " " } == other.prefix { $0 != " " }
        }

        /// Returns the mode for a refresh rate in Hz; nil means unpaced.
        package static func mode(refresh hertz: Int?, isFullScreen: Bool) -> String {
            (hertz.map { "\($0)-Hz" } ?? "unpaced") + (isFullScreen ? " full-screen" : " window")
        }
    }

    package var key: Key
    /// The speaker's name at the time of the calibration.
    package var speakerName: String
    /// Milliseconds, audio minus video: positive if audio is late. Nil if only differences between rooms were measured.
    package var offset: Double?
    /// Standard deviation of one event in milliseconds.
    package var sigma: Double
    /// Half the 95 % confidence interval in milliseconds.
    package var halfWidth: Double
    /// The number of measured events.
    package var events: Int
    /// Remaining delay of audio relative to its scheduled time, in milliseconds. `offset` is `audioRest` minus
    /// `screenRest`.
    package var audioRest: Double
    /// Remaining delay of video, in milliseconds.
    package var screenRest: Double
    /// `measured`, `stated`, `unknown` or `inside` (`SpeakerAnswer.ScreenShare`).
    package var screenSource: String
    /// Raw value of `CalibrationMethod`.
    package var way: String
    /// The alignment with other rooms; nil if there was none.
    package var room: Room?
    /// Seconds since the Unix epoch.
    package var measuredAt: Int64
    /// The contributions that the outputs reported at calibration.
    package var shares: [LatencyLedger.Share] = []

    /// The position of a speaker in a run that aligned several rooms.
    package struct Room: Sendable, Equatable {
        /// Identifies the run.
        var run: String
        /// Milliseconds by which it is later than the run's first speaker.
        package var behindFirst: Double
        /// When the run was made; nil: with the profile.
        var measuredAt: Int64?

        package init(run: String, behindFirst: Double, measuredAt: Int64? = nil) {
            self.run = run
            self.behindFirst = behindFirst
            self.measuredAt = measuredAt
        }
    }

    /// `room` with the time of its run, for a profile with another time.
    var datedRoom: Room? {
        room.map { Room(run: $0.run, behindFirst: $0.behindFirst, measuredAt: $0.measuredAt ?? measuredAt) }
    }

    /// Maximum magnitude of every value in milliseconds; no delay in a living room is longer.
    package static let largestOffset = 5000.0

    /// Creates a profile without measurements.
    package init(key: Key, speakerName: String) {
        self.key = key
        self.speakerName = speakerName
        (offset, sigma, halfWidth, events) = (nil, 0, 0, 0)
        (audioRest, screenRest, screenSource, way, measuredAt) = (
            0, 0, "unknown", CalibrationMethod.differences.rawValue, 0
        )
    }
}

extension LatencyProfile.Key {
    /// Returns how well the profile matches a screen and mode; higher is better, nil means unknown. The same screen and
    /// mode rank first, then the same screen, then any: the screen's contribution is then wrong, the speaker's is not.
    func likeness(to screen: String?, mode: String?) -> Int {
        var likeness = 0
        if let screen, screen == self.screen { likeness += 8 }
        if let mode {
            if mode == self.mode { likeness += 4 } else if Self.hasEqualPace(mode, self.mode) { likeness += 2 }
        }
        return likeness
    }
}
