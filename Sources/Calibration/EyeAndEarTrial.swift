package import MediaCore

/// One passage of flash and sound along each other: a person presses a key where they are one.
package struct EyeAndEarTrial: Equatable {
    /// How much later than the flash the sound is meant to be at the beginning, in milliseconds.
    package var first: Double
    /// What each event adds.
    package var step: Double
    package var count: Int

    /// Seconds from flash to flash: time enough to judge one, and slow enough for everybody's eyes.
    package static let period = 0.9
    static let coarseReach = 500.0
    private static let coarseStep = 25.0
    static let fineReach = 150.0
    private static let fineStep = 10.0
    /// Each side twice, after one coarse passage from each.
    package static let fineTrials = 4

    /// From far away: sound late first, or early first.
    package static func coarse(fromLate: Bool) -> EyeAndEarTrial {
        passage(around: 0, coarseReach, coarseStep, fromLate)
    }

    /// Around what is nearly right.
    package static func fine(around middle: Double, fromLate: Bool) -> EyeAndEarTrial {
        passage(around: middle, fineReach, fineStep, fromLate)
    }

    private static func passage(
        around middle: Double, _ reach: Double, _ step: Double, _ fromLate: Bool
    ) -> EyeAndEarTrial {
        EyeAndEarTrial(
            first: middle + (fromLate ? reach : -reach), step: fromLate ? -step : step, count: Int(2 * reach / step) + 1
        )
    }

    package var plan: StimulusPlan {
        StimulusPlan(
            events: (0..<count).map { number in
                StimulusPlan.Event(
                    time: MediaTime(
                        nanoseconds: StimulusPlan.before.wholeNanoseconds
                            + Int64(clamping: Double(number) * Self.period * 1e9, in: 0...1 << 60)),
                    speaker: 0, isLong: false,
                    soundDelay: .nanoseconds(
                        Int64(clamping: (first + Double(number) * step) * 1e6, in: .min ... .max)))
            })
    }

    /// Before the third pair nobody can have compared any: it takes two to see which way they move.
    func isTooSoon(_ time: MediaTime) -> Bool {
        time.seconds < StimulusPlan.before.inSeconds + 2 * Self.period
    }

    /// How much later than its flash the sound was meant to be when a key was pressed, in milliseconds.
    package func delay(at time: MediaTime) -> Double {
        let events = (time.seconds - StimulusPlan.before.inSeconds) / Self.period
        return first + max(0, min(Double(count - 1), events)) * step
    }
}

/// What the presses of one person come to.
package struct EyeAndEarJudgement: Equatable {
    /// Milliseconds, positive when sound is later than picture.
    package var offset: Double
    package var sigma: Double
    package var halfWidth: Double
    /// Half the difference between both sides: the time from seeing to pressing, as a delay that was passed meanwhile.
    var hysteresis: Double

    /// Beyond this the presses say nothing, in milliseconds.
    package static let largestSigma = 40.0

    /// Each side's mean counts the same, so that what a finger is late by cancels out.
    ///
    /// - Parameters:
    ///   - late: intended delays at the presses when the sound came from late, in milliseconds; `early` likewise.
    /// - Returns: nil without two presses from each side.
    package init?(late: [Double], early: [Double]) {
        guard late.count >= 2, early.count >= 2 else { return nil }
        func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(values.count) }
        let (fromLate, fromEarly) = (mean(late), mean(early))
        // Where flash and sound are one, what was intended is the opposite of what the outputs add.
        offset = 0 - (fromLate + fromEarly) / 2
        hysteresis = (fromEarly - fromLate) / 2
        let squares =
            late.reduce(0) { $0 + ($1 - fromLate) * ($1 - fromLate) }
            + early.reduce(0) { $0 + ($1 - fromEarly) * ($1 - fromEarly) }
        let freedom = late.count + early.count - 2
        sigma = (squares / Double(freedom)).squareRoot()
        let error = sigma / 2 * (1 / Double(late.count) + 1 / Double(early.count)).squareRoot()
        halfWidth = OffsetStatistics.student95(freedom) * error
    }
}
