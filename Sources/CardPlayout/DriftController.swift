internal import MediaCore

/// Calculates how much faster or slower than nominal the audio is read, so that the timing error decays: a latency
/// tuner. The card's measured rate is compensated separately.
///
/// Right after a start the card's delay is still being measured, so larger corrections are permitted. Later corrections
/// are below the audible limit (5 cents are 2900 ppm), and exceed 500 ppm only for an error above 3 ms.
struct DriftController {
    /// The control parameters for an age of the audio.
    struct Stage {
        /// The age up to which the stage applies.
        var until: Duration
        /// An error decays by 1/e in this time, in seconds.
        var timeConstant: Double
        /// The maximum correction, as a ratio.
        var limit: Double
        /// The maximum change of the correction per second, as a ratio.
        var slew: Double
        /// A larger error is corrected by a jump.
        var jump: Duration
    }

    /// The stages in order of age.
    static let stages = [
        Stage(until: .milliseconds(400), timeConstant: 0.15, limit: 10e-3, slew: 0.2, jump: .milliseconds(3)),
        Stage(until: .seconds(2), timeConstant: 0.5, limit: 3e-3, slew: 10e-3, jump: .milliseconds(8)),
        Stage(until: .seconds(1 << 40), timeConstant: 6, limit: 1500e-6, slew: 200e-6, jump: .milliseconds(20)),
    ]

    /// The current correction as a ratio; positive reads faster.
    private(set) var correction = 0.0

    init() {}

    /// Resets the correction when audio starts.
    mutating func reset() { correction = 0 }

    /// Returns true if an error is too large for gradual correction.
    static func mustJump(error: Duration, age: Duration) -> Bool {
        let jump = stage(age).jump
        return error > jump || error < .zero - jump
    }

    /// Updates and returns the correction.
    ///
    /// - Parameters:
    ///   - error: The offset of the audio from the timebase, positive when late.
    ///   - age: The time since this audio started.
    ///   - elapsed: The time since the last update.
    mutating func update(error: Duration, age: Duration, elapsed: Duration) -> Double {
        let stage = Self.stage(age)
        let wanted = min(max(error.inSeconds / stage.timeConstant, -stage.limit), stage.limit)
        let reach = stage.slew * max(0, elapsed.inSeconds)
        let held = min(max(correction, -stage.limit), stage.limit)
        correction = min(max(wanted, held - reach), held + reach)
        return correction
    }

    private static func stage(_ age: Duration) -> Stage {
        for index in 0..<2 where age < stages[index].until { return stages[index] }
        return stages[2]
    }
}
