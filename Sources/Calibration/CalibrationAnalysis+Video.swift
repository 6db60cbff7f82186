import MediaCore
internal import Profiles
internal import SyncRendering

/// Analysis of a video, whose flashes replace the host times of a recording.
extension CalibrationAnalysis {
    /// A run as a camera recorded it.
    struct FilmedRun {
        /// The chirps of each channel.
        var peaks: [[ChirpCode: [ChirpFinder.Peak]]]
        /// Host times of the recording: an instant at which the system presented a flash is that of its light.
        var anchors: [Recording.Anchor]
        /// The line through the flashes; nil if the run had no picture.
        var line: ExposureFit.Line?
        /// The origin of the line's host times.
        var origin: HostInstant
        /// The recording's frames per second as stated.
        var rate: Double
        /// The index of each flash's event, and the number of all events.
        var flashes: [Int]
        var eventCount: Int
        /// Whether the recording's host times come from the flashes.
        var isOwnClock: Bool

        /// Returns the light's delay after the flip.
        func light(_ clock: RecordingClock) -> Light? {
            guard let line else { return nil }
            let flip = origin.advanced(by: .nanoseconds(Int64(clamping: line.middle * 1e9, in: .min ... .max)))
            let level = clock.nanoseconds(of: line.level * rate, since: flip) / 1e6
            var delays = [Double?](repeating: nil, count: eventCount)
            for (flash, event) in flashes.enumerated() where line.isSeen[flash] { delays[event] = level }
            let seen = Double(line.isSeen.count { $0 })
            return Light(
                delays: delays, level: level, sigma: line.halfWidth95 * 1000 / 1.96 * seen.squareRoot(),
                halfWidth95: line.halfWidth95 * 1000, rateError: isOwnClock ? line.rateError * 1e6 : 0,
                share: isOwnClock ? .inside : .measured)
        }
    }

    /// Standard deviation of a phone's own offset between sound and picture, in milliseconds: assumed, since no phone
    /// states it. It covers timestamps of exposures, and processing of sound.
    static let cameraDeviation = 20.0
    /// The delay of sound per metre in air, in milliseconds.
    static let delayPerMetre = 2.9
    /// The implied offset of a camera in milliseconds from which the reference's calibration is doubtful.
    private static let largestCameraOffset = 100.0
    /// Minimum frames per second.
    private static let minFrameRate = 20.0
    /// Half the 95 % interval in milliseconds that a codec and echoes add to the difference of two speakers' sounds.
    private static let codecError = 0.1
    /// Sound and picture of a run are closer than this, in seconds.
    private static let reach = EventPattern.longestLag
    /// Likeness of a chirp that is not chance.
    private static let certainLikeness = 0.5

    /// Returns sound and light of a video in host time.
    ///
    /// - Throws: Status 66 for a video that cannot show the run, 1 for one that shows too little of it.
    func video(_ film: FilmedLight) throws(TalkieError) -> FilmedRun {
        guard let origin = record.events.first?.due else {
            throw Self.unfit("the events file contains no events")
        }
        guard let interval = film.interval, interval <= 1 / Self.minFrameRate else {
            let rate = film.interval.map { Decimals.text(1 / $0, 0) } ?? "no"
            throw Self.unfit("the video has \(rate) frames per second; film with 24 or more")
        }
        let rate = Double(recording.sampleRate)
        let peaks = recording.channels.indices.map { self.peaks(in: $0, rate: rate) }
        let lag = try lag(of: peaks, since: origin)
        var run = FilmedRun(
            peaks: peaks, anchors: [], line: nil, origin: origin, rate: rate,
            flashes: record.events.indices.filter { record.events[$0].flashed != nil },
            eventCount: record.events.count, isOwnClock: recording.anchors.isEmpty)
        if record.display == nil || run.flashes.isEmpty {
            guard record.speakers.count > 1 else {
                throw Self.unfit(
                    record.display == nil
                        ? "the run had no picture, so a video of it measures nothing; repeat it with a screen"
                        : "the screen never flashed; keep the window in front")
            }
            // Differences between speakers need no picture.
            run.anchors = Self.anchors(rate: rate, origin: origin) { lag + $0 }
            return run
        }
        let flashes = run.flashes.map { index in
            let event = record.events[index]
            let on = ((event.flashed ?? event.due) - origin).inSeconds
            let off = event.darkened.map { ($0 - origin).inSeconds } ?? on + event.flashLength.inSeconds
            return FlashSearch.Flash(on: on, off: max(off, on + 0.02))
        }
        let lags = lag - Self.reach...lag + Self.reach
        guard let search = FlashSearch(film, flashes, lags: lags),
            let found = search.find(in: lags, step: min(0.008, interval / 2))
        else {
            throw Self.failed(
                "the screen's flashes are not visible in the video; film the screen from near enough, in a dimmer room")
        }
        guard let line = ExposureFit(film, flashes, found, interval: interval)?.line(),
            Double(line.isSeen.count { $0 }) >= EventPattern.minShare * Double(flashes.count)
        else {
            throw Self.failed(
                "the screen is not visible during most of the \(flashes.count) flashes; hold the camera on it for the whole run"
            )
        }
        run.line = line
        run.anchors = Self.anchors(rate: rate, origin: origin) { line.time(at: $0) }
        return run
    }

