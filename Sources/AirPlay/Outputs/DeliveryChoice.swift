internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import SyncRendering

/// The delivery of an audio format to a speaker: pass-through if the speaker can decode it, otherwise re-encoding.
struct DeliveryChoice {
    let stream: StreamFormat
    let isPassThrough: Bool

    /// Selects the delivery of a format.
    ///
    /// - Parameters:
    ///   - mustDecode: Whether the audio is processed and cannot be passed through.
    ///   - reencoding: The coding of stereo, at 44.1 or 48 kHz; the other one where the speaker offers no other. More
    ///     channels are AAC.
    ///   - bits: The bits per sample of lossless audio: 16 or 24; nil: 16.
    ///   - channels: The most channels to send: 2, 6 or 8.
    ///   - offered: The formats that the speaker offers for buffered streams.
    ///   - route: Realtime streams always use one format that every receiver accepts.
    init(
        for format: AudioFormat, mustDecode: Bool, reencoding: StreamFormat.Coding, bits: Int? = nil,
        channels: Int = 2, offered: Set<StreamFormat> = Set(StreamFormat.all), route: Route = .buffered
    ) {
        guard route == .buffered else {
            stream = .lossless44100
            isPassThrough = false
            return
        }
        if !mustDecode, let stream = Self.untouched(format, channels: channels), offered.contains(stream) {
            self.stream = stream
            isPassThrough = true
            return
        }
        isPassThrough = false
        let count = min(channels, format.layout.count)
        // Films have 48 kHz; music at 44.1 kHz keeps its rate, which avoids resampling.
        let compressed: [StreamFormat] =
            format.sampleRate == 44100 ? [.aac44100, .aac48000] : [.aac48000, .aac44100]
        let lossless: [StreamFormat] =
            bits == 24 ? [.lossless48000, .lossless44100] : [.lossless44100, .lossless48000]
        let stereo = reencoding == .aacLC ? compressed + lossless : lossless + compressed
        // 5.0 and the like are 5.1 with silent channels.
        let surround = [StreamFormat.aacSurround71, .aacSurround51].filter {
            $0.channels <= channels && count > ($0.channels == 8 ? 6 : 2)
        }
        stream = (surround + stereo).first { offered.contains($0) } ?? stereo[0]
    }

    /// Re-encodes into a stream that is already open.
    init(encodingInto stream: StreamFormat) {
        self.stream = stream
        isPassThrough = false
    }

    /// Returns the choice for an open stream.
    ///
    /// A new stream costs one or two seconds of silence, since the speaker synchronizes its clock again. A lossless one
    /// is kept for all stereo audio, an AAC one for audio that would be AAC with as many channels, at whatever rate,
    /// and for audio that would be passed through into it but must be decoded.
    func keeping(_ open: StreamFormat?, for format: AudioFormat) -> DeliveryChoice {
        guard let open, stream != open else { return self }
        let isKept =
            open.coding == .appleLossless && stream.channels == 2
            || (open.coding, open.channels) == (stream.coding, stream.channels)
            || Self.untouched(format, channels: open.channels) == open
        return isKept ? DeliveryChoice(encodingInto: open) : self
    }

    /// Returns the choice as a delivery of a format.
    ///
    /// The format of passed-through packets always has its frames per packet. Matroska states none, and the sum of
    /// packet durations in milliseconds is not the end of the audio.
    func delivery(of format: AudioFormat) -> AudioDelivery {
        guard isPassThrough else { return .encoded(encodedFormat, from: pcm) }
        var parameters = format.parameters
        parameters.framesPerPacket = Int32(stream.framesPerPacket)
        return .passThrough(
            AudioFormat(parameters: parameters, sampleRate: format.sampleRate, layout: format.layout))
    }

