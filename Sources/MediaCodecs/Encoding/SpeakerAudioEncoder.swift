internal import CFFmpeg
internal import MediaCore
internal import SyncRendering

/// Encodes audio for a network speaker: ALAC with 16 or 24 bit, or AAC-LC. Owned and called by one thread.
final class SpeakerAudioEncoder: PCMEncoder {
    let framesPerPacket: Int

    private var context: UnsafeMutablePointer<AVCodecContext>
    private let frame: UnsafeMutablePointer<AVFrame>
    private let packet: UnsafeMutablePointer<AVPacket>
    private let input: PCMFormat
    /// The number of frames in `frame`.
    private var filled = 0
    private var block: PCMBlock?
    private var offset = 0
    /// Media time of the first input frame, its media seconds per second of audio, and the number of frames encoded
    /// since.
    private var start: MediaTime?
    private var speed: Double = 1
    private var count: Int64 = 0
    private var isFinished = false
    private var isDrained = false
    private let bits: Int32

    /// AirPlay's ALAC packets hold 352 frames (`spf` in its stream descriptions). AAC-LC
    /// has 1024 (ISO 14496-3, 4.5.1.1).
    private static let alacFrames: Int32 = 352

    init(from input: PCMFormat, to format: AudioFormat) throws(MediaError) {
        cff_log_silence()
        self.input = input
        let name = format.parameters.codec
        guard name == "alac" || name == "aac", let codec = avcodec_find_encoder_by_name(name) else {
            throw MediaError(.unsupported, "cannot encode to \"\(name)\"; ask for alac or aac")
        }
        guard input.sampleRate == format.sampleRate, input.channels == format.layout.count else {
            throw MediaError(.unsupported, "audio must be converted to the speaker's rate and channels before encoding")
        }
        guard let fresh = avcodec_alloc_context3(codec), let frame = av_frame_alloc(), let packet = av_packet_alloc()
        else { throw CodecContext.noMemory }
        (context, self.frame, self.packet) = (fresh, frame, packet)
        bits = format.parameters.bitsPerRawSample == 24 ? 24 : 16
        let isALAC = name == "alac"
        context.pointee.sample_rate = Int32(clamping: input.sampleRate)
        context.pointee.time_base = AVRational(num: 1, den: Int32(clamping: input.sampleRate))
        context.pointee.sample_fmt =
            isALAC ? (bits == 24 ? AV_SAMPLE_FMT_S32P : AV_SAMPLE_FMT_S16P) : AV_SAMPLE_FMT_FLTP
        context.pointee.bits_per_raw_sample = isALAC ? bits : 0
        context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        if format.parameters.bitRate > 0 { context.pointee.bit_rate = format.parameters.bitRate }
        if !isALAC, input.layout == .surround51 {
            // The encoder has channel configuration 6 for 5.1 with back channels; with side channels it would write a
            // program config element, which receivers do not expect.
            av_channel_layout_default(&context.pointee.ch_layout, 6)
        } else if input.layout.mask.nonzeroBitCount == input.channels {
            av_channel_layout_from_mask(&context.pointee.ch_layout, input.layout.mask)
        } else {
            av_channel_layout_default(&context.pointee.ch_layout, Int32(clamping: input.channels))
        }
        if Self.open(context, codec) < 0 {
            var (one, two, three) = (Optional(context), Optional(frame), Optional(packet))
            avcodec_free_context(&one)
            av_frame_free(&two)
            av_packet_free(&three)
            throw MediaError(
                .unsupported,
                "cannot encode \(input.channels) channels at \(input.sampleRate) Hz to \(name); ask for stereo at 44100 Hz"
            )
        }
        framesPerPacket = Int(context.pointee.frame_size)
        frame.pointee.nb_samples = context.pointee.frame_size
        frame.pointee.format = context.pointee.sample_fmt.rawValue
        frame.pointee.sample_rate = context.pointee.sample_rate
        av_channel_layout_copy(&frame.pointee.ch_layout, &context.pointee.ch_layout)
        guard av_frame_get_buffer(frame, 0) >= 0 else { throw CodecContext.noMemory }
    }

    /// Opens an encoder; ALAC with AirPlay's frames instead of libavcodec's 4096.
    ///
    /// FFmpeg 7.1 takes a frame below `frame_size` for the last one and refuses every later frame with EINVAL; 5.1 does
    /// not. The ALAC encoder itself accepts up to 4096 frames and writes their number into each packet.
    private static func open(_ context: UnsafeMutablePointer<AVCodecContext>, _ codec: UnsafePointer<AVCodec>?) -> Int32
    {
        let code = avcodec_open2(context, codec, nil)
        if code >= 0, context.pointee.codec_id == AV_CODEC_ID_ALAC { context.pointee.frame_size = alacFrames }
        return code
    }

