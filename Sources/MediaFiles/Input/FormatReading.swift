internal import CFFmpeg
internal import MediaCore

/// Converts libavformat's stream parameters into the formats of `MediaCore`.
enum FormatReading {
    /// Larger video frames are refused: eight times the area of 8K, half a gigabyte decoded.
    static let largestSide: Int32 = 16_384
    static let largestArea: Int64 = 268_435_456
    /// The maximum size of codec configuration in bytes: the largest that codecs need are a few hundred kilobytes.
    static let largestConfiguration = 4 << 20
    static let maxChannels: Int32 = 64

    static func parameters(of source: UnsafePointer<AVCodecParameters>) -> CodecParameters {
        let from = source.pointee
        let name = avcodec_descriptor_get(from.codec_id).flatMap { $0.pointee.name }.map { String(cString: $0) } ?? ""
        var configuration: [UInt8] = []
        if let bytes = from.extradata, from.extradata_size > 0, Int(from.extradata_size) <= largestConfiguration {
            configuration = Array(UnsafeBufferPointer(start: bytes, count: Int(from.extradata_size)))
        }
        return CodecParameters(
            codec: name, tag: from.codec_tag, configuration: configuration, profile: from.profile, level: from.level,
            bitRate: from.bit_rate, blockAlign: from.block_align, bitsPerCodedSample: from.bits_per_coded_sample,
            bitsPerRawSample: from.bits_per_raw_sample, framesPerPacket: from.frame_size,
            seekPreroll: from.seek_preroll, reorderDepth: from.video_delay)
    }

    static func audio(_ source: UnsafePointer<AVCodecParameters>) -> AudioFormat {
        let layout = source.pointee.ch_layout
        let mask = layout.order == AV_CHANNEL_ORDER_NATIVE ? layout.u.mask : 0
        return AudioFormat(
            parameters: parameters(of: source), sampleRate: Int(source.pointee.sample_rate),
            layout: ChannelLayout(mask: mask, count: Int(layout.nb_channels)))
    }

    static func video(_ source: UnsafePointer<AVCodecParameters>, stream: UnsafeMutablePointer<AVStream>)
        -> VideoFormat
    {
        let from = source.pointee
        var aspect = stream.pointee.sample_aspect_ratio
        if aspect.num <= 0 { aspect = from.sample_aspect_ratio }
        var rate = stream.pointee.avg_frame_rate
        if rate.num <= 0 || rate.den <= 0 { rate = stream.pointee.r_frame_rate }
        let frameRate = rate.num > 0 && rate.den > 0 ? Ratio(Int(rate.num), Int(rate.den)) : nil
        return VideoFormat(
            parameters: parameters(of: source), size: PixelSize(width: Int(from.width), height: Int(from.height)),
            pixelAspect: aspect.num > 0 && aspect.den > 0 ? Ratio(Int(aspect.num), Int(aspect.den)) : .one,
            rotation: rotation(of: stream), color: color(of: from), frameRate: frameRate,
            peakLuminance: peakLuminance(of: stream))
    }

    /// Returns the format of a subtitle stream.
    ///
    /// - Parameter picture: The size of the film's video, for bitmap formats that do not state their canvas.
    static func subtitle(
        _ source: UnsafePointer<AVCodecParameters>, charset: String?, picture: PixelSize?, fonts: [EmbeddedFont]
    ) -> SubtitleFormat {
        let from = source.pointee
        var canvas: PixelSize?
        if from.width > 0, from.height > 0, isSensible(width: from.width, height: from.height) {
            canvas = PixelSize(width: Int(from.width), height: Int(from.height))
        } else if [AV_CODEC_ID_DVD_SUBTITLE, AV_CODEC_ID_XSUB].contains(from.codec_id) {
            canvas = picture
        }
        return SubtitleFormat(parameters: parameters(of: source), canvas: canvas, charset: charset, fonts: fonts)
    }

    private static func color(of from: AVCodecParameters) -> ColorDescription {
        ColorDescription(
            primaries: UInt8(clamping: from.color_primaries.rawValue),
            transfer: UInt8(clamping: from.color_trc.rawValue), matrix: UInt8(clamping: from.color_space.rawValue),
            isFullRange: from.color_range == AVCOL_RANGE_JPEG)
    }

