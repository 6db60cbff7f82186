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
        let (failure, outputs) = state.withLock { ($0.failure, $0.outputs) }
        return failure ?? (enqueueCount > 0 ? outputs?.loss : nil)
    }

    /// Returns the audio that could not be decoded since the last call, by its packets' times. Any thread.
    package func consumeUndecodableAudio() -> [UndecodableAudio] {
        outputs?.current.consumeUndecodableAudio() ?? []
    }

    /// The outputs to which it plays. Any thread.
    var devices: [any AudioOutput] { outputs?.members ?? [] }

    /// Records the error that `status` and `error` report.
    func fail(with error: any Error) { state.withLock { $0.failure = error } }

    /// Records a failure and calls the event handler. Any thread.
    ///
    /// - Parameter isFailed: Whether the renderer is marked as failed.
    func report(_ event: Event, isFailed: Bool = false) {
        state.withLock { $0.record(event, isFailed: isFailed) }?.call(event)
    }
}
