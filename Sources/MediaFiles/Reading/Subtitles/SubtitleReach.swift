internal import CFFmpeg
internal import MediaCore

/// Finds an earlier start of reading for a seek, so that subtitles that began long before the target are included.
///
/// Local files with a subtitle index (Matroska's cues, MP4's tables) are searched for entries of the last 60 s, as long
/// as at most 16 MiB must be read up to the target.
struct SubtitleReach {
    private let stream: UnsafeMutablePointer<AVStream>
    private let leader: UnsafeMutablePointer<AVStream>
    private let clock: TrackClock

    /// The maximum time before the target. Few subtitles are shown for longer: songs, signs, notes of whole scenes.
    private static let longest = MediaTime(value: 60, timescale: 1)
    /// The maximum number of bytes to read: 0.1 s on a hard disk.
    private static let maxBytes: Int64 = 16 << 20
    /// The maximum number of index entries; a minute of signs in a fansub has some hundreds.
    private static let maxEntries = 2000

    init?(_ context: DemuxContext, stream: Int32, leader: Int32, clock: TrackClock) {
        let streams = context.streams
        guard context.address.kind == .file, !clock.wraps, streams.indices.contains(Int(stream)),
            streams.indices.contains(Int(leader)), avformat_index_get_entries_count(streams[Int(stream)]) > 0
        else { return nil }
        (self.stream, self.leader, self.clock) = (streams[Int(stream)], streams[Int(leader)], clock)
    }

    /// Returns the start of the first subtitle that may still be shown at `time`; nil if there is none within the
    /// limits.
    func start(for time: MediaTime) -> MediaTime? {
        let raw = clock.raw(time)
        var index = av_index_search_timestamp(stream, raw, AVSEEK_FLAG_BACKWARD)
        guard index >= 0, let end = bytePosition(near: time) else { return nil }
        var start: MediaTime?
        for _ in 0..<Self.maxEntries {
            guard index >= 0, let entry = avformat_index_get_entry(stream, index),
                let entryTime = clock.filmTime(entry.pointee.timestamp), let position = entry.pointee.pos.boundedBytes
            else { break }
            if time - entryTime > Self.longest || end - position > Self.maxBytes { break }
            start = min(start ?? entryTime, entryTime)
            index -= 1
        }
        return start.map { max(.zero, $0) }
    }

    /// Returns the byte position of the target, from the index of the leading stream.
    private func bytePosition(near time: MediaTime) -> Int64? {
        let base = leader.pointee.time_base
        guard base.num > 0, base.den > 0 else { return nil }
        let raw = av_rescale_q(clock.raw(time), stream.pointee.time_base, base)
        let entry =
            avformat_index_get_entry_from_timestamp(leader, raw, AVSEEK_FLAG_BACKWARD)
            ?? avformat_index_get_entry_from_timestamp(leader, raw, 0)
        return entry?.pointee.pos.boundedBytes
    }
}
