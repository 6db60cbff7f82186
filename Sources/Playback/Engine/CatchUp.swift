internal import MediaCore
internal import SyncRendering

/// Whether an audio track that was sent alone to the playhead has yet to catch up with it. The timeline is not held for
/// such a track.
struct CatchUp {
    /// The audio that its output must have ahead of the playhead before the timeline is held for the track again.
    private static let reserve = Duration.milliseconds(500)
    private var isNeeded: Bool

    init(isNeeded: Bool = false) { self.isNeeded = isNeeded }

    /// Returns true until the output has its reserve.
    mutating func isUnderWay(_ pipeline: TrackPipeline?, _ renderer: AudioRenderer, at moment: MediaTime) -> Bool {
        // Until its thread has executed the seek, the renderer holds audio from before. What is only queued does not
        // count, because the timeline is held by what the output has accepted.
        if isNeeded, pipeline?.isSeekPending == false, let until = renderer.progress.acceptedUntil,
            (until - moment).duration > Self.reserve
        {
            isNeeded = false
        }
        return isNeeded
    }
}
