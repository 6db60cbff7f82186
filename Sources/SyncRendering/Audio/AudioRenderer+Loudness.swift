internal import MediaCore

extension AudioRenderer {
    /// Loudness of the sound, as a factor of its samples: 1 is unchanged, 0 silent. Any thread.
    ///
    /// Up to 1 the output is turned. It stays at 1 beyond that, and the samples are made larger before they are encoded or handed
    /// over, under a limiter (`treatment`).
    ///
    /// Until it is set an output is as loud as its owner left it; then it reads 1.
    public var volume: Float {
        get { state.withLock { $0.volume ?? 1 } }
        set { setGain(newValue.isFinite ? max(0, newValue) : 1) }
    }

    /// Silent without a change of `volume`. Any thread.
    public var isMuted: Bool {
        get { state.withLock { $0.isMuted } }
        set {
            state.withLock {
                guard newValue != $0.isMuted else { return }
                $0.isMuted = newValue
                applyGain($0)
            }
        }
    }

    /// As `volume`; nil is as loud as the output's owner left it.
    package func setGain(_ gain: Float?) {
        let hasChanged = state.withLock { state -> Bool in
            let before = state.effectiveTreatment
            state.volume = gain
            applyGain(state)
            guard state.effectiveTreatment != before else { return false }
            state.output?.setTreatment(state.effectiveTreatment)
            return true
        }
        if hasChanged { wake.raise() }
    }

    private func applyGain(_ state: State) {
        if let gain = state.gain { state.output?.setGain(gain) } else { state.output?.restoreGain() }
    }
}
