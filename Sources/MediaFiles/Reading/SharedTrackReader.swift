public import MediaCore

/// Reads one track of an input that all tracks share. See `SharedDemuxer`.
public final class SharedTrackReader: SampleSource {
    public let track: Track
    private let lane: Int
    private let demuxer: SharedDemuxer

    init(track: Track, lane: Int, demuxer: SharedDemuxer) {
        self.track = track
        self.lane = lane
        self.demuxer = demuxer
    }

    deinit { demuxer.release(lane: lane) }

    public func read() throws(MediaError) -> SampleBuffer? { try demuxer.read(lane: lane) }

    /// Every track in use must be asked for the same place; the input jumps once.
    @discardableResult
    public func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        try demuxer.seek(lane: lane, to: time, mode: mode)
    }

    public func cancel() { demuxer.cancel(lane: lane) }
}
