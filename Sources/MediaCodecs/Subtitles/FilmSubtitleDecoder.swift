internal import CFFmpeg
internal import Glibc
import MediaCore
import SyncRendering

/// Decodes subtitles with libavcodec. Owned and called by one thread.
///
/// Text becomes events of Advanced SubStation Alpha; bitmaps keep their colours.
final class FilmSubtitleDecoder: SubtitleDecoder {
    /// The number of packets that could not be decoded or exceeded the limits.
    private(set) var decodeErrorCount = 0

    private let position: SubtitlePosition
    private var format: SubtitleFormat
    private var context: UnsafeMutablePointer<AVCodecContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private var sheet: SubtitleStyleSheet
    private var recoding: TextRecoding?
    /// Media times of the last packets by libavcodec timestamp: some codecs merge packets and keep the first timestamp.
    private var times: [(stamp: Int64, time: MediaTime)] = []
    private var isDiscontinuous = false

    /// Ticks per second of libavcodec timestamps; `AVSubtitle.pts` always has this unit.
    private static let timescale: Int32 = 1_000_000

    /// Opens a decoder.
    ///
    /// - Parameter position: The position of the text.
    /// - Throws: `unsupported` if there is no decoder, the track's parameters are invalid, or for
    ///   bitmaps at the top; or `exhausted`.
    init(format: SubtitleFormat, position: SubtitlePosition = .asWritten) throws(MediaError) {
        (self.format, self.position) = (format, position)
        try Self.require(words: format, at: position)
        recoding = Self.recoding(format)
        context = try Self.open(format, recoding)
        packet = try CodecContext.packet(for: context)
        sheet = Self.sheet(format, context, position)
    }