    /// Returns the stream for pass-through: AAC-LC, 1024 frames, no spectral band replication. Nil for other formats.
    ///
    /// - Parameter channels: The most channels to send.
    static func untouched(_ format: AudioFormat, channels: Int = 2) -> StreamFormat? {
        guard format.parameters.codec == "aac",
            let configuration = AudioSpecificConfig(format.parameters.configuration),
            configuration.objectType == AudioSpecificConfig.lowComplexity,
            !configuration.hasShortFrames, !configuration.hasBandReplication
        else { return nil }
        return [StreamFormat.aac44100, .aac48000, .aacSurround51, .aacSurround71].first {
            $0.channels <= channels && $0.channels == format.layout.count
                && $0.channelConfiguration == configuration.channels && $0.sampleRate == format.sampleRate
                && $0.sampleRate == configuration.sampleRate
        }
    }

    /// The format requested from an encoder, with a valid decoder configuration.
    var encodedFormat: AudioFormat {
        let isLossless = stream.coding == .appleLossless
        return AudioFormat(
            parameters: CodecParameters(
                codec: isLossless ? "alac" : "aac", configuration: decoderConfiguration,
                bitRate: isLossless ? 0 : bitRate,
                bitsPerRawSample: Int32(stream.bitsPerSample), framesPerPacket: Int32(stream.framesPerPacket)),
            sampleRate: stream.sampleRate, layout: stream.layout)
    }

    /// Bits per second of AAC: transparent for stereo; the further channels of a film have less sound.
    private var bitRate: Int64 { stream.channels == 2 ? 256_000 : stream.channels == 6 ? 512_000 : 640_000 }

    private var decoderConfiguration: [UInt8] {
        guard stream.coding == .appleLossless else {
            // AudioSpecificConfig: AAC LC, rate index 3 or 4, channels.
            let bits =
                UInt16(AudioSpecificConfig.lowComplexity) << 11 | (stream.sampleRate == 48000 ? 3 : 4) << 7
                | UInt16(stream.channelConfiguration) << 3
            return [UInt8(bits >> 8), UInt8(bits & 0xFF)]
        }
        // The MP4 box: length, name, version and flags, configuration.
        return [0, 0, 0, 36] + Array("alac".utf8) + [0, 0, 0, 0]
            + LosslessEscape.configuration(
                framesPerPacket: UInt32(stream.framesPerPacket), bitsPerSample: UInt8(stream.bitsPerSample),
                sampleRate: UInt32(stream.sampleRate))
    }

    var pcm: PCMFormat { PCMFormat(sampleRate: stream.sampleRate, layout: stream.layout) }
}

extension StreamFormat {
    /// The order of the decoded channels.
    var layout: ChannelLayout {
        switch channels {
        case 6: .surround51
        case 8: .surround71
        default: .stereo
        }
    }
}

/// The decoder configuration of AAC (ISO/IEC 14496-3, section 1.6.2.1).
struct AudioSpecificConfig {
    static let lowComplexity = 2
    /// Table 1.18; no format that speakers accept uses the escape value 15.
    private static let rates = [
        96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350,
    ]

    let objectType: Int
    let sampleRate: Int
    let channels: Int
    /// 960 instead of 1024 frames per unit.
    let hasShortFrames: Bool
    let hasBandReplication: Bool

    /// Parses the configuration. Returns nil for truncated input and for values without a table entry.
    init?(_ bytes: [UInt8]) {
        var position = 0
        func bits(_ count: Int) -> Int? {
            guard position + count <= bytes.count * 8 else { return nil }
            var value = 0
            for _ in 0..<count {
                value = value << 1 | Int(bytes[position / 8] >> (7 - position % 8) & 1)
                position += 1
            }
            return value
        }
        guard let type = bits(5), type != 31, let rate = bits(4), rate < Self.rates.count, let channels = bits(4),
            let short = bits(1), bits(2) != nil
        else { return nil }
        objectType = type
        sampleRate = Self.rates[rate]
        self.channels = channels
        hasShortFrames = short == 1
        // The backward-compatible signal: sync word, object type 5, and the flag (section 1.6.6.1).
        let isMarked = bits(11) == 0x2B7
        hasBandReplication = isMarked && bits(5) == 5 && bits(1) == 1
    }
}