    deinit {
        var (one, two, three) = (Optional(context), Optional(frame), Optional(packet))
        avcodec_free_context(&one)
        av_frame_free(&two)
        av_packet_free(&three)
    }

    /// The decoder configuration: AudioSpecificConfig, or the ALAC cookie of libavcodec, which states
    /// 4096 frames for any packet size.
    var configuration: [UInt8] {
        guard let bytes = context.pointee.extradata, context.pointee.extradata_size > 0 else { return [] }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(context.pointee.extradata_size)))
    }

    func send(_ block: PCMBlock) throws(MediaError) {
        if start == nil {
            (start, speed) = (block.start, block.speed)
            count = 0
        }
        isFinished = false
        self.block = block
        offset = 0
    }

    func finish() { isFinished = true }

    func reset() {
        let codec = context.pointee.codec
        // Reopening works for encoders without the flush capability.
        if context.pointee.codec.pointee.capabilities & Int32(bitPattern: UInt32(1 << 21)) != 0 {
            avcodec_flush_buffers(context)
        } else if let fresh = avcodec_alloc_context3(codec) {
            fresh.pointee.sample_rate = context.pointee.sample_rate
            fresh.pointee.time_base = context.pointee.time_base
            fresh.pointee.sample_fmt = context.pointee.sample_fmt
            fresh.pointee.bits_per_raw_sample = context.pointee.bits_per_raw_sample
            fresh.pointee.bit_rate = context.pointee.bit_rate
            fresh.pointee.flags = context.pointee.flags
            av_channel_layout_copy(&fresh.pointee.ch_layout, &context.pointee.ch_layout)
            var old: UnsafeMutablePointer<AVCodecContext>? = context
            var opened: UnsafeMutablePointer<AVCodecContext>? = fresh
            if Self.open(fresh, codec) >= 0 {
                avcodec_free_context(&old)
                context = fresh
            } else {
                avcodec_free_context(&opened)
            }
        }
        block = nil
        start = nil
        (filled, offset, isFinished, isDrained) = (0, 0, false, false)
    }

    func receive(into batch: PacketBatch) throws(MediaError) -> Bool {
        var gave = false
        while true {
            let code = avcodec_receive_packet(context, packet)
            if code >= 0 {
                append(to: batch)
                gave = true
                continue
            }
            if code != cff_error_again { return gave }
            if fill() {
                try encode(frames: framesPerPacket)
            } else if isFinished, !isDrained {
                if filled > 0 { try encode(frames: filled) }
                isDrained = true
                avcodec_send_frame(context, nil)
            } else {
                return gave
            }
        }
    }

    private func append(to batch: PacketBatch) {
        defer { av_packet_unref(packet) }
        guard let data = packet.pointee.data, packet.pointee.size > 0, let start else { return }
        let pts = packet.pointee.pts.boundedTicks ?? 0
        let stated = packet.pointee.duration.boundedTicks ?? 0
        let length = stated > 0 ? stated : Int64(framesPerPacket)
        batch.append(
            UnsafeRawBufferPointer(start: data, count: Int(packet.pointee.size)),
            as: PacketBatch.Packet(
                presentationTime: start + media(of: pts), duration: media(of: length)))
    }

    /// Returns the media time that a number of frames takes; negative for the encoder's delay.
    private func media(of frames: Int64) -> MediaTime {
        let time = MediaTime(value: frames, timescale: Int32(clamping: input.sampleRate))
        return speed == 1 ? time : MediaTime(boundedSeconds: time.seconds * speed) ?? time
    }

    /// Copies frames from the block into the frame. Returns true when the frame is full.
    private func fill() -> Bool {
        guard let block else { return false }
        let count = min(framesPerPacket - filled, block.frames - offset)
        if count > 0 {
            if filled == 0 { av_frame_make_writable(frame) }
            PlanarSamples.write(
                block.samples + offset * input.channels, frames: count, channels: input.channels, to: frame, at: filled,
                bits: bits)
            filled += count
            offset += count
        }
        if offset >= block.frames { self.block = nil }
        return filled == framesPerPacket
    }

    private func encode(frames: Int) throws(MediaError) {
        frame.pointee.nb_samples = Int32(frames)
        frame.pointee.pts = count
        count += Int64(frames)
        filled = 0
        let code = avcodec_send_frame(context, frame)
        frame.pointee.nb_samples = Int32(framesPerPacket)
        if code < 0 {
            throw MediaError(
                .unsupported, "encoding for the speaker failed: \(CodecContext.text(code)); use another format")
        }
    }
}
