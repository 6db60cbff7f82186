internal import MediaCore

/// Redelivery of unplayed audio, at another speed or to another output.
extension AudioRenderer {
    /// Rate differences below this are not a change of speed: a timebase that follows a foreign clock differs by at
    /// most 100 ppm. A tenth of a percent is a sixtieth of a semitone.
    private static let speedTolerance = 0.001
    /// The supported speeds, in media seconds per second. Speech is hardly intelligible at a quarter and at four times;
    /// mpv supports a wider range of little use.
    public static let speedRange = RenderSynchronizer.speedRange

    /// Sets the media seconds per second of audio, clamped to `speedRange`; the pitch is preserved. A renderer also
    /// follows its synchronizer's rate.
    ///
    /// Unplayed audio is stretched again; the caller need not enqueue it again.
    public func setSpeed(_ speed: Double) {
        let hasChanged = state.withLock { setSpeed(speed, &$0) }
        if hasChanged { wake.raise() }
    }

    /// Applies the final rate of the timeline as the speed; a stopped timeline leaves the speed unchanged.
    func followRate(_ state: inout State) {
        let speed = state.master.snapshot.upcoming.speed
        if speed > 0 { _ = setSpeed(speed, &state) }
    }

    private func setSpeed(_ speed: Double, _ state: inout State) -> Bool {
        guard speed.isFinite, abs(speed / state.speed - 1) > Self.speedTolerance else { return false }
        let held = RenderSynchronizer.held(speed)
        guard held != state.speed else { return false }
        state.speed = held
        let line = state.timebase.snapshot.upcoming
        let now = state.timebase.clock.now
        feedAgain(&state, from: line.mediaTime(at: max(now, line.hostAnchor)))
        return true
    }

    /// Moves retained audio from a media time on back into the queue and requests a flush of the output, under the
    /// state lock.
    func feedAgain(_ state: inout State, from moment: MediaTime) {
        state.flushRequested = true
        state.partialFlushes.overtake()
        state.status.acceptedUntil = nil
        state.status.isDrained = false
        state.status.hasFailed = false
        state.failure = nil
        if state.queue.putBackKept(from: moment) { state.resumesFrom = moment }
    }

    /// Whether packets may be delivered unchanged to speakers that accept them. Initially true. Any thread.
    ///
    /// Packets cannot be cut: up to one is dropped at a gapless boundary; the others keep their time. False enables
    /// sample-accurate boundaries: a speaker then receives lossless audio. Takes effect with the next buffer after a
    /// flush, at the next gapless boundary, or with the next format.
    public var allowsPassThrough: Bool {
        get { state.withLock { $0.allowsPassThrough } }
        set { state.withLock { $0.allowsPassThrough = newValue } }
    }
}
