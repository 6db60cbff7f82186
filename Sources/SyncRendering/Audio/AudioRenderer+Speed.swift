internal import MediaCore

/// What is done again with sound that was handed over and is not yet heard: at another speed, or for another output.
extension AudioRenderer {
    /// Rates nearer to each other than this are one speed: a timebase that follows a foreign clock (by at most 100 ppm)
    /// is no change of speed. A tenth of a percent is a sixtieth of a semitone.
    private static let speedTolerance = 0.001
    /// So much before the place where the sound begins anew is decoded, too: what codecs need to settle (an AAC frame
    /// overlaps the next, Opus asks for 80 ms: RFC 7845, 4.6).
    static let settling: Duration = .milliseconds(150)
    /// What was heard this long ago is forgotten.
    private static let memory: Duration = .seconds(1)

    /// Speeds at which sound is played, in film seconds per second. At a quarter speech is hardly speech any more, and at four times
    /// nobody follows it; mpv goes further, with sound that nobody can use.
    public static let speedRange = 0.25...4.0

    /// The speed within `speedRange` that is nearest.
    static func held(_ speed: Double) -> Double { max(speedRange.lowerBound, min(speedRange.upperBound, speed)) }

    /// Film seconds per second of sound, held to `speedRange`, pitch kept. A renderer also follows its synchronizer's rate.
    ///
    /// What is not yet heard is stretched anew; nothing needs to be enqueued again.
    public func setSpeed(_ speed: Double) {
        let hasChanged = state.withLock { setSpeed(speed, &$0) }
        if hasChanged { wake.raise() }
    }

    /// The rate that the timeline ends up with is the speed of the sound, unless time stands still there.
    func followRate(_ state: inout State) {
        let speed = state.master.snapshot.upcoming.speed
        if speed > 0 { _ = setSpeed(speed, &state) }
    }

    private func setSpeed(_ speed: Double, _ state: inout State) -> Bool {
        guard speed.isFinite, abs(speed / state.speed - 1) > Self.speedTolerance else { return false }
        let held = Self.held(speed)
        guard held != state.speed else { return false }
        state.speed = held
        let line = state.timebase.snapshot.upcoming
        let now = state.timebase.clock.now
        feedAgain(&state, from: line.mediaTime(at: max(now, line.hostAnchor)))
        return true
    }

    /// Puts back into the queue what was handed over and lies at or after a film moment; the output is flushed.
    func feedAgain(_ state: inout State, from moment: MediaTime) {
        state.flushRequested = true
        overtakePartialFlushes(&state)
        state.status.acceptedUntil = nil
        state.status.isDrained = false
        state.status.hasFailed = false
        state.failure = nil
        if putBackKept(&state, from: moment) { state.resumesFrom = moment }
    }

    /// Takes the next buffer out of the queue and remembers it until it has been heard.
    func takeNext(_ state: inout State) -> SampleBuffer? {
        guard !state.queue.isEmpty else { return nil }
        let buffer = state.queue.removeFirst()
        let heard = state.timebase.currentTime.advanced(by: .zero - Self.memory)
        let old = state.kept.prefix { kept in kept.soundEnd.map { $0 < heard } ?? true }.count
        if old > 0 { state.kept.removeFirst(old) }
        state.kept.append(buffer)
        return buffer
    }

    /// Whether packets may reach a speaker as they are, where it takes them. True at first.
    ///
    /// Packets cannot be cut: up to one is left out where pieces of sound join, and the rest keep their places. Where they are to
    /// join to the sample, set this to false, and a speaker is sent lossless sound instead. Takes effect with the next buffer after a
    /// flush, at the next joint, or with the next format.
    public var allowsPassThrough: Bool {
        get { state.withLock { $0.allowsPassThrough } }
        set { state.withLock { $0.allowsPassThrough = newValue } }
    }
}