    /// Returns the peak luminance in cd/m²: measured (CTA-861.3, MaxCLL), otherwise that of the mastering display.
    private static func peakLuminance(of stream: UnsafeMutablePointer<AVStream>) -> Double? {
        var size = 0
        if let bytes = cff_stream_side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, &size),
            size >= MemoryLayout<AVContentLightMetadata>.size
        {
            let peak = UnsafeRawPointer(bytes).load(as: AVContentLightMetadata.self).MaxCLL
            if peak > 0 { return Double(peak) }
        }
        guard let bytes = cff_stream_side_data(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, &size),
            size >= MemoryLayout<AVMasteringDisplayMetadata>.size
        else { return nil }
        let display = UnsafeRawPointer(bytes).load(as: AVMasteringDisplayMetadata.self)
        guard display.has_luminance != 0, display.max_luminance.den > 0 else { return nil }
        return Double(display.max_luminance.num) / Double(display.max_luminance.den)
    }

    /// Returns the display matrix (ISO 14496-12, 8.3.2) as clockwise degrees, rounded to a multiple of 90.
    private static func rotation(of stream: UnsafeMutablePointer<AVStream>) -> Int {
        var size = 0
        guard let bytes = cff_stream_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size), size >= 36 else {
            return 0
        }
        let turn = bytes.withMemoryRebound(to: Int32.self, capacity: 9) { av_display_rotation_get($0) }
        guard turn.isFinite else { return 0 }
        return (Int(clamping: -turn / 90, in: -2...2) * 90 + 360) % 360
    }

    /// Returns true if audio or video parameters contain everything a decoder needs, without probing.
    static func isComplete(_ parameters: AVCodecParameters) -> Bool {
        let isConfigured = parameters.extradata_size > 0
        if parameters.codec_type == AVMEDIA_TYPE_VIDEO {
            let needsConfiguration = [AV_CODEC_ID_H264, AV_CODEC_ID_HEVC].contains(parameters.codec_id)
            return parameters.width > 0 && parameters.height > 0 && (isConfigured || !needsConfiguration)
        }
        guard parameters.sample_rate > 0, parameters.ch_layout.nb_channels > 0 else { return false }
        // HE-AAC may double its rate without stating it in the header (ISO 14496-3, 1.6.5, implicit signalling).
        return parameters.codec_id != AV_CODEC_ID_AAC || (isConfigured && parameters.sample_rate > 24_000)
    }

    /// The reason why a stream cannot be played.
    struct Problem {
        var code: MediaError.Code
        /// The end of a sentence about the track.
        var text: String
    }

    static func isSensible(width: Int32, height: Int32) -> Bool {
        width <= largestSide && height <= largestSide && Int64(width) * Int64(height) <= largestArea
    }

    static func oversized(width: Int32, height: Int32) -> Problem {
        Problem(
            code: .limitExceeded,
            text: "has a picture size of \(width)x\(height) pixels, more than \(largestSide) per side")
    }

    /// Returns nil if a tick is short enough for a film. An AVI with a wrong `dwScale` shows each frame for hours.
    static func problem(withTimeBase base: AVRational) -> Problem? {
        guard Int64(base.num) > Int64(base.den) * Int64(InputLimit.maxTick), base.den > 0 else { return nil }
        return Problem(code: .notMedia, text: "has a time base of more than an hour")
    }

    /// Returns nil if packets of PCM last as long as their samples, by the bit rate that libavformat computes from
    /// both. In CAF `mFramesPerPacket` is 1 for linear PCM (Core Audio Format Specification, Audio Description chunk).
    static func problem(withPacketsOf source: UnsafePointer<AVCodecParameters>) -> Problem? {
        let from = source.pointee
        let samples = Int64(from.sample_rate) * Int64(from.ch_layout.nb_channels)
        let exact = samples * Int64(av_get_exact_bits_per_sample(from.codec_id))
        guard from.codec_type == AVMEDIA_TYPE_AUDIO, from.bit_rate > 0, from.bit_rate < exact / 2 else { return nil }
        return Problem(code: .notMedia, text: "has packets that last longer than their samples")
    }

    /// Returns nil if the stream can be played.
    static func problem(with source: UnsafePointer<AVCodecParameters>) -> Problem? {
        let from = source.pointee
        if from.codec_id == AV_CODEC_ID_NONE {
            return Problem(code: .unsupported, text: "has an unknown codec")
        }
        switch from.codec_type {
        case AVMEDIA_TYPE_VIDEO:
            if from.width <= 0 || from.height <= 0 { return Problem(code: .notMedia, text: "has no picture size") }
            if !isSensible(width: from.width, height: from.height) {
                return oversized(width: from.width, height: from.height)
            }
        case AVMEDIA_TYPE_AUDIO:
            if !InputLimit.sampleRates.contains(from.sample_rate) {
                return Problem(code: .notMedia, text: "has an invalid sample rate")
            }
            if from.ch_layout.nb_channels <= 0 || from.ch_layout.nb_channels > maxChannels {
                return Problem(code: .notMedia, text: "has an invalid number of channels")
            }
        case AVMEDIA_TYPE_SUBTITLE: break
        default: return Problem(code: .notMedia, text: "is neither audio nor video nor subtitles")
        }
        if Int(from.extradata_size) > largestConfiguration {
            return Problem(code: .limitExceeded, text: "has codec parameters that are too large")
        }
        if avcodec_find_decoder(from.codec_id) == nil {
            let name = avcodec_descriptor_get(from.codec_id).flatMap { $0.pointee.name }.map { String(cString: $0) }
            let text = "has the codec \(name ?? "something unknown"), which this machine's FFmpeg cannot decode"
            return Problem(code: .unsupported, text: text)
        }
        return nil
    }
}
