internal import MediaCore

/// An output that reads the renderer's store directly, without a copy through the renderer's feeder.
///
/// Its delivery is `sampleBuffers`; the first buffer is delivered by the feeder and prepares it. After that the feeder
/// calls `pullAudio` whenever the state may have changed.
protocol PullingAudioOutput: AudioOutput {
    /// Sets the store to read. Called on the feeder thread, before `prepare`.
    func attach(to store: SoundStore)

    /// Drops all accepted audio that is not yet audible, and continues at a position of the store.
    ///
    /// - Parameter moment: Earlier audio only primes the codecs; nil: all audio is delivered.
    func flush(restartingAt cursor: SoundCursor, resumingFrom moment: MediaTime?)

    /// Reads as much audio as fits and performs due work. Called on the feeder thread.
    ///
    /// - Parameter isCut: Whether the audio of a decided partial flush is removed from the store.
    func pullAudio(isCut: Bool) -> PullResult

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
    /// Whether audio was enqueued since the last call, which revokes a preceding `finish`.
    var hasNewAudio = false
    /// The position of the member that has read least; nil if none reads.
    var slowest: SoundCursor?
    /// When the next call is due without a signal; nil: not scheduled.
    var due: HostInstant?
}
