internal import MediaCore

/// Decides how much faster or slower than its nominal rate a card's sound is read, so that the error fades away: a
/// latency tuner. It only corrects what is left after the card's own rate was taken into account.
///
/// Right after a start the card's delay is still being learnt, so larger corrections are allowed; afterwards they are
/// far below what an ear can tell (5 cents are 2900 ppm).
struct DriftController {
    /// How an error is treated at some age of the sound.
    struct Stage {
        /// Valid until this long after the start.
        var until: Duration
        /// An error fades by 1/e in this time.
        var timeConstant: Double
        /// The largest correction, as a ratio.
        var limit: Double
        /// The largest change of the correction per second.
        var slew: Double
        /// An error larger than this is jumped over.
        var jump: Duration
    }

    static let stages = [
        Stage(until: .milliseconds(400), timeConstant: 0.15, limit: 10e-3, slew: 0.2, jump: .milliseconds(3)),
        Stage(until: .seconds(2), timeConstant: 0.5, limit: 3e-3, slew: 10e-3, jump: .milliseconds(8)),
        Stage(until: .seconds(1 << 40), timeConstant: 6, limit: 500e-6, slew: 200e-6, jump: .milliseconds(20)),
    ]

    /// The correction in force, as a ratio: positive reads faster.
    private(set) var correction = 0.0

    init() {}

    /// A new sound begins.
    mutating func reset() { correction = 0 }

    /// Whether an error is too large to be smoothed away.
    static func mustJump(error: Duration, age: Duration) -> Bool {
        let jump = stage(age).jump
        return error > jump || error < .zero - jump
    }

    /// Updates the correction.
    /// - Parameters:
    ///   - error: where sound is against the timebase, positive when late.
    ///   - age: time since this sound began.
    ///   - elapsed: time since the last update.
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
