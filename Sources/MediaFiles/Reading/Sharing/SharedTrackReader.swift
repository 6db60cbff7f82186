import MediaCore

/// Reads one track of an input that all tracks share. See `SharedDemuxer`. One thread at a time, except `cancel`.
final class SharedTrackReader: SampleSource {
    /// The track that is read.
    let track: Track
    private let lane: Int
    private let demuxer: SharedDemuxer

    init(track: Track, lane: Int, demuxer: SharedDemuxer) {
        self.track = track
        self.lane = lane
        self.demuxer = demuxer
    }

    deinit { demuxer.release(lane: lane) }

    /// Returns the next buffer; nil at the end. Blocks.
    func read() throws(MediaError) -> SampleBuffer? { try demuxer.read(lane: lane) }

    /// Seeks the input. Every active track must request the same position; the input seeks once. Blocks.
    @discardableResult
    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        try demuxer.seek(lane: lane, to: time, mode: mode)
    }

    /// Cancels reading this track; the input is cancelled once all of its readers are. Any thread.
    func cancel() { demuxer.cancel(lane: lane) }
}
