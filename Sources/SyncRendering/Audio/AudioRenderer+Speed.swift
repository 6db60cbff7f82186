internal import MediaCore

/// Redelivery of unplayed audio, at another speed or to another output.
extension AudioRenderer {
    /// The supported speeds, in media seconds per second. Speech is hardly intelligible at a quarter and at four times;
    /// mpv supports a wider range of little use.
    public static let speedRange = RenderSynchronizer.speedRange

    /// Sets the media seconds per second of audio, clamped to `speedRange`; the pitch is preserved. A renderer also
    /// follows its synchronizer's rate.
    ///
    /// Unplayed audio is stretched again; the caller need not enqueue it again.
    public func setSpeed(_ speed: Double) {
        change { _ = $0.setSpeed(speed) }
    }

    /// Whether packets may be delivered unchanged to speakers that accept them. Initially true. Any thread.
    ///
    /// Packets cannot be cut: up to one is dropped at a gapless boundary; the others keep their time. False enables
    /// sample-accurate boundaries: a speaker then receives lossless audio. Takes effect with the next buffer after a
    /// flush, at the next gapless boundary, or with the next format.
    public var allowsPassThrough: Bool {
        get { state.withLock { $0.allowsPassThrough } }
        set { change { $0.setAllowsPassThrough(newValue) } }
    }
}
