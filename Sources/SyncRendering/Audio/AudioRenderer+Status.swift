internal import MediaCore

extension AudioRenderer {
    /// The rendering status, as in AVFoundation; `failed` means that no audio can be rendered in the current state. Any
    /// thread.
    ///
    /// Reset by a flush, another output, the recovery of the output or its replacement inside a group. After an
    /// undecodable format it is also reset once audio of another format plays.
    public var status: RenderingStatus {
        error == nil ? (enqueueCount > 0 ? .rendering : .unknown) : .failed
    }

    /// The reason for `failed`: a `MediaError`, `OutputError` or `RenderError` with a message that includes the remedy;
    /// nil otherwise. Any thread.
    public var error: (any Error)? {
        let (failure, output) = state.withLock { ($0.failure, $0.output) }
        return failure ?? (enqueueCount > 0 ? output?.loss : nil)
    }

    /// Returns the audio that could not be decoded since the last call, by its packets' times; nil if there is none.
    /// Any thread.
    package func takeUndecodableSound() -> UndecodableSound? {
        let (own, output) = state.withLock { ($0.takeUndecodable(), $0.output) }
        return own ?? (output as? any PullingAudioOutput)?.takeUndecodableSound()
    }

    /// The outputs to which it plays, groups resolved to their members. Any thread.
    var devices: [any AudioOutput] {
        guard let output = state.withLock({ $0.output }) else { return [] }
        return (output as? any PullingAudioOutput)?.members ?? [output]
    }

    /// Records the error that `status` and `error` report.
    func fail(with error: any Error) { state.withLock { $0.failure = error } }
}
