package import MediaCore
package import Profiles
internal import SyncRendering

/// Computes the calibration result of a recording, or an error that says what to change.
package struct CalibrationAnalysis {
    /// The recording to analyse.
    var recording: Recording
    /// The events of the run.
    let record: CalibrationRecord
    /// Whether a light sensor on the second channel is required.
    var expectsLight = false
    /// Whether the recording's times are exact host times; false for a live microphone, whose own delay is unknown.
    package var isHeardAtSource = true
    /// Whether to search for a wrongly stated rate as a last resort; takes seconds in a debug build.
    var suspectsLabel = true
    /// Stored calibrations of the run's speakers with its screen and mode, by speaker. A video measures the others
    /// against one of them.
    package var references: [Int: LatencyProfile] = [:]

    package init(
        recording: Recording, record: CalibrationRecord, expectsLight: Bool = false, isHeardAtSource: Bool = true,
        suspectsLabel: Bool = true
    ) {
        self.recording = recording
        self.record = record
        self.expectsLight = expectsLight
        self.isHeardAtSource = isHeardAtSource
        self.suspectsLabel = suspectsLabel
    }

    /// Relative level of an echo above which the first arrival is ambiguous.
    private static let strongestEcho = 0.8
    /// Share of a chirp's frames at full scale above which it is clipped; any loud recording has some.
    static let clippedShare = 0.005
    private static let fullScale: Float = 0.98
    /// Distance to the fit in milliseconds below which no event is an outlier.
    private static let outlierFloor = 1.0
    /// Minimum number of consistent events.
    private static let minUsedEvents = 6
    /// Maximum standard deviation of the events in milliseconds.
    private static let largestSigma = 4.0
    /// Maximum drift in ppm. Crystals are better; a larger drift means that the speaker is
    /// still adjusting or was disturbed.
    private static let largestDrift = 400.0

    /// Returns the result of the analysis. May take seconds.
    ///
    /// - Throws: Status 66 for a recording that cannot belong to the run, 1 for one that contains too little.
    package func answer() throws(TalkieError) -> CalibrationAnswer {
        guard let film = recording.film else { return try answer(of: nil) }
        let video = try video(film)
        guard recording.anchors.isEmpty else { return try answer(of: video) }
        var anchored = self
        anchored.recording.anchors = video.anchors
        return try anchored.answer(of: video)
    }

    private func answer(of video: FilmedRun?) throws(TalkieError) -> CalibrationAnswer {
        let clock = try checkedClock()
        let finds = recording.channels.indices.map { find(video?.peaks[$0] ?? peaks(in: $0, rate: clock.rate), clock) }
        guard let best = finds.indices.max(by: { finds[$0].strength < finds[$1].strength }) else {
            throw Self.unfit("the recording has no channels")
        }
        guard finds[best].isHeard(record) else { throw diagnosis(of: finds[best], channel: best) }
        let light = if let video { video.light(clock) } else { try light(apartFrom: best, finds, clock) }
        var answers: [SpeakerAnswer] = []
        var allStatistics: [OffsetStatistics] = []
        for index in record.speakers.indices {
            let (answer, statistics) = try self.answer(
                for: index, fit: finds[best].fits[index], channel: best, light: light, clock: clock)
            answers.append(answer)
            allStatistics.append(statistics)
        }
        for index in answers.indices.dropFirst() {
            answers[index].behindFirst = answers[index].audioRest - answers[0].audioRest
            answers[index].behindFirstHalfWidth =
                (allStatistics[index].halfWidth95 * allStatistics[index].halfWidth95 + allStatistics[0].halfWidth95
                * allStatistics[0].halfWidth95)
                .squareRoot()
        }
        let several = record.speakers.count > 1
        let isOffsetKnown =
            light != nil || (video == nil && record.display != nil && (!several || isHeardAtSource))
        for index in answers.indices { answers[index].isOffsetKnown = isOffsetKnown }
        let way: CalibrationMethod =
            light != nil ? (video == nil ? .light : .video) : isOffsetKnown ? .microphone : .differences
        let answer = CalibrationAnswer(
            way: way, display: record.display, speakers: answers, remarks: remarks(answers, clock, isOffsetKnown))
        return way == .video ? completed(answer, allStatistics.map(\.halfWidth95)) : answer
    }

    // MARK: Sound

    /// The chirps found in one channel.
    struct Find {
        /// One fit per speaker; nil if none was found.
        var fits: [EventPattern.Fit?]
        var peaks: [ChirpCode: [ChirpFinder.Peak]]

        /// The sum of the likenesses of all matched peaks.
        var strength: Double {
            fits.reduce(0) { $0 + ($1?.peaks.reduce(0) { $0 + ($1?.likeness ?? 0) } ?? 0) }
        }

        /// Whether enough events of every speaker were found.
        func isHeard(_ record: CalibrationRecord) -> Bool {
            zip(fits, record.speakers.indices).allSatisfy { fit, speaker in
                let all = record.events.count { $0.speaker == speaker }
                return Double(fit?.count ?? 0) >= EventPattern.minShare * Double(all)
            }
        }
    }

    func peaks(in channel: Int, rate: Double) -> [ChirpCode: [ChirpFinder.Peak]] {
        let codes = Array(Set(record.events.map(\.code))).sorted { $0.number < $1.number }
        return ChirpFinder(rate: rate).find(codes, in: recording.channels[channel])
    }

    private func find(_ peaks: [ChirpCode: [ChirpFinder.Peak]], _ clock: RecordingClock) -> Find {
        let fits = record.speakers.indices.map { speaker in
            EventPattern.fit(expected(speaker) { clock.frame(at: $0.due) / clock.rate }, to: peaks, rate: clock.rate)
        }
        return Find(fits: fits, peaks: peaks)
    }

    func expected(
        _ speaker: Int, _ time: (CalibrationRecord.Event) -> Double
    ) -> [EventPattern.Expected] {
        record.events.filter { $0.speaker == speaker }.map { EventPattern.Expected(time: time($0), code: $0.code) }
    }

    // MARK: Each speaker

    private func answer(
        for speaker: Int, fit: EventPattern.Fit?, channel: Int, light: Light?, clock: RecordingClock
    ) throws(TalkieError) -> (SpeakerAnswer, OffsetStatistics) {
        let name = record.speakers[speaker].name
        guard let fit else { throw Self.failed("'\(name)' is not heard") }
        guard !fit.isAmbiguous else {
            throw Self.failed("the sounds of '\(name)' match the run at two positions; record one run only")
        }
        let events = record.events.enumerated().filter { $0.element.speaker == speaker }
        guard let origin = record.events.first?.due else { throw Self.failed("the run has no events") }
        var readings: [SpeakerAnswer.Reading] = []
        for (entry, peak) in zip(events, fit.peaks) {
            let (number, event) = (entry.offset, entry.element)
            var reading = SpeakerAnswer.Reading(event: number, time: (event.due - origin).inSeconds)
            if let peak {
                reading.offset = clock.nanoseconds(of: peak.frame, since: event.due) / 1e6
                if isClipped(peak, channel, clock) {
                    reading.rejection = "clipped"
                } else if peak.echo > Self.strongestEcho {
                    reading.rejection = "echo"
                }
            } else {
                reading.rejection = "not heard"
            }
            if record.display != nil, event.flashed == nil {
                reading.rejection = reading.rejection ?? "flash not shown"
            }
            if let light, light.delays[number] == nil { reading.rejection = reading.rejection ?? "flash not seen" }
            readings.append(reading)
        }
        let candidates = readings.indices.filter { readings[$0].rejection == nil }
        let statistics = OffsetStatistics(
            candidates.map { (readings[$0].time, readings[$0].offset ?? 0) }, floor: Self.outlierFloor)
        for index in statistics?.outliers ?? [] { readings[candidates[index]].rejection = "outlier" }
        guard let statistics, statistics.used.count >= min(Self.minUsedEvents, events.count) else {
            throw tooFew(readings, of: name)
        }
        guard statistics.sigma <= Self.largestSigma else {
            throw Self.failed(
                "the sounds of '\(name)' scatter by \(Decimals.text(statistics.sigma, 1)) ms; the computer or the network is too busy, or the room is too noisy"
            )
        }
        let drift = statistics.slope * 1000
        guard drift.magnitude <= Self.largestDrift || drift.magnitude < 3 * statistics.slopeError * 1000 else {
            throw Self.failed(
                "the sound of '\(name)' moves by \(Decimals.signed(drift, 0)) ppm, so it is still synchronizing or was disturbed; try again"
            )
        }
        return (assembled(for: speaker, readings: readings, statistics: statistics, light: light), statistics)
    }

    private func assembled(
        for speaker: Int, readings: [SpeakerAnswer.Reading], statistics: OffsetStatistics, light: Light?
    ) -> SpeakerAnswer {
        // Without a refresh rate the flip is late by the same amount for films. With a fixed
        // rate early and late flips cancel.
        var flip = 0.0
        if let display = record.display, LatencyProfile.Key.isUnpaced(display.mode) {
            flip = OffsetStatistics.median(
                record.events.compactMap { event in event.flashed.map { ($0 - event.due).inMilliseconds } })
        }
        var screen = flip
        var (sigma, halfWidth) = (statistics.sigma, statistics.halfWidth95)
        var share = SpeakerAnswer.ScreenShare.unknown
        var driftError = statistics.slopeError * 1000
        if let light {
            driftError = (driftError * driftError + light.rateError * light.rateError).squareRoot()
            screen += light.level
            sigma = (sigma * sigma + light.sigma * light.sigma).squareRoot()
            halfWidth = (halfWidth * halfWidth + light.halfWidth95 * light.halfWidth95).squareRoot()
            share = light.share
        } else if let stated = record.display?.statedDelay {
            screen += stated.inMilliseconds
            share = .stated
        }
        let offset = statistics.level - screen
        let points = readings.map { reading in
            var point = reading
            point.offset = reading.offset.map { $0 - screen }
            return point
        }
        return SpeakerAnswer(
            speaker: record.speakers[speaker], offset: offset, sigma: sigma,
            interval: (offset - halfWidth)...(offset + halfWidth), readings: points,
            // 1 ms per second is 1000 ppm.
            drift: (statistics.slope * 1000, driftError), audioRest: statistics.level,
            screenRest: screen,
            screenShare: share, isOffsetKnown: true)
    }

    private func isClipped(_ peak: ChirpFinder.Peak, _ channel: Int, _ clock: RecordingClock) -> Bool {
        let samples = recording.channels[channel]
        let first = max(0, Int(peak.frame))
        let end = min(samples.count, first + Int(ChirpCode.length * clock.rate))
        guard first < end else { return false }
        let full = samples[first..<end].count { $0.magnitude >= Self.fullScale }
        return Double(full) > Self.clippedShare * Double(end - first)
    }

    private func remarks(_ answers: [SpeakerAnswer], _ clock: RecordingClock, _ isOffsetKnown: Bool) -> [String] {
        var remarks: [String] = []
        if record.corrections != nil {
            remarks.append("the run was played with the stored corrections, so the offset is what is left")
        }
        if !isOffsetKnown {
            remarks.append(
                "with one microphone and several speakers only the differences between them are measured, not the picture"
            )
        } else if answers.first?.screenShare == .unknown {
            remarks.append(
                "the screen's own delay is unknown and not included; a light sensor on the second channel measures it"
            )
        } else if answers.first?.screenShare == .stated {
            remarks.append("the screen's own delay is what the display states (EDID), not measured")
        }
        for answer in answers {
            guard let drift = answer.drift, abs(drift.ppm) > 20, abs(drift.ppm) > 4 * drift.error else { continue }
            remarks.append(
                "'\(answer.speaker.name)' drifts by \(Decimals.signed(drift.ppm, 0)) ppm; the offset applies to the middle of the run"
            )
        }
        return remarks
    }
}
