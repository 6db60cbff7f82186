internal import MediaCore

extension AudioRenderer {
    /// The volume as a linear factor of the samples: 1 is unchanged, 0 is silent. Any thread.
    ///
    /// Up to 1 the output's own volume is set. Above 1 the output stays at 1, and the samples are amplified before
    /// encoding or delivery, through a limiter (`processing`).
    ///
    /// Until the first set the output keeps its volume, and the value reads 1.
    public var volume: Float {
        get { state.withLock { $0.volume ?? 1 } }
        set { setGain(newValue.isFinite ? max(0, newValue) : 1) }
    }

    /// Whether the audio is muted, independently of `volume`. Any thread.
    public var isMuted: Bool {
        get { state.withLock { $0.isMuted } }
        set { change { $0.setMuted(newValue) } }
    }

    /// Same as `volume`; nil restores the output's original volume.
    package func setGain(_ gain: Float?) {
        change { $0.setVolume(gain) }
    }
}
