internal import MediaCore

extension AudioRenderer {
    /// The processing of decoded audio before delivery; initially `.none`. Any thread.
    ///
    /// A change reprocesses unplayed audio from as close to the playhead as the output permits, without a gap. Every
    /// frame keeps its media time. Pass-through is disabled while samples are modified.
    public var treatment: SoundTreatment {
        get { state.withLock { $0.treatment } }
        set {
            let hasChanged = state.withLock { state -> Bool in
                guard newValue != state.treatment else { return false }
                state.treatment = newValue
                state.output?.setTreatment(state.effectiveTreatment)
                return true
            }
            if hasChanged { wake.raise() }
        }
    }

    /// Whether pass-through is disabled, regardless of the output.
    package var mustDecode: Bool { state.withLock { $0.mustDecode } }

    /// Moves retained audio from a media time on, with preroll for the codecs, back into the queue, under the state
    /// lock; returns false if none of it is retained.
    @discardableResult
    func putBackKept(_ state: inout State, from moment: MediaTime) -> Bool {
        let needed = moment.advanced(by: .zero - Self.settling)
        let old = state.kept.prefix { buffer in buffer.soundEnd.map { $0 <= needed } ?? true }.count
        guard old < state.kept.count else {
            state.kept.removeAll(keepingCapacity: true)
            return false
        }
        state.kept.removeFirst(old)
        state.kept[0].flags.insert(.discontinuity)
        state.queue.insert(contentsOf: state.kept, at: 0)
        state.kept.removeAll(keepingCapacity: true)
        return true
    }
}

extension AudioRenderer.State {
    /// The gain of the output, at most 0 dB; the excess is applied to the samples.
    var gain: Float? { isMuted ? 0 : volume.map { min(1, $0) } }

    /// The requested processing, including the part of the volume above 1.
    var effectiveTreatment: SoundTreatment {
        var treatment = treatment
        treatment.gain *= max(1, volume ?? 1)
        return treatment
    }

    var mustDecode: Bool { !allowsPassThrough || effectiveTreatment.changesSamples }
}