    /// Returns anchors for whole frames, a minute apart.
    ///
    /// - Parameter time: Maps seconds since `origin` to the recording's timeline.
    private static func anchors(
        rate: Double, origin: HostInstant, _ time: (Double) -> Double
    ) -> [Recording.Anchor] {
        let (start, scale) = (time(0), (time(60) - time(0)) / 60)
        return [0.0, 60].map { host in
            let frame = Int64(clamping: (time(host) * rate).rounded(), in: -1_000_000_000_000...1_000_000_000_000)
            let exact = (Double(frame) / rate - start) / scale
            return Recording.Anchor(
                frame: frame,
                instant: origin.advanced(by: .nanoseconds(Int64(clamping: exact * 1e9, in: .min ... .max))))
        }
    }

    /// Returns the lag of the sound on the recording's timeline in seconds. Host times of the recording are not used.
    private func lag(
        of peaks: [[ChirpCode: [ChirpFinder.Peak]]], since origin: HostInstant
    ) throws(TalkieError) -> Double {
        let rate = Double(recording.sampleRate)
        let finds = peaks.map { peaks in
            Find(
                fits: record.speakers.indices.map { speaker in
                    EventPattern.fit(
                        expected(speaker) { ($0.due - origin).inSeconds }, to: peaks, rate: rate, limit: nil)
                }, peaks: peaks)
        }
        guard let best = finds.indices.max(by: { finds[$0].strength < finds[$1].strength }) else {
            throw Self.unfit("the video has no sound; film with sound")
        }
        try checkForCuts(finds[best], since: origin)
        guard finds[best].isHeard(record) else {
            if AudioLevel(recording.channels[best]).peak > AudioLevel.silence, suspectsLabel,
                let factor = slowMotion(best)
            {
                throw Self.unfit(
                    "the video is in slow motion (\(factor) times); film at normal speed, or export it with its original speed"
                )
            }
            try checkCoverage(finds[best], since: origin)
            // Without host times chance fits more events than in a recording.
            let certain = finds[best].peaks.values.reduce(0) { $0 + $1.count { $0.likeness >= Self.certainLikeness } }
            if certain * 2 >= record.events.count {
                throw Self.failed(
                    "the video contains the sounds of another run; use the video and the events file of the same run")
            }
            throw diagnosis(of: finds[best], channel: best)
        }
        return finds[best].fits.compactMap { $0 }.max { $0.count < $1.count }?.lag ?? 0
    }

    /// Throws if the events that do not follow the common lag follow another one.
    private func checkForCuts(_ find: Find, since origin: HostInstant) throws(TalkieError) {
        let rate = Double(recording.sampleRate)
        let certain = find.peaks.mapValues { $0.filter { $0.likeness >= Self.certainLikeness } }
        for (speaker, fit) in find.fits.enumerated() {
            guard let fit else { continue }
            let events = expected(speaker) { ($0.due - origin).inSeconds }
            let missing = zip(events, fit.peaks).filter { ($0.1?.likeness ?? 0) < Self.certainLikeness }.map(\.0)
            guard missing.count >= 3, missing.count < events.count,
                let other = EventPattern.fit(missing, to: certain, rate: rate, limit: nil),
                other.count >= max(3, missing.count * 2 / 3), (other.lag - fit.lag).magnitude > EventPattern.tolerance
            else { continue }
            let place = missing.first.map { max(0, $0.time + other.lag) } ?? 0
            throw Self.unfit(
                "the video has a cut near \(Decimals.text(place, 0)) s: part of its sounds is shifted by \(Decimals.signed(other.lag - fit.lag, 2)) s; film the run in one take"
            )
        }
    }

    /// Throws if the sounds that are heard belong to the run, and the rest of it is outside of the video.
    private func checkCoverage(_ find: Find, since origin: HostInstant) throws(TalkieError) {
        guard let fit = find.fits.compactMap({ $0 }).max(by: { $0.count < $1.count }) else { return }
        let length = Double(recording.frames) / Double(recording.sampleRate)
        let covered = record.events.count { (0..<length).contains(($0.due - origin).inSeconds + fit.lag) }
        let heard = find.fits.reduce(0) { $0 + ($1?.count ?? 0) }
        guard Double(covered) < EventPattern.minShare * Double(record.events.count), heard >= 3,
            heard * 5 >= covered * 4
        else { return }
        throw Self.unfit(
            "the video covers \(covered) of \(record.events.count) events; film from before the first to after the last"
        )
    }

