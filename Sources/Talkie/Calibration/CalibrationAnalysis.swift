internal import MediaCore

/// From a recording and what was played to the answer, or to the sentence that says why there is none.
struct CalibrationAnalysis {
    let recording: Recording
    let record: CalibrationRecord
    /// Insist on a light sensor on the second channel.
    var expectsLight = false
    /// The recording's clock is the host's own: false for a live microphone, whose own delay nobody knows.
    var isHeardAtSource = true
    /// Look for a rate that the label hides, when nothing else fits: seconds of work in a build without optimisation.
    var suspectsLabel = true

    /// An echo this strong leaves open which of two arrivals is the sound.
    private static let strongestEcho = 0.8
    /// A share of a chirp's frames that touch full scale: some do in any loud recording.
    private static let clippedShare = 0.005
    private static let fullScale: Float = 0.98
    /// Closer to the others than this no event is an outlier, in milliseconds.
    private static let outlierFloor = 1.0
    /// So many events at least must agree.
    private static let leastUsed = 6
    /// Beyond this scatter the answer would be a guess, in milliseconds.
    private static let largestSigma = 4.0
    /// No crystal is so far off, in parts per million: such a speaker is still drawing level, or was disturbed.
    private static let largestDrift = 400.0

    /// - Throws: status 66 for a recording that cannot belong to the run, 1 for one that does not tell enough.
    func answer() throws(PlayerFailure) -> CalibrationAnswer {
        let clock = try checkedClock()
        var finds: [Find] = []
        for channel in recording.channels.indices {
            finds.append(try find(in: channel, clock))
        }
        guard let best = finds.indices.max(by: { finds[$0].strength < finds[$1].strength }) else {
            throw Self.unfit("the recording has no channels")
        }
        guard finds[best].isHeard(record) else { throw diagnosis(of: finds[best], channel: best, clock) }
        let light = try light(apartFrom: best, finds, clock)
        var answers: [SpeakerAnswer] = []
        var lines: [OffsetStatistics] = []
        for index in record.speakers.indices {
            let (answer, line) = try self.answer(for: index, finds[best].fits[index], best, light, clock)
            answers.append(answer)
            lines.append(line)
        }
        for index in answers.indices.dropFirst() {
            answers[index].behindFirst = answers[index].soundRest - answers[0].soundRest
            answers[index].behindFirstHalfWidth =
                (lines[index].halfWidth95 * lines[index].halfWidth95 + lines[0].halfWidth95 * lines[0].halfWidth95)
                .squareRoot()
        }
        let several = record.speakers.count > 1
        let knowsPicture = light != nil || (record.display != nil && (!several || isHeardAtSource))
        for index in answers.indices { answers[index].knowsPicture = knowsPicture }
        let way: CalibrationWay = light != nil ? .light : knowsPicture ? .microphone : .differences
        return CalibrationAnswer(
            way: way, display: record.display, speakers: answers, remarks: remarks(answers, clock, knowsPicture))
    }

    // MARK: The recording's clock

    private func checkedClock() throws(PlayerFailure) -> RecordingClock {
        guard let clock = RecordingClock(recording) else {
            throw Self.unfit("the recording's times (its .json) name no moment; record with a tool that writes anchors")
        }
        let rate = clock.rate
        guard rate.isFinite, rate > 0, abs(rate / Double(recording.sampleRate) - 1) <= RecordingClock.largestRateError
        else { throw Self.wrongRate(labelled: recording.sampleRate, real: rate) }
        guard let first = record.events.first?.due, let last = record.events.last?.due else {
            throw Self.unfit("the events file holds no events")
        }
        let frames = Double(recording.frames)
        let (begin, end) = (clock.frame(at: first), clock.frame(at: last))
        let seconds = { (frames: Double) in Decimals.text(max(0, frames) / rate, 0) }
        if end < 0 {
            throw Self.unfit(
                "the recording began \(seconds(-end)) s after the run had ended; record while --emit plays")
        }
        if begin > frames {
            throw Self.unfit(
                "the recording is an old one: it ended \(seconds(begin - frames)) s before the first event; "
                    + "record while --emit plays")
        }
        let covered = record.events.count { (0..<frames).contains(clock.frame(at: $0.due)) }
        guard Double(covered) >= EventPattern.leastShare * Double(record.events.count) else {
            throw Self.unfit(
                "the recording covers \(covered) of \(record.events.count) events; let it begin before the run and end after it"
            )
        }
        return clock
    }

