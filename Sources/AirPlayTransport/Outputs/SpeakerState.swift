internal import MediaCore
package import SyncRendering

/// The mutable state of a speaker, guarded by the speaker's lock.
package struct SpeakerState<Session: SenderSession, Details: Sendable> {
    /// The current session; nil while closed, lost or failed.
    package var session: Session?
    /// The renderer's context since `prepare`.
    package var context: AudioOutputContext?
    /// The packets of the stream; nil before `prepare`.
    package var input: StreamInput?
    /// Media seconds per second of audio.
    package var speed = 1.0
    package var anchors = SpeakerAnchors()
    var evictions = EvictionCounter()
    /// Incremented by `endUse`: a rejoin for an older use ends.
    var use: UInt64 = 0
    /// Reads the events of the session.
    var eventTask: Task<Void, Never>?
    /// A rejoin, or the end of a session, on its own thread.
    var backgroundTask: BackgroundTask?
    /// Why the last session was lost; nil if none was.
    package var interruption: String?
    /// The permanent failure: audio is accepted and discarded, so that playback reaches the end.
    package var failure: OutputError?
    /// What only one version of the protocol has.
    package var details: Details

    package init(_ details: Details) { self.details = details }

    /// Returns the state after a use. The speed is kept for the next one.
    var ended: Self {
        var ended = Self(details)
        (ended.speed, ended.anchors, ended.use) = (speed, SpeakerAnchors(epoch: anchors.epoch + 1), use + 1)
        return ended
    }
}
