internal import MediaCore

/// An output that pulls audio from the renderer's queue directly, without a copy through the renderer's feeder.
///
/// Its delivery is `sampleBuffers`; the first buffer is delivered by the feeder and prepares it. After that the feeder
/// calls `pullAudio` whenever the state may have changed.
protocol PullingAudioOutput: AudioOutput {
    /// Pulls as much audio as fits and performs due work. Called on the feeder thread.
    ///
    /// - Parameter queue: The queue to pull from; nil: pulling is not permitted now.
    func pullAudio(from queue: RendererQueue?) -> PullResult

    /// The outputs behind it. Any thread.
    var members: [any AudioOutput] { get }

    /// The audio that could not be decoded since the last flush; nil if there is none. Any thread.
    var undecodable: UndecodableSound? { get }

    /// Returns the audio that could not be decoded since the last call; nil if there is none. Any thread.
    func takeUndecodableSound() -> UndecodableSound?
}

/// The result of `pullAudio`.
struct PullResult {
    /// Whether audio has advanced, so that dependent work is due.
    var hasMoved = false
    /// Whether audio was pulled since the last call, which revokes a preceding `finish`.
    var hasTaken = false
    /// When the next call is due without a signal; nil: not scheduled.
    var due: HostInstant?
}

/// Access to a renderer's queue for an output that pulls in the feeder's place. Any thread, one at a time.
struct RendererQueue: Sendable {
    let renderer: AudioRenderer
    let life: UInt64

    /// Returns the next buffer; nil if the queue is empty or a flush, an output change or a shutdown is pending.
    ///
    /// - Parameter moment: Buffers that end before this media time are dropped first.
    func next(skippingTo moment: MediaTime?) -> SampleBuffer? {
        renderer.state.withLock { $0.takeNext(for: life, skippingTo: moment) }
    }
}
