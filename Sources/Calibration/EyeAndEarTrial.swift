import MediaCore

/// One passage in which the sound moves relative to the flash; the user presses a key when they coincide.
package struct EyeAndEarTrial: Equatable {
    /// The intended delay of the first sound relative to its flash, in milliseconds.
    var first: Double
    /// The change per event in milliseconds.
    var step: Double
    /// The number of events.
    var count: Int

    /// Interval of the flashes in seconds: long enough to judge, and safe for photosensitive users.
    static let period = 0.9
    static let coarseReach = 500.0
    private static let coarseStep = 25.0
    static let fineReach = 150.0
    private static let fineStep = 10.0
    /// The number of fine passages: two per direction, after one coarse passage per direction.
    package static let fineTrials = 4

    /// Returns a coarse passage that starts with late or early sound.
    package static func coarse(fromLate: Bool) -> EyeAndEarTrial {
        passage(around: 0, coarseReach, coarseStep, fromLate)
    }

    /// Returns a fine passage around a known delay.
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

    /// The events of the passage.
    package var plan: StimulusPlan {
        StimulusPlan(
            events: (0..<count).map { number in
                StimulusPlan.Event(
                    time: MediaTime(
                        nanoseconds: StimulusPlan.before.wholeNanoseconds
                            + Int64(clamping: Double(number) * Self.period * 1e9, in: 0...1 << 60)),
                    speaker: 0, isLong: false,
                    audioDelay: .nanoseconds(
                        Int64(clamping: (first + Double(number) * step) * 1e6, in: .min ... .max)))
            })
    }

    /// Whether a press is before the third event: the direction is recognizable after two.
    func isTooSoon(_ time: MediaTime) -> Bool {
        time.seconds < StimulusPlan.before.inSeconds + 2 * Self.period
    }

    /// Returns the intended delay at the time of a key press, in milliseconds.
    func delay(at time: MediaTime) -> Double {
        let events = (time.seconds - StimulusPlan.before.inSeconds) / Self.period
        return first + max(0, min(Double(count - 1), events)) * step
    }
}

/// The offset derived from the key presses of all passages.
package struct EyeAndEarJudgement: Equatable {
    /// Milliseconds, positive when sound is later than picture.
    package var offset: Double
    /// The standard deviation of one press in milliseconds.
    package var sigma: Double
    /// Half the 95 % confidence interval in milliseconds.
    package var halfWidth: Double
    /// Half the difference between both directions in milliseconds: the change of the delay during the reaction time.
    var hysteresis: Double

    /// Maximum standard deviation in milliseconds for a valid result.
    package static let largestSigma = 40.0

    /// Returns nil without two presses per direction.
    ///
    /// Both directions have equal weight, so that the reaction time cancels out.
    ///
    /// - Parameters:
    ///   - late: Intended delays at the presses of passages that start late, in milliseconds.
    ///   - early: The same for passages that start early.
    package init?(late: [Double], early: [Double]) {
        guard late.count >= 2, early.count >= 2 else { return nil }
        func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(values.count) }
        let (fromLate, fromEarly) = (mean(late), mean(early))
        // Where flash and sound coincide, the intended delay is the negative of the outputs' offset.
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
