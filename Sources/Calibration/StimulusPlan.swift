package import MediaCore

/// The flashes and sounds of a calibration run at irregular times, alternating between the speakers.
///
/// Times and codes are random per run, so that a recording of an earlier run does not match.
package struct StimulusPlan: Sendable, Equatable {
    /// One flash with its sound.
    package struct Event: Sendable, Equatable {
        /// When flash and sound begin, on the run's timeline.
        package var time: MediaTime
        /// The index of the speaker.
        package var speaker: Int
        /// The event's bit of the run's code word.
        package var isLong: Bool
        /// The intended delay of the sound relative to the flash; non-zero only for comparisons by eye and ear.
        var audioDelay: Duration = .zero

        init(time: MediaTime, speaker: Int, isLong: Bool, audioDelay: Duration = .zero) {
            self.time = time
            self.speaker = speaker
            self.isLong = isLong
            self.audioDelay = audioDelay
        }

        /// The duration of the flash.
        var flash: Duration { isLong ? StimulusPlan.longFlash : StimulusPlan.shortFlash }
        /// When the flash ends.
        package var end: MediaTime { time + MediaTime(nanoseconds: flash.wholeNanoseconds) }
        /// The sound: each speaker has a pair, `isLong` selects one.
        package var code: ChirpCode { ChirpCode.all[(speaker * 2 + (isLong ? 1 : 0)) % ChirpCode.all.count] }
    }

    /// Six and twelve refreshes of 60 Hz: distinguishable by any light sensor and by eye.
    static let shortFlash = Duration.milliseconds(100)
    static let longFlash = Duration.milliseconds(200)
    /// Each speaker needs a pair of codes.
    package static let maxSpeakers = ChirpCode.all.count / 2
    /// The permitted number of events per speaker.
    package static let eventRange = 10...40
    /// Maximum duration of a run, including the time before and after the events.
    package static let longestRun = Duration.seconds(60)
    /// Time before the first event.
    ///
    /// The first second of a sound server is not measurable, and a speaker that starts late
    /// needs some seconds to catch up.
    static let before = Duration.milliseconds(4000)
    /// Time after the last event; includes sound that is late by half a second.
    static let after = Duration.milliseconds(1500)
    /// Minimum interval in seconds. WCAG 2.2, success criterion 2.3.1, permits at most three flashes a second.
    ///
    /// It also leaves time for a late sound before the next event.
    private static let shortestInterval = 0.75
    private static let usualInterval = 1.6

    /// The events in order of time.
    package var events: [Event]

    /// The duration of the run on its timeline.
    var duration: MediaTime {
        (events.last?.time ?? .zero) + MediaTime(nanoseconds: Self.after.wholeNanoseconds)
    }

    /// Creates a random plan.
    ///
    /// - Parameter perSpeaker: Events per speaker; reduced if they exceed the maximum duration.
    init(speakers: Int, perSpeaker: Int, using generator: inout some RandomNumberGenerator) {
        let speakers = max(1, min(Self.maxSpeakers, speakers))
        let room = (Self.longestRun - Self.before - Self.after).inSeconds
        let maxPerSpeaker =
            Int(clamping: (room / Self.shortestInterval / 1.15).rounded(.down), in: 0...10_000) / speakers
        let count = max(1, min(perSpeaker, maxPerSpeaker)) * speakers
        let mean = min(Self.usualInterval, room / Double(count))
        // Events are displaced from an even grid, so that the total duration does not grow.
        let spread = min(0.35 * mean, mean - Self.shortestInterval) / 2
        events = (0..<count).map { number in
            let seconds =
                Self.before.inSeconds + Double(number) * mean + Double.random(in: -spread...spread, using: &generator)
            // Multiples of 100 µs are exact in every unit.
            let time = MediaTime(value: Int64(clamping: seconds * 10_000, in: 0...1 << 40), timescale: 10_000)
            return Event(time: time, speaker: number % speakers, isLong: Bool.random(using: &generator))
        }
    }

    /// Creates a random plan with the system's random generator.
    package init(speakers: Int, perSpeaker: Int) {
        var generator = SystemRandomNumberGenerator()
        self.init(speakers: speakers, perSpeaker: perSpeaker, using: &generator)
    }

    /// Creates a plan with given events.
    init(events: [Event]) { self.events = events }
}
