internal import MediaCore

extension AudioRenderer {
    /// The processing of decoded audio before delivery; initially `.none`. Any thread.
    ///
    /// A change reprocesses unplayed audio from as close to the playhead as the output permits, without a gap. Every
    /// frame keeps its media time. Pass-through is disabled while samples are modified.
    public var processing: AudioProcessing {
        get { state.withLock { $0.processing } }
        set { change { $0.setProcessing(newValue) } }
    }
}
