internal import CFFmpeg
internal import MediaCore

/// How far before the target of a jump reading may begin so that long lines are there that began before: where a file of this computer
/// has an index of its subtitles (Matroska's cues, MP4's tables), back to the first that began within a minute, as long as little is to be
/// read until the target.
struct SubtitleReach {
    private let stream: UnsafeMutablePointer<AVStream>
    private let leader: UnsafeMutablePointer<AVStream>
    private let clock: TrackClock

    /// Few lines stand for longer: songs, signs, whole scenes' notes.
    private static let longest = MediaTime(value: 60, timescale: 1)
    /// Read in a tenth of a second from a disk that turns.
    private static let mostBytes: Int64 = 16 << 20
    /// Lines that are looked at; a minute of signs in a fansub has some hundreds.
    private static let mostEntries = 2000

    init?(_ context: DemuxContext, stream: Int32, leader: Int32, clock: TrackClock) {
        let streams = context.streams
        guard context.address.kind == .file, !clock.wraps, streams.indices.contains(Int(stream)),
            streams.indices.contains(Int(leader)), avformat_index_get_entries_count(streams[Int(stream)]) > 0
        else { return nil }
        (self.stream, self.leader, self.clock) = (streams[Int(stream)], streams[Int(leader)], clock)
    }

    /// Where the first line begins that may still stand at a moment; nil where none lies in reach.
    func start(for time: MediaTime) -> MediaTime? {
        let raw = clock.raw(time)
        var index = av_index_search_timestamp(stream, raw, AVSEEK_FLAG_BACKWARD)
        guard index >= 0, let end = place(near: time) else { return nil }
        var start: MediaTime?
        for _ in 0..<Self.mostEntries {
            guard index >= 0, let entry = avformat_index_get_entry(stream, index),
                let moment = clock.filmTime(entry.pointee.timestamp), let position = entry.pointee.pos.boundedBytes
            else { break }
            if time - moment > Self.longest || end - position > Self.mostBytes { break }
            start = min(start ?? moment, moment)
            index -= 1
        }
        return start.map { max(.zero, $0) }
    }

    /// Where in the file the target lies, by what was jumped by.
    private func place(near time: MediaTime) -> Int64? {
        let base = leader.pointee.time_base
        guard base.num > 0, base.den > 0 else { return nil }
        let raw = av_rescale_q(clock.raw(time), stream.pointee.time_base, base)
        let entry =
            avformat_index_get_entry_from_timestamp(leader, raw, AVSEEK_FLAG_BACKWARD)
            ?? avformat_index_get_entry_from_timestamp(leader, raw, 0)
        return entry?.pointee.pos.boundedBytes
    }
}
