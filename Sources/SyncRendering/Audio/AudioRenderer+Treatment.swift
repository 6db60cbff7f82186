internal import MediaCore

extension AudioRenderer {
    /// What is done to decoded sound before the output sees it; `.none` at first. Any thread.
    ///
    /// What is not yet heard is done again from as near to the playhead as the output can take it back, without a gap, and every
    /// frame keeps its film time. Packets do not pass untouched while samples are changed.
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

    /// Packets may not pass, whatever the output says.
    package var mustDecode: Bool { state.withLock { $0.mustDecode } }

    /// Puts back into the queue what was handed over and lies at or after a film moment, and some more for codecs to settle; false
    /// when nothing of that is kept.
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
    /// What the output is told: no more than 0 dB. What goes beyond is done to the samples.
    var gain: Float? { isMuted ? 0 : volume.map { min(1, $0) } }

    /// The treatment asked for, and the part of the volume that no output has.
    var effectiveTreatment: SoundTreatment {
        var treatment = treatment
        treatment.gain *= max(1, volume ?? 1)
        return treatment
    }

    var mustDecode: Bool { !allowsPassThrough || effectiveTreatment.changesSamples }
}
