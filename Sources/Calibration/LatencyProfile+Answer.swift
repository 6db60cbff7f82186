package import Profiles
internal import SyncRendering

extension LatencyProfile {
    /// Creates the profile of a calibration result.
    ///
    /// - Parameters:
    ///   - run: The identifier of the run, shared by speakers that were aligned together.
    ///   - shares: The latency shares that the output stated.
    ///   - time: When it was measured.
    package init(
        _ answer: SpeakerAnswer, in whole: CalibrationAnswer, run: String, shares: [LatencyLedger.Share], at time: Int64
    ) {
        self.init(
            key: Key(
                speaker: answer.speaker.key, screen: whole.display?.name ?? "", mode: whole.display?.mode ?? "",
                route: answer.speaker.route),
            speakerName: answer.speaker.name)
        offset = answer.isOffsetKnown ? answer.offset : nil
        sigma = answer.sigma
        halfWidth = (answer.interval.upperBound - answer.interval.lowerBound) / 2
        events = answer.used
        audioRest = answer.audioRest
        screenRest = answer.screenRest
        screenSource = answer.screenShare.rawValue
        way = whole.way.rawValue
        room = whole.speakers.count > 1 ? Room(run: run, behindFirst: answer.behindFirst ?? 0) : nil
        measuredAt = time
        self.shares = shares
    }
}
