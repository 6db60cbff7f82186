import MediaCore
internal import Profiles
internal import SyncRendering

/// Checks of a recording in the order of detection. Each error message says what to do.
extension CalibrationAnalysis {
    /// Returns the recording's clock.
    ///
    /// - Throws: Status 66 if times, rate or range cannot belong to the run.
    func checkedClock() throws(TalkieError) -> RecordingClock {
        guard let clock = RecordingClock(recording) else {
            throw Self.unfit(
                "the recording's times (its .json) contain no anchors; record with a tool that writes them")
        }
        let rate = clock.rate
        guard rate.isFinite, rate > 0, abs(rate / Double(recording.sampleRate) - 1) <= RecordingClock.largestRateError
        else { throw Self.wrongRate(labelled: recording.sampleRate, real: rate) }
        guard let first = record.events.first?.due, let last = record.events.last?.due else {
            throw Self.unfit("the events file contains no events")
        }
        let frames = Double(recording.frames)
        let (begin, end) = (clock.frame(at: first), clock.frame(at: last))
        let seconds = { (frames: Double) in Decimals.text(max(0, frames) / rate, 0) }
        if end < 0 {
            throw Self.unfit(
                "the recording began \(seconds(-end)) s after the run had ended; record while the events are played")
        }
        if begin > frames {
            throw Self.unfit(
                "the recording is an old one: it ended \(seconds(begin - frames)) s before the first event; "
                    + "record while the events are played")
        }
        let covered = record.events.count { (0..<frames).contains(clock.frame(at: $0.due)) }
        guard Double(covered) >= EventPattern.minShare * Double(record.events.count) else {
            throw Self.unfit(
                "the recording covers \(covered) of \(record.events.count) events; start it before the run and stop it after the run"
            )
        }
        return clock
    }

    /// Returns an error that names the likely actual rate.
    static func wrongRate(labelled: Int, real: Double) -> TalkieError {
        let likely =
            [8000.0, 16000, 22050, 32000, 44100, 48000, 88200, 96000].min { abs($0 - real) < abs($1 - real) } ?? real
        return unfit(
            "the recording states \(labelled) samples per second but has about \(Decimals.text(likely, 0)); "
                + "correct its header, or record again")
    }

    /// Returns an error with status 66: the recording cannot belong to the run.
    static func unfit(_ sentence: String) -> TalkieError {
        TalkieError(.cannotOpen, sentence + "; nothing was stored")
    }

    /// Returns an error with status 1: the recording contains too little.
    static func failed(_ sentence: String) -> TalkieError {
        TalkieError(.failed, sentence + "; nothing was stored")
    }

    /// Returns the reason why the run was not found in the recording.
    func diagnosis(of find: Find, channel: Int) -> TalkieError {
        let level = AudioLevel(recording.channels[channel])
        guard level.peak > AudioLevel.silence else {
            return Self.failed(
                "the recording is silent; check that it is from the right device, that the device is not muted, and that the speaker plays"
            )
        }
        if suspectsLabel, let real = relabelled(channel) {
            return Self.wrongRate(labelled: recording.sampleRate, real: real)
        }
        if level.clippedShare > Self.clippedShare {
            return Self.failed("the recording is clipped; turn the microphone's gain or the speaker's volume down")
        }
        for (speaker, fit) in zip(record.speakers, find.fits) where (fit?.count ?? 0) < 3 && record.speakers.count > 1 {
            if find.fits.contains(where: { ($0?.count ?? 0) >= 6 }) {
                return Self.failed(
                    "'\(speaker.name)' is not heard; check that it is on and loud enough at the microphone")
            }
        }
        let strong = find.peaks.values.reduce(0) { $0 + $1.count { $0.likeness > 0.5 } }
        let fitting = find.fits.reduce(0) { $0 + ($1?.count ?? 0) }
        if strong * 2 >= record.events.count {
            // A random lag fits two or three events of any run.
            guard fitting * 3 > record.events.count else {
                return Self.failed(
                    "the recording contains the sounds of another run; use the recording and the events file of the same run"
                )
            }
            return Self.failed(
                "\(fitting) of \(record.events.count) sounds have the expected timing; the speaker or the computer was interrupted; try again"
            )
        }
        if level.rms < AudioLevel.quiet {
            return Self.failed(
                "the recording is too quiet (\(Decimals.text(level.decibels, 0)) dB); turn the speaker or the microphone up"
            )
        }
        return Self.failed(
            "of \(record.events.count) sounds \(find.fits.reduce(0) { $0 + ($1?.count ?? 0) }) are heard; "
                + "the room is too noisy, the speaker is too quiet, or this is another recording")
    }

    /// Returns the actual rate if the chirps are only found at another rate than the stated one; nil otherwise.
    private func relabelled(_ channel: Int) -> Double? {
        let labelled = Double(recording.sampleRate)
        for real in [44100.0, 48000, 32000, 96000, 88200, 22050, 16000] where abs(real / labelled - 1) > 0.01 {
            guard Recording.rateRange.contains(Int(real)) else { continue }
            let finder = ChirpFinder(rate: real)
            let codes = Array(Set(record.events.map(\.code)))
            let peaks = finder.find(codes, in: recording.channels[channel])
            guard let first = record.events.first?.due else { return nil }
            // Without a limit for the lag: a clock with a wrong rate gives a wrong lag.
            let events = record.events.map {
                EventPattern.Expected(time: ($0.due - first).inSeconds, code: $0.code)
            }
            let fit = EventPattern.fit(events, to: peaks, rate: real, limit: nil)
            if Double(fit?.count ?? 0) >= EventPattern.minShare * Double(events.count) { return real }
        }
        return nil
    }

    /// Returns an error with the most frequent reason for rejection.
    func tooFew(_ readings: [SpeakerAnswer.Reading], of name: String) -> TalkieError {
        let reasons = Dictionary(grouping: readings.compactMap(\.rejection), by: { $0 }).mapValues(\.count)
        let used = readings.count { $0.rejection == nil }
        let main = reasons.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
        let why =
            switch main {
            case "clipped": "the recording is clipped; turn the microphone's gain or the speaker's volume down"
            case "echo":
                "the echo is as loud as the speaker; put the microphone closer to '\(name)'"
            case "not heard": "'\(name)' is too quiet or the room too noisy; turn it up"
            case "flash not shown": "the screen never flashed; keep the window in front"
            case "flash not seen": "the light sensor did not detect the flashes; put it at the centre of the screen"
            case "outlier": "the measurements do not agree with each other; close other programs"
            case nil: "the recording is too short; record until the end of the run"
            // Reasons without advice of their own.
            case let other?: "most are rejected as '\(other)'; a plot of the run shows them"
            }
        return Self.failed("\(used) of \(readings.count) events can be used: \(why)")
    }
}