    private static func wrongRate(labelled: Int, real: Double) -> PlayerFailure {
        let likely =
            [8000.0, 16000, 22050, 32000, 44100, 48000, 88200, 96000].min { abs($0 - real) < abs($1 - real) } ?? real
        return unfit(
            "the recording says \(labelled) samples a second and has about \(Decimals.text(likely, 0)); "
                + "label it right, or record anew")
    }

    private static func unfit(_ sentence: String) -> PlayerFailure {
        PlayerFailure(exitStatus: ExitStatus.noInput, message: sentence + "; nothing was stored")
    }

    private static func failed(_ sentence: String) -> PlayerFailure {
        PlayerFailure(exitStatus: ExitStatus.failed, message: sentence + "; nothing was stored")
    }

    // MARK: The sound

    /// What was found in one channel.
    private struct Find {
        /// One for each speaker.
        var fits: [EventPattern.Fit?]
        var peaks: [ChirpCode: [ChirpFinder.Peak]]

        var strength: Double {
            fits.reduce(0) { $0 + ($1?.peaks.reduce(0) { $0 + ($1?.likeness ?? 0) } ?? 0) }
        }

        func isHeard(_ record: CalibrationRecord) -> Bool {
            zip(fits, record.speakers.indices).allSatisfy { fit, speaker in
                let all = record.events.count { $0.speaker == speaker }
                return Double(fit?.count ?? 0) >= EventPattern.leastShare * Double(all)
            }
        }
    }

    private func find(in channel: Int, _ clock: RecordingClock) throws(PlayerFailure) -> Find {
        let finder = ChirpFinder(rate: clock.rate)
        let codes = Array(Set(record.events.map(\.code))).sorted { $0.number < $1.number }
        let peaks = finder.find(codes, in: recording.channels[channel])
        let fits = record.speakers.indices.map { speaker in
            EventPattern.fit(expected(speaker) { clock.frame(at: $0.due) / clock.rate }, to: peaks, rate: clock.rate)
        }
        return Find(fits: fits, peaks: peaks)
    }

    private func expected(
        _ speaker: Int, _ time: (CalibrationRecord.Event) -> Double
    ) -> [EventPattern.Expected] {
        record.events.filter { $0.speaker == speaker }.map { EventPattern.Expected(time: time($0), code: $0.code) }
    }

    /// Why the run cannot be heard in the recording.
    private func diagnosis(of find: Find, channel: Int, _ clock: RecordingClock) -> PlayerFailure {
        let level = SoundLevel(recording.channels[channel])
        guard level.peak > SoundLevel.silence else {
            return Self.failed(
                "the recording is silent; is the right device recorded, is it unmuted, and does the speaker sound?")
        }
        if suspectsLabel, let real = relabelled(channel) {
            return Self.wrongRate(labelled: recording.sampleRate, real: real)
        }
        if level.clippedShare > Self.clippedShare {
            return Self.failed("the recording is clipped; turn the microphone's gain or the speaker's volume down")
        }
        for (speaker, fit) in zip(record.speakers, find.fits) where (fit?.count ?? 0) < 3 && record.speakers.count > 1 {
            if find.fits.contains(where: { ($0?.count ?? 0) >= 6 }) {
                return Self.failed("'\(speaker.name)' is not heard; is it on, and loud enough at the microphone?")
            }
        }
        let strong = find.peaks.values.reduce(0) { $0 + $1.count { $0.likeness > 0.5 } }
        let fitting = find.fits.reduce(0) { $0 + ($1?.count ?? 0) }
        if strong * 2 >= record.events.count {
            // Some lag fits two or three of any run's events.
            guard fitting * 3 > record.events.count else {
                return Self.failed(
                    "the recording holds the sounds of another run; give the recording and the events of one and the same run"
                )
            }
            return Self.failed(
                "\(fitting) of \(record.events.count) sounds are where they should be; the speaker or the computer stumbled, so try again"
            )
        }
        if level.rms < SoundLevel.quiet {
            return Self.failed(
                "the recording is too quiet (\(Decimals.text(level.decibels, 0)) dB); turn the speaker or the microphone up"
            )
        }
        return Self.failed(
            "of \(record.events.count) sounds \(find.fits.reduce(0) { $0 + ($1?.count ?? 0) }) are heard; "
                + "the room is too noisy, the speaker too quiet, or this is a recording of something else")
    }