    deinit {
        var last: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&last)
        var lastPacket: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&lastPacket)
    }

    private static func require(words format: SubtitleFormat, at position: SubtitlePosition) throws(MediaError) {
        guard position == .top, let descriptor = avcodec_descriptor_get_by_name(format.parameters.codec),
            descriptor.pointee.props & AV_CODEC_PROP_BITMAP_SUB != 0
        else { return }
        throw MediaError(.unsupported, "bitmap subtitles cannot be shown at the top; choose text subtitles")
    }

    private static func recoding(_ format: SubtitleFormat) -> TextRecoding? {
        guard let charset = format.charset, let descriptor = avcodec_descriptor_get_by_name(format.parameters.codec),
            descriptor.pointee.props & AV_CODEC_PROP_TEXT_SUB != 0
        else { return nil }
        return TextRecoding(from: charset)
    }

    private static func open(_ format: SubtitleFormat, _ recoding: TextRecoding?) throws(MediaError)
        -> UnsafeMutablePointer<AVCodecContext>
    {
        var parameters = format.parameters
        if let recoding {
            parameters.configuration = parameters.configuration.withUnsafeBytes { recoding.utf8($0) }
        }
        let context = try CodecContext.decoder(for: parameters, type: AVMEDIA_TYPE_SUBTITLE) { filled in
            filled.pointee.width = Int32(clamping: format.canvas?.width ?? 0)
            filled.pointee.height = Int32(clamping: format.canvas?.height ?? 0)
        }
        context.pointee.pkt_timebase = AVRational(num: 1, den: timescale)
        // Invalid UTF-8 is repaired here instead of dropped.
        context.pointee.sub_charenc_mode = FF_SUB_CHARENC_MODE_IGNORE
        if parameters.codec == "dvb_teletext" {
            // Text instead of bitmaps, and only the pages marked as subtitles.
            av_opt_set(context.pointee.priv_data, "txt_format", "text", 0)
            av_opt_set(context.pointee.priv_data, "txt_page", "subtitle", 0)
        }
        try CodecContext.open(context, named: parameters.codec)
        return context
    }

    private static func sheet(
        _ format: SubtitleFormat, _ context: UnsafeMutablePointer<AVCodecContext>, _ position: SubtitlePosition
    ) -> SubtitleStyleSheet {
        if position == .top { return SubtitleStyleSheet(header: PlainSubtitleStyle.topHeader, isAuthored: false) }
        let isAuthored = ["ass", "ssa"].contains(format.parameters.codec)
        guard isAuthored, let header = context.pointee.subtitle_header, context.pointee.subtitle_header_size > 0 else {
            return SubtitleStyleSheet(header: PlainSubtitleStyle.header, isAuthored: false)
        }
        let bytes = UnsafeBufferPointer(start: header, count: Int(context.pointee.subtitle_header_size))
        // Some writers count the trailing zero.
        return SubtitleStyleSheet(header: bytes.prefix { $0 != 0 }, isAuthored: true, fonts: format.fonts)
    }

    // MARK: Decoding

    /// Returns the cues of a buffer with start and duration. A damaged packet is counted and skipped.
    ///
    /// - Throws: `unsupported` if the new format cannot be decoded.
    func decode(_ buffer: SampleBuffer) throws(MediaError) -> [SampleBuffer] {
        guard case .encodedSubtitle(let format, let batch) = buffer.payload else { return [] }
        if buffer.flags.contains(.discontinuity) {
            flush()
            isDiscontinuous = true
        }
        if format !== self.format { try adopt(format) }
        var cues: [SampleBuffer] = []
        for entry in batch.packets { decode(entry, of: batch, into: &cues) }
        return cues
    }

    /// Discards the decoder's state, for a seek.
    func flush() {
        avcodec_flush_buffers(context)
        times.removeAll(keepingCapacity: true)
    }

    private func adopt(_ fresh: SubtitleFormat) throws(MediaError) {
        if fresh != format {
            try Self.require(words: fresh, at: position)
            let recoding = Self.recoding(fresh)
            let opened = try Self.open(fresh, recoding)
            var old: UnsafeMutablePointer<AVCodecContext>? = context
            avcodec_free_context(&old)
            (context, self.recoding) = (opened, recoding)
            sheet = Self.sheet(fresh, opened, position)
        }
        format = fresh
    }

    private func decode(_ entry: PacketBatch.Packet, of batch: PacketBatch, into cues: inout [SampleBuffer]) {
        guard let time = entry.presentationTime, fill(packet, with: entry, of: batch) else {
            decodeErrorCount += 1
            return
        }
        defer { av_packet_unref(packet) }
        let stamp = time.rescaled(to: Self.timescale)
        packet.pointee.pts = stamp
        packet.pointee.dts = stamp
        packet.pointee.duration = entry.duration.rescaled(to: Self.timescale)
        if times.count == 64 { times.removeFirst() }
        times.append((stamp, time))
        var subtitle = AVSubtitle()
        var isThere: Int32 = 0
        let code = avcodec_decode_subtitle2(context, &subtitle, &isThere, packet)
        // libavcodec's SAMI decoder returns −1 for an empty paragraph, which clears a subtitle;
        // SAMI cues have durations anyway.
        if code < 0, !(code == -1 && format.parameters.codec == "sami") { decodeErrorCount += 1 }
        guard code >= 0, isThere != 0 else { return }
        defer { avsubtitle_free(&subtitle) }
        let start = times.last { $0.stamp == subtitle.pts }?.time ?? time
        let (begin, length) = Self.span(of: subtitle, from: start, packet: entry.duration)
        for cue in read(subtitle) {
            var flags: SampleBuffer.Flags = .sync
            if isDiscontinuous { flags.insert(.discontinuity) }
            isDiscontinuous = false
            cues.append(
                SampleBuffer(payload: .subtitle(cue), presentationTime: begin, duration: length, flags: flags))
        }
    }

    /// Copies a packet with the padding that libavcodec requires; for subtitles libavcodec does not add it.
    private func fill(
        _ packet: UnsafeMutablePointer<AVPacket>, with entry: PacketBatch.Packet, of batch: PacketBatch
    ) -> Bool {
        func copy(_ bytes: UnsafeRawBufferPointer) -> Bool {
            guard let size = Int32(exactly: bytes.count), av_new_packet(packet, size) >= 0 else { return false }
            if size > 0 {
                UnsafeMutableRawPointer(packet.pointee.data).copyMemory(
                    from: bytes.baseAddress!, byteCount: bytes.count)
            }
            return true
        }
        return batch.withBytes(of: entry) { bytes in
            guard let recoding else { return copy(bytes) }
            return recoding.utf8(bytes).withUnsafeBytes(copy)
        }
    }

    /// Returns start and duration; zero: until the next cue. `AVSubtitle` has milliseconds relative to its packet.
    private static func span(of subtitle: AVSubtitle, from time: MediaTime, packet: MediaTime) -> (MediaTime, MediaTime)
    {
        let (start, end) = (subtitle.start_display_time, subtitle.end_display_time)
        let begin = start == 0 ? time : time + MediaTime(value: Int64(start), timescale: 1000)
        if end == .max { return (begin, .zero) }
        // libavcodec has truncated the packet's duration to milliseconds.
        if start == 0, packet.value > 0, Int64(end) == packet.rescaled(to: 1000) { return (begin, packet) }
        if end > start { return (begin, MediaTime(value: Int64(end - start), timescale: 1000)) }
        return (begin, packet)
    }

    private func read(_ subtitle: AVSubtitle) -> [SubtitleCue] {
        guard context.pointee.codec_descriptor.pointee.props & AV_CODEC_PROP_BITMAP_SUB != 0, subtitle.format == 0
        else {
            return events(of: subtitle)
        }
        guard let images = SubtitleBitmaps.images(of: subtitle) else {
            decodeErrorCount += 1
            return []
        }
        let (width, height) = (Int(context.pointee.width), Int(context.pointee.height))
        let stated = width > 0 && height > 0 ? PixelSize(width: width, height: height) : format.canvas
        return [SubtitleCue(.images(images, canvas: stated ?? SubtitleBitmaps.canvas(for: images)))]
    }

    private func events(of subtitle: AVSubtitle) -> [SubtitleCue] {
        var cues: [SubtitleCue] = []
        for index in 0..<Int(subtitle.num_rects) {
            guard let text = subtitle.rects?[index]?.pointee.ass else { continue }
            let bytes = UnsafeBufferPointer(
                start: UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self), count: strlen(text))
            guard bytes.count <= SubtitleEvent.longest, cues.count < SubtitleBitmaps.maxRects else {
                decodeErrorCount += 1
                continue
            }
            let written = SubtitleEvent.repaired(bytes)
            let event = position == .top ? SubtitleEvent.plain(written) : written
            if event.isEmpty { continue }
            cues.append(SubtitleCue(.script(event, sheet), isAnimated: SubtitleEvent.isAnimated(event)))
        }
        return cues
    }
}
