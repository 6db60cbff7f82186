internal import MediaCore

extension AudioRenderer {
    /// What has become of it: as in AVFoundation, `failed` says that nothing can be rendered as things are. It ends with a flush,
    /// with another output, when the output comes back by itself or another one takes its place inside a group, and when sound of
    /// another format is heard behind one that cannot be decoded. Any thread.
    public var status: RenderingStatus {
        let (failure, output, isRendering) = state.withLock { ($0.failure, $0.output, $0.enqueueCount > 0) }
        guard failure == nil, !isRendering || output?.loss == nil else { return .failed }
        return isRendering ? .rendering : .unknown
    }

    /// Why `status` is `failed`: a `MediaError`, `OutputError` or `RenderError`, with a sentence that says what to do; nil
    /// otherwise. Any thread.
    public var error: (any Error)? {
        let (failure, output, isRendering) = state.withLock { ($0.failure, $0.output, $0.enqueueCount > 0) }
        return failure ?? (isRendering ? output?.loss : nil)
    }

    /// Returns the sound that could not be decoded since the last call, by the times of its packets; nil where there is none. Any
    /// thread.
    package func takeUndecodableSound() -> UndecodableSound? {
        let (own, output) = state.withLock { ($0.undecodable.take(), $0.output) }
        return own ?? (output as? OutputGroup)?.takeUndecodableSound()
    }

    /// Why nothing is to be heard, for those who look at `status`.
    func fail(with error: any Error) { state.withLock { $0.failure = error } }
}
