import MediaCore

/// Analysis of a light sensor on the recording's second channel.
extension CalibrationAnalysis {
    /// The screen's delay after the flip, measured by a light sensor or a camera.
    struct Light {
        /// Milliseconds per event; nil where no flash was detected.
        var delays: [Double?]
        /// The delay in milliseconds, the standard deviation of one event, and half the 95 % confidence interval.
        var level: Double
        var sigma: Double
        var halfWidth95: Double
        /// The standard error in ppm of the clock's rate that the flashes determine; 0 if they determine none.
        var rateError = 0.0
        /// Where the screen's own delay is part of the result.
        var share = SpeakerAnswer.ScreenShare.measured
    }

    /// Returns the screen's delays from the channel without chirps, or nil if no channel contains flashes.
    ///
    /// - Throws: Status 1 if a sensor is expected and missing, or detected too few flashes.
    func light(
        apartFrom sound: Int, _ finds: [Find], _ clock: RecordingClock
    ) throws(TalkieError) -> Light? {
        let other = recording.channels.indices.first {
            $0 != sound && (finds[$0].fits.reduce(0) { $0 + ($1?.count ?? 0) }) * 3 < record.events.count
        }
        guard let other else {
            guard expectsLight else { return nil }
            throw Self.failed(
                "no light sensor is on the recording's second channel; connect it, or calibrate without a light sensor")
        }
        let flashed = record.events.enumerated().compactMap { index, event in
            event.flashed.map {
                (index: index, frame: clock.frame(at: $0), length: event.flashLength.inSeconds * clock.rate)
            }
        }
        guard !flashed.isEmpty else { return nil }
        let finder = FlashFinder(recording.channels[other], rate: clock.rate)
        // A screen displays a frame up to some tenths of a second after the flip, never before.
        let (reach, middle) = (0.25 * clock.rate, 0.2 * clock.rate)
        let polarity = finder.polarity(flashed.map { ($0.frame + middle, $0.length) }, reach: reach)
        var delays = [Double?](repeating: nil, count: record.events.count)
        var readings: [(time: Double, value: Double)] = []
        for flash in flashed {
            guard
                let seen = finder.find(
                    near: flash.frame + middle, length: flash.length, reach: reach, polarity: polarity)
            else { continue }
            let delay = (seen.frame - flash.frame) / clock.rate * 1000
            delays[flash.index] = delay
            readings.append((flash.frame / clock.rate, delay))
        }
        guard Double(readings.count) >= EventPattern.minShare * Double(flashed.count),
            let fit = OffsetStatistics(readings, floor: 4)
        else {
            guard expectsLight else { return nil }
            throw Self.failed(
                "the screen never flashed before the light sensor (\(readings.count) of \(flashed.count) flashes seen); "
                    + "put the sensor at the centre of the screen, and the window in front")
        }
        return Light(delays: delays, level: fit.level, sigma: fit.sigma, halfWidth95: fit.halfWidth95)
    }
}
