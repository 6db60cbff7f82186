internal import CFFmpeg
internal import MediaCore

/// Finds a film time by bisecting byte positions in an input with timestamp discontinuities. The search of libavformat
/// requires monotonic timestamps.
struct ByteSearch {
    let stream: Int32
    let packager: PacketBatcher
    let jumps: TimestampDiscontinuities
    let size: Int64

    /// The byte distance at which the search ends; the rest is read sequentially.
    private static let nearness: Int64 = 128 * 1024

    /// Seeks to a byte position whose next packets are at or shortly before `time`.
    func run(on context: DemuxContext, for time: MediaTime) throws(MediaError) {
        let jump = jumps.index(at: time)
        var low = max(0, jumps[jump]?.position ?? 0)
        var high = min(size, jumps[jump + 1]?.position ?? size)
        while high - low > Self.nearness {
            let middle = low + (high - low) / 2
            try context.seek(toByte: middle, at: time)
            if let found = try firstTime(context), found <= time { low = middle } else { high = middle }
        }
        try context.seek(toByte: low, at: time)
    }

    private func firstTime(_ context: DemuxContext) throws(MediaError) -> MediaTime? {
        for _ in 0..<2000 {
            guard let packet = try context.nextPacket() else { return nil }
            if packet.pointee.stream_index == stream, packet.pointee.pts != cff_nopts_value {
                return packager.filmTime(of: packet, shift: context.shift)
            }
        }
        return nil
    }
}
