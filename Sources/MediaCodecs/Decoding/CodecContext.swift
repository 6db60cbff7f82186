internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// Opens libavcodec decoders for the formats of MediaCore and converts error numbers to messages.
enum CodecContext {
    /// Maximum number of pixels of a video frame, whatever the bitstream states: half a gigabyte decoded.
    static let largestArea: Int64 = 268_435_456

    /// Returns a configured, unopened decoder. The caller frees it.
    ///
    /// - Throws: `unsupported` if there is no decoder or the parameters are invalid, `exhausted` without memory.
    static func decoder(
        for parameters: CodecParameters, type: AVMediaType, _ fill: (UnsafeMutablePointer<AVCodecParameters>) -> Void
    ) throws(MediaError) -> UnsafeMutablePointer<AVCodecContext> {
        cff_log_silence()
        guard let descriptor = avcodec_descriptor_get_by_name(parameters.codec),
            descriptor.pointee.type == type, let codec = avcodec_find_decoder(descriptor.pointee.id)
        else {
            throw MediaError(
                .unsupported,
                "no decoder for \"\(parameters.codec)\" is available; install an FFmpeg that has one, or choose another track"
            )
        }
        var filled = avcodec_parameters_alloc()
        defer { avcodec_parameters_free(&filled) }
        guard let filled, let context = avcodec_alloc_context3(codec) else { throw noMemory }
        filled.pointee.codec_type = type
        filled.pointee.codec_id = descriptor.pointee.id
        filled.pointee.codec_tag = parameters.tag
        filled.pointee.profile = parameters.profile
        filled.pointee.level = parameters.level
        filled.pointee.bit_rate = parameters.bitRate
        filled.pointee.block_align = parameters.blockAlign
        filled.pointee.bits_per_coded_sample = parameters.bitsPerCodedSample
        filled.pointee.bits_per_raw_sample = parameters.bitsPerRawSample
        filled.pointee.frame_size = parameters.framesPerPacket
        filled.pointee.seek_preroll = parameters.seekPreroll
        filled.pointee.video_delay = parameters.reorderDepth
        let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
        if !parameters.configuration.isEmpty, let copy = av_mallocz(parameters.configuration.count + padding) {
            parameters.configuration.withUnsafeBytes { copy.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
            filled.pointee.extradata = copy.assumingMemoryBound(to: UInt8.self)
            filled.pointee.extradata_size = Int32(parameters.configuration.count)
        }
        fill(filled)
        var result: UnsafeMutablePointer<AVCodecContext>? = context
        if avcodec_parameters_to_context(context, filled) < 0 {
            avcodec_free_context(&result)
            throw MediaError(
                .unsupported, "the \(parameters.codec) track's parameters are invalid; try another track")
        }
        context.pointee.max_pixels = largestArea
        return context
    }

    /// Opens a decoder of `decoder(for:type:_:)`; frees it on failure.
    static func open(_ context: UnsafeMutablePointer<AVCodecContext>, named codec: String) throws(MediaError) {
        let code = avcodec_open2(context, nil, nil)
        if code >= 0 { return }
        var failed: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&failed)
        if SystemCause.isExhaustion(code) {
            throw MediaError(.exhausted, "the \(codec) decoder cannot be started: \(text(code))")
        }
        if code == cff_error_invalid_data {
            throw MediaError(.unsupported, "the \(codec) track's description is damaged; try another track")
        }
        throw MediaError(.unsupported, "the \(codec) decoder cannot be started: \(text(code)); try another track")
    }

    /// Returns a packet for the initializer of a decoder; frees the decoder's context if there is no memory.
    static func packet(
        for context: UnsafeMutablePointer<AVCodecContext>
    ) throws(MediaError) -> UnsafeMutablePointer<AVPacket> {
        if let packet = av_packet_alloc() { return packet }
        var unused: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&unused)
        throw noMemory
    }

    static var noMemory: MediaError {
        MediaError(.exhausted, "decoding is not possible: \(SystemCause.text(ENOMEM))")
    }

    /// Returns libavutil's message for an error number in lower case; resource limits have messages of their own.
    static func text(_ code: Int32) -> String {
        if code == cff_error_from_errno(EAGAIN) { return ExhaustionError.thread(EAGAIN).message }
        if SystemCause.isExhaustion(code) { return SystemCause.text(code) }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            av_strerror(code, buffer.baseAddress, 128)
            return String(cString: buffer.baseAddress!).lowercased()
        }
    }
}