    /// The rate that the samples really have, when the sounds are found only under another one than the label's.
    private func relabelled(_ channel: Int) -> Double? {
        let labelled = Double(recording.sampleRate)
        for real in [44100.0, 48000, 32000, 96000, 88200, 22050, 16000] where abs(real / labelled - 1) > 0.01 {
            guard Recording.rateRange.contains(Int(real)) else { continue }
            let finder = ChirpFinder(rate: real)
            let codes = Array(Set(record.events.map(\.code)))
            let peaks = finder.find(codes, in: recording.channels[channel])
            guard let first = record.events.first?.due else { return nil }
            // Only the pattern counts: a clock with a wrong rate says nothing about the lag.
            let events = record.events.map {
                EventPattern.Expected(time: ($0.due - first).inSeconds, code: $0.code)
            }
            let fit = EventPattern.fit(events, to: peaks, rate: real, limit: nil)
            if Double(fit?.count ?? 0) >= EventPattern.leastShare * Double(events.count) { return real }
        }
        return nil
    }

    // MARK: The light

    /// The picture's delay behind the flip, as a sensor saw it.
    private struct Light {
        /// By event: milliseconds, or nil where no flash was seen.
        var delays: [Double?]
        var line: OffsetStatistics
    }

    private func light(
        apartFrom sound: Int, _ finds: [Find], _ clock: RecordingClock
    ) throws(PlayerFailure) -> Light? {
        let other = recording.channels.indices.first {
            $0 != sound && (finds[$0].fits.reduce(0) { $0 + ($1?.count ?? 0) }) * 3 < record.events.count
        }
        guard let other else {
            guard expectsLight else { return nil }
            throw Self.failed(
                "no light sensor is on the recording's second channel; connect it, or leave --light-sensor out")
        }
        let flashed = record.events.enumerated().compactMap { index, event in
            event.flashed.map {
                (index: index, frame: clock.frame(at: $0), length: event.flashLength.inSeconds * clock.rate)
            }
        }
        guard !flashed.isEmpty else { return nil }
        let finder = FlashFinder(recording.channels[other], rate: clock.rate)
        // Screens show a picture up to some tenths of a second after it was handed over, never before.
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
        guard Double(readings.count) >= EventPattern.leastShare * Double(flashed.count),
            let line = OffsetStatistics(readings, floor: 4)
        else {
            guard expectsLight else { return nil }
            throw Self.failed(
                "the screen never flashed before the light sensor (\(readings.count) of \(flashed.count) flashes seen); "
                    + "put the sensor on the screen's middle, and the window in front")
        }
        return Light(delays: delays, line: line)
    }

    // MARK: One speaker