    /// Returns the factor of slow motion in which the chirps are found; nil if there is none.
    private func slowMotion(_ channel: Int) -> Int? {
        guard let first = record.events.first?.due else { return nil }
        for factor in [2, 4, 8] {
            let rate = Double(recording.sampleRate * factor)
            let events = record.events.map { EventPattern.Expected(time: ($0.due - first).inSeconds, code: $0.code) }
            let fit = EventPattern.fit(events, to: peaks(in: channel, rate: rate), rate: rate, limit: nil)
            if Double(fit?.count ?? 0) >= EventPattern.minShare * Double(events.count) { return factor }
        }
        return nil
    }

    // MARK: Camera

    /// Returns the result of a video with what is known about the camera.
    ///
    /// A speaker with a stored calibration is the reference of the others, a sound card before others: the camera's
    /// own offset cancels. Without one it is part of the standard deviation.
    ///
    /// - Parameter halfWidths: Half the 95 % confidence interval of each speaker's sound.
    func completed(_ answer: CalibrationAnswer, _ halfWidths: [Double]) -> CalibrationAnswer {
        var answer = answer
        for index in answer.speakers.indices {
            let interval = answer.speakers[index].interval
            answer.speakers[index].randomHalfWidth = (interval.upperBound - interval.lowerBound) / 2
            answer.speakers[index].behindFirstHalfWidth = answer.speakers[index].behindFirstHalfWidth.map {
                ($0 * $0 + Self.codecError * Self.codecError).squareRoot()
            }
        }
        guard answer.speakers.count > 1, let reference = referenceSpeaker, let profile = references[reference],
            let stored = profile.offset
        else {
            let unknown = (Self.cameraDeviation * Self.cameraDeviation + Self.delayPerMetre * Self.delayPerMetre)
            for index in answer.speakers.indices {
                let speaker = answer.speakers[index]
                let half = speaker.randomHalfWidth ?? 0
                let width = (half * half + 1.96 * 1.96 * unknown).squareRoot()
                answer.speakers[index].sigma = (speaker.sigma * speaker.sigma + unknown).squareRoot()
                answer.speakers[index].interval = (speaker.offset - width)...(speaker.offset + width)
            }
            answer.remarks.append(
                "the camera's own offset is unknown, and sound takes \(Self.delayPerMetre) ms for each metre: the standard deviation contains "
                    + "\(Decimals.text(Self.cameraDeviation, 0)) ms (assumed) and one metre; differences between speakers are exact"
            )
            return answer
        }
        // During a run with corrections the reference is in step.
        let camera = answer.speakers[reference].offset - (record.corrections == nil ? stored : 0)
        for index in answer.speakers.indices {
            answer.speakers[index].offset -= camera
            for reading in answer.speakers[index].readings.indices {
                answer.speakers[index].readings[reading].offset? -= camera
            }
            let both =
                index == reference
                ? 0
                : halfWidths[index] * halfWidths[index] + halfWidths[reference] * halfWidths[reference]
                    + Self.codecError * Self.codecError
            let width = (both + profile.halfWidth * profile.halfWidth).squareRoot()
            let offset = answer.speakers[index].offset
            answer.speakers[index].interval = (offset - width)...(offset + width)
            // The screen's share is the one of the reference.
            answer.speakers[index].screenRest = profile.screenRest
            answer.speakers[index].audioRest = offset + profile.screenRest
            answer.speakers[index].screenShare = .init(rawValue: profile.screenSource) ?? .unknown
        }
        answer.reference = reference
        let name = record.speakers[reference].name
        answer.remarks.append(
            "'\(name)' is the reference: its stored calibration is kept, and the camera's own offset is \(Decimals.signed(camera, 1)) ms"
        )
        if camera.magnitude > Self.largestCameraOffset {
            answer.remarks.append(
                "no camera has such an offset, so the calibration of '\(name)' is probably out of date; repeat it with a microphone"
            )
        }
        return answer
    }

    /// The speaker whose stored calibration is the reference: a sound card before others, then the most exact.
    private var referenceSpeaker: Int? {
        references.filter { $0.value.offset != nil && record.speakers.indices.contains($0.key) }.min { one, other in
            func rank(_ index: Int, _ profile: LatencyProfile) -> (Int, Double, Int) {
                (profile.key.route == OutputIdentity.cardRoute ? 0 : 1, profile.halfWidth, index)
            }
            return rank(one.key, one.value) < rank(other.key, other.value)
        }?.key
    }
}
