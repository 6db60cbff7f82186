package import MediaCore

/// What a calibration run flashes and sounds: events at irregular times, in turn for each speaker.
///
/// Every run is its own: times and codes are drawn anew, so that a recording of an earlier run does not fit.
package struct StimulusPlan: Sendable, Equatable {
    package struct Event: Sendable, Equatable {
        /// When flash and sound begin, on the run's own timeline.
        package var time: MediaTime
        /// Which of the speakers sounds.
        package var speaker: Int
        /// The event's bit of the run's code word.
        package var isLong: Bool
        /// How much later than the flash the sound is meant to be; zero except where a person compares the two.
        var soundDelay: Duration = .zero

        package init(time: MediaTime, speaker: Int, isLong: Bool, soundDelay: Duration = .zero) {
            self.time = time
            self.speaker = speaker
            self.isLong = isLong
            self.soundDelay = soundDelay
        }

        /// How long the screen is white.
        package var flash: Duration { isLong ? StimulusPlan.longFlash : StimulusPlan.shortFlash }
        /// A speaker's own pair of sounds; the bit chooses between them.
        package var code: ChirpCode { ChirpCode.all[(speaker * 2 + (isLong ? 1 : 0)) % ChirpCode.all.count] }
    }

    /// Six refreshes of 60 Hz and twelve: told apart by any light sensor, and by people.
    static let shortFlash = Duration.milliseconds(100)
    static let longFlash = Duration.milliseconds(200)
    /// Four speakers have a pair of sounds each.
    package static let mostSpeakers = ChirpCode.all.count / 2
    package static let eventRange = 10...40
    static let usualEvents = 12
    /// The whole run, with what comes before and after the events.
    package static let longestRun = Duration.seconds(60)
    /// Before the first event: a sound server's first second is none to measure by, and a speaker that was late at the
    /// start takes some seconds to draw level.
    package static let before = Duration.milliseconds(4000)
    /// After the last event: sound that is late by half a second is still part of it.
    package static let after = Duration.milliseconds(1500)
    /// No more than three flashes a second may be shown to people (WCAG 2.2, success criterion 2.3.1); this keeps far
    /// from it, and leaves a late sound room before the next event.
    private static let shortestInterval = 0.75
    private static let usualInterval = 1.6

    package var events: [Event]

    /// When everything has been shown and heard.
    package var duration: MediaTime {
        (events.last?.time ?? .zero) + MediaTime(nanoseconds: Self.after.wholeNanoseconds)
    }

    /// - Parameter perSpeaker: events for each speaker; fewer where they would not fit into the longest run.
    package init(speakers: Int, perSpeaker: Int, using generator: inout some RandomNumberGenerator) {
        let speakers = max(1, min(Self.mostSpeakers, speakers))
        let room = (Self.longestRun - Self.before - Self.after).inSeconds
        let most = Int(clamping: (room / Self.shortestInterval / 1.15).rounded(.down), in: 0...10_000) / speakers
        let count = max(1, min(perSpeaker, most)) * speakers
        let mean = min(Self.usualInterval, room / Double(count))
        // Each event lies off an even grid by itself, so that the whole never grows beyond it.
        let spread = min(0.35 * mean, mean - Self.shortestInterval) / 2
        events = (0..<count).map { number in
            let moment =
                Self.before.inSeconds + Double(number) * mean + Double.random(in: -spread...spread, using: &generator)
            // In whole 100 µs, so that times are the same in every unit.
            let time = MediaTime(value: Int64(clamping: moment * 10_000, in: 0...1 << 40), timescale: 10_000)
            return Event(time: time, speaker: number % speakers, isLong: Bool.random(using: &generator))
        }
    }

    package init(speakers: Int, perSpeaker: Int) {
        var generator = SystemRandomNumberGenerator()
        self.init(speakers: speakers, perSpeaker: perSpeaker, using: &generator)
    }

    package init(events: [Event]) { self.events = events }
}
