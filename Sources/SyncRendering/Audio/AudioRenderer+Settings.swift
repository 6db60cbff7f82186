internal import MediaCore

/// The settings that all outputs follow.
extension AudioRenderer {
    /// Changes settings of the outputs.
    ///
    /// - Parameter isGain: Whether the volumes of the outputs change.
    func changeSettings(isGain: Bool = false, _ body: (inout AudioSettings) -> Void) {
        settings.withLock(body)
        guard let outputs else { return }
        if isGain { outputs.applyGains() } else { outputs.settingsDidChange() }
    }

    // MARK: Loudness

    /// The volume as a linear factor of the samples: 1 is unchanged, 0 is silent. Any thread.
    ///
    /// Up to 1 the output's own volume is set. Above 1 the output stays at 1, and the samples are amplified before
    /// encoding or delivery, through a limiter (`processing`).
    ///
    /// Until the first set the output keeps its volume, and the value reads 1.
    public var volume: Float {
        get { settings.withLock { $0.volume ?? 1 } }
        set { setGain(newValue.isFinite ? max(0, newValue) : 1) }
    }

    /// Whether the audio is muted, independently of `volume`. Any thread.
    public var isMuted: Bool {
        get { settings.withLock { $0.isMuted } }
        set { if isMuted != newValue { changeSettings(isGain: true) { $0.isMuted = newValue } } }
    }

    /// Same as `volume`; nil restores the output's original volume.
    package func setGain(_ gain: Float?) { changeSettings(isGain: true) { $0.volume = gain } }

    // MARK: Processing

    /// The processing of decoded audio before delivery; initially `.none`. Any thread.
    ///
    /// A change reprocesses unplayed audio from as close to the playhead as the output permits, without a gap. Every
    /// frame keeps its media time. Pass-through is disabled while samples are modified.
    public var processing: AudioProcessing {
        get { settings.withLock { $0.processing } }
        set { changeSettings { $0.processing = newValue } }
    }

    // MARK: Speed and pass-through

    /// The supported speeds, in media seconds per second. Speech is hardly intelligible at a quarter and at four times;
    /// mpv supports a wider range of little use.
    public static let speedRange = RenderSynchronizer.speedRange

    /// Sets the media seconds per second of audio, clamped to `speedRange`; the pitch is preserved. A renderer also
    /// follows its synchronizer's rate.
    ///
    /// Unplayed audio is stretched again; the caller need not enqueue it again.
    public func setSpeed(_ speed: Double) {
        state.withLock { $0.setSpeed(speed) }
        wake.raise()
    }

    /// Whether packets may be delivered unchanged to speakers that accept them. Initially true. Any thread.
    ///
    /// Packets cannot be cut: up to one is dropped at a gapless boundary; the others keep their time. False enables
    /// sample-accurate boundaries: a speaker then receives lossless audio. Takes effect with the next buffer after a
    /// flush, at the next gapless boundary, or with the next format.
    public var allowsPassThrough: Bool {
        get { settings.withLock { $0.allowsPassThrough } }
        set { changeSettings { $0.allowsPassThrough = newValue } }
    }
}