    private func answer(
        for speaker: Int, _ fit: EventPattern.Fit?, _ channel: Int, _ light: Light?, _ clock: RecordingClock
    ) throws(PlayerFailure) -> (SpeakerAnswer, OffsetStatistics) {
        let name = record.speakers[speaker].name
        guard let fit else { throw Self.failed("'\(name)' is not heard") }
        guard !fit.isAmbiguous else {
            throw Self.failed("the sounds of '\(name)' fit the run in two ways; record one run only")
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
        let line = OffsetStatistics(
            candidates.map { (readings[$0].time, readings[$0].offset ?? 0) }, floor: Self.outlierFloor)
        for index in line?.outliers ?? [] { readings[candidates[index]].rejection = "outlier" }
        guard let line, line.used.count >= min(Self.leastUsed, events.count) else {
            throw tooFew(readings, of: name)
        }
        guard line.sigma <= Self.largestSigma else {
            throw Self.failed(
                "the sounds of '\(name)' scatter by \(Decimals.text(line.sigma, 1)) ms; the computer or the network is too busy, or the room too noisy"
            )
        }
        let drift = line.slope * 1000
        guard drift.magnitude <= Self.largestDrift || drift.magnitude < 3 * line.slopeError * 1000 else {
            throw Self.failed(
                "the sound of '\(name)' moves by \(Decimals.signed(drift, 0)) ppm, so it is still drawing level or was disturbed; try again"
            )
        }
        return (assembled(speaker, readings, line, light), line)
    }

    private func assembled(
        _ speaker: Int, _ readings: [SpeakerAnswer.Reading], _ line: OffsetStatistics, _ light: Light?
    ) -> SpeakerAnswer {
        // Where no refresh is known, what a picture is late by is the same for films; a fixed refresh is late and early
        // in turn.
        var flip = 0.0
        if let display = record.display, LatencyProfile.Key.isUnpaced(display.mode) {
            flip = OffsetStatistics.median(
                record.events.compactMap { event in event.flashed.map { ($0 - event.due).inMilliseconds } })
        }
        var screen = flip
        var (sigma, halfWidth) = (line.sigma, line.halfWidth95)
        var share = SpeakerAnswer.ScreenShare.unknown
        if let light {
            screen += light.line.level
            sigma = (sigma * sigma + light.line.sigma * light.line.sigma).squareRoot()
            halfWidth = (halfWidth * halfWidth + light.line.halfWidth95 * light.line.halfWidth95).squareRoot()
            share = .measured
        } else if let stated = record.display?.statedDelay {
            screen += stated.inMilliseconds
            share = .stated
        }
        let offset = line.level - screen
        let points = readings.map { reading in
            var point = reading
            point.offset = reading.offset.map { $0 - screen }
            return point
        }
        return SpeakerAnswer(
            speaker: record.speakers[speaker], offset: offset, sigma: sigma,
            interval: (offset - halfWidth)...(offset + halfWidth), readings: points,
            // A millisecond in a second is a thousand parts per million.
            drift: (line.slope * 1000, line.slopeError * 1000), soundRest: line.level, screenRest: screen,
            screenShare: share, knowsPicture: true)
    }

    private func isClipped(_ peak: ChirpFinder.Peak, _ channel: Int, _ clock: RecordingClock) -> Bool {
        let samples = recording.channels[channel]
        let first = max(0, Int(peak.frame))
        let end = min(samples.count, first + Int(ChirpCode.length * clock.rate))
        guard first < end else { return false }
        let full = samples[first..<end].count { $0.magnitude >= Self.fullScale }
        return Double(full) > Self.clippedShare * Double(end - first)
    }

    private func tooFew(_ readings: [SpeakerAnswer.Reading], of name: String) -> PlayerFailure {
        let reasons = Dictionary(grouping: readings.compactMap(\.rejection), by: { $0 }).mapValues(\.count)
        let used = readings.count { $0.rejection == nil }
        let main = reasons.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
        let why =
            switch main {
            case "clipped": "the recording is clipped; turn the microphone's gain or the speaker's volume down"
            case "echo":
                "the room echoes as loudly as the speaker sounds; put the microphone nearer to '\(name)'"
            case "not heard": "'\(name)' is too quiet or the room too noisy; turn it up"
            case "flash not shown": "the screen never flashed; leave the window in front"
            case "flash not seen": "the light sensor did not see the screen flash; put it on the screen's middle"
            default: "the sounds do not agree with each other; is the computer busy?"
            }
        return Self.failed("\(used) of \(readings.count) events can be used: \(why)")
    }

    private func remarks(_ answers: [SpeakerAnswer], _ clock: RecordingClock, _ knowsPicture: Bool) -> [String] {
        var remarks: [String] = []
        if !knowsPicture {
            remarks.append("one microphone and several speakers tell differences between them only, not the picture")
        } else if answers.first?.screenShare == .unknown {
            remarks.append(
                "the screen's own delay is unknown and not in these numbers; a light sensor on the second channel measures it"
            )
        } else if answers.first?.screenShare == .stated {
            remarks.append("the screen's own delay is what the display states (EDID), not measured")
        }
        for answer in answers {
            guard let drift = answer.drift, abs(drift.ppm) > 20, abs(drift.ppm) > 4 * drift.error else { continue }
            remarks.append(
                "'\(answer.speaker.name)' drifts by \(Decimals.signed(drift.ppm, 0)) ppm; the offset is that of the run's middle"
            )
        }
        return remarks
    }
}
