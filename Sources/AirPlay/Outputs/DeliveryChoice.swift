internal import AirPlayWire
internal import MediaCore

/// How sound of a film's format reaches a speaker: as it is when the speaker can decode it, else encoded anew.
struct DeliveryChoice {
    let stream: StreamFormat
    let isPassThrough: Bool

    /// - Parameters:
    ///   - mustDecode: the sound is to be changed on the way.
    ///   - reencoding: what to encode to at 48 kHz, when needed.
    ///   - route: realtime streams carry one format that every receiver takes.
    init(
        for format: AudioFormat, mustDecode: Bool, reencoding: StreamFormat.Coding, route: Route = .buffered
    ) {
        guard route == .buffered else {
            stream = .lossless44100
            isPassThrough = false
            return
        }
        if !mustDecode, let stream = Self.untouched(format) {
            self.stream = stream
            isPassThrough = true
            return
        }
        isPassThrough = false
        switch reencoding {
        // Films are at 48 kHz; music at 44.1 kHz keeps its rate, one resampling less.
        case .aacLC: stream = format.sampleRate == 44100 ? .aac44100 : .aac48000
        case .appleLossless: stream = format.sampleRate == 44100 ? .lossless44100 : .lossless48000
        }
    }

    /// Encoded anew into a stream that is open already.
    init(encodingInto stream: StreamFormat) {
        self.stream = stream
        isPassThrough = false
    }

    /// The stream that carries these packets untouched: AAC-LC, stereo, 1024 frames, no spectral band replication.
    static func untouched(_ format: AudioFormat) -> StreamFormat? {
        guard format.parameters.codec == "aac", format.layout.count == 2,
            let configuration = AudioSpecificConfig(format.parameters.configuration),
            configuration.objectType == AudioSpecificConfig.lowComplexity, configuration.channels == 2,
            !configuration.hasShortFrames, !configuration.hasBandReplication
        else { return nil }
        return [StreamFormat.aac44100, .aac48000].first {
            $0.sampleRate == format.sampleRate && $0.sampleRate == configuration.sampleRate
        }
    }

    /// The format that an encoder is asked for; a decoder can read what it makes.
    var encodedFormat: AudioFormat {
        let isLossless = stream.coding == .appleLossless
        return AudioFormat(
            parameters: CodecParameters(
                codec: isLossless ? "alac" : "aac", configuration: decoderConfiguration,
                bitRate: isLossless ? 0 : 256_000,
                bitsPerRawSample: Int32(stream.bitsPerSample), framesPerPacket: Int32(stream.framesPerPacket)),
            sampleRate: stream.sampleRate, layout: .stereo)
    }

    private var decoderConfiguration: [UInt8] {
        guard stream.coding == .appleLossless else {
            // AudioSpecificConfig: AAC LC, rate index 3 or 4, two channels.
            let bits =
                UInt16(AudioSpecificConfig.lowComplexity) << 11 | (stream.sampleRate == 48000 ? 3 : 4) << 7 | 2 << 3
            return [UInt8(bits >> 8), UInt8(bits & 0xFF)]
        }
        // The box of an MP4: length, name, version and flags, configuration.
        return [0, 0, 0, 36] + Array("alac".utf8) + [0, 0, 0, 0]
            + LosslessEscape.configuration(
                framesPerPacket: UInt32(stream.framesPerPacket), bitsPerSample: UInt8(stream.bitsPerSample),
                sampleRate: UInt32(stream.sampleRate))
    }

    var pcm: PCMFormat { PCMFormat(sampleRate: stream.sampleRate, layout: .stereo) }
}

/// What an AAC decoder is told beforehand (ISO/IEC 14496-3, section 1.6.2.1).
struct AudioSpecificConfig {
    static let lowComplexity = 2
    /// Table 1.18; the escape value 15 is not used by anything a speaker takes.
    private static let rates = [
        96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350,
    ]

    let objectType: Int
    let sampleRate: Int
    let channels: Int
    /// 960 instead of 1024 frames in each unit.
    let hasShortFrames: Bool
    let hasBandReplication: Bool

    /// nil when the bytes end early or name what has no table entry.
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
        // The backward-compatible signal: a mark, object type 5, and whether it is in use (section 1.6.6.1).
        let isMarked = bits(11) == 0x2B7
        hasBandReplication = isMarked && bits(5) == 5 && bits(1) == 1
    }
}
