internal import MediaCore

extension AudioRenderer {
    /// The processing of decoded audio before delivery; initially `.none`. Any thread.
    ///
    /// A change reprocesses unplayed audio from as close to the playhead as the output permits, without a gap. Every
    /// frame keeps its media time. Pass-through is disabled while samples are modified.
    public var processing: AudioProcessing {
        get { state.withLock { $0.processing } }
        set {
            let hasChanged = state.withLock { state -> Bool in
                guard newValue != state.processing else { return false }
                state.processing = newValue
                state.output?.setProcessing(state.effectiveProcessing)
                return true
            }
            if hasChanged { wake.raise() }
        }
    }

    /// Whether pass-through is disabled, regardless of the output.
    var mustDecode: Bool { state.withLock { $0.mustDecode } }
}

extension AudioRenderer.State {
    /// The gain of the output, at most 0 dB; the excess is applied to the samples.
    var gain: Float? { isMuted ? 0 : volume.map { min(1, $0) } }

    /// The requested processing, including the part of the volume above 1.
    var effectiveProcessing: AudioProcessing {
        var processing = processing
        processing.gain *= max(1, volume ?? 1)
        return processing
    }

    var mustDecode: Bool { !allowsPassThrough || effectiveProcessing.changesSamples }
}
