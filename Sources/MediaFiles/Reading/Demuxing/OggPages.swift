internal import CFFmpeg
internal import MediaCore

/// Reads pages of an Ogg file (RFC 3533, 6).
enum OggPages {
    /// The longest page has 65,307 bytes.
    static let searched = 128 * 1024

    /// Returns the duration in ticks of an Opus stream that begins late, as a part of a recording does; nil for others.
    ///
    /// libavformat takes the time of the last page for the duration (FFmpeg 5.1). Its granule position counts samples
    /// at 48 kHz, with those that are skipped at the start (RFC 7845, 4).
    static func opusDuration(of stream: UnsafeMutablePointer<AVStream>, in context: DemuxContext) -> Int64? {
        let (parameters, start) = (stream.pointee.codecpar.pointee, stream.pointee.start_time)
        guard context.formatName == "ogg", context.streams.count == 1, parameters.codec_id == AV_CODEC_ID_OPUS,
            start != cff_nopts_value,
            start > 0, parameters.extradata_size >= 12, let header = parameters.extradata
        else { return nil }
        let skipped = Int64(header[10]) | Int64(header[11]) << 8
        let bytes = context.lastBytes(searched)
        guard let last = lastPosition(in: bytes)?.boundedTicks else { return nil }
        let end = av_rescale_q(last - skipped, AVRational(num: 1, den: 48_000), stream.pointee.time_base)
        return end > start ? end - start : nil
    }

    /// Returns the sample rate of the last identification header of Vorbis (Vorbis I, 4.2.2); nil if there is none.
    static func vorbisRate(in bytes: [UInt8]) -> Int? {
        let start = [1] + Array("vorbis".utf8)
        var offset = bytes.count - 16
        while offset >= 0 {
            if bytes[offset] == 1, bytes[offset..<offset + 7].elementsEqual(start) {
                return bytes[offset + 12..<offset + 16].reversed().reduce(0) { $0 << 8 | Int($1) }
            }
            offset -= 1
        }
        return nil
    }

    /// Returns the granule position of the last page that has one.
    static func lastPosition(in bytes: [UInt8]) -> Int64? {
        func number(_ offset: Int, _ count: Int) -> UInt64 {
            bytes[offset..<offset + count].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        var offset = bytes.count - 27
        while offset >= 0 {
            if bytes[offset] == 0x4F, bytes[offset..<offset + 4].elementsEqual("OggS".utf8),
                number(offset + 6, 8) != .max
            {
                return Int64(bitPattern: number(offset + 6, 8))
            }
            offset -= 1
        }
        return nil
    }
}
