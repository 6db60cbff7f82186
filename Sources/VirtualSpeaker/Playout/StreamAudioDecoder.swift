internal import AirPlayWire
internal import MediaCore
internal import SyncRendering

/// The audio format of a stream's packets.
enum PacketFormat: Hashable, Sendable {
    case wire(StreamFormat)
    /// 16-bit stereo, big-endian, as sent by pyatv.
    case pcm44100

    var sampleRate: Int {
        switch self {
        case .wire(let format): format.sampleRate
        case .pcm44100: 44100
        }
    }

    var name: String {
        switch self {
        case .pcm44100: "PCM 44.1/16"
        case .wire(let format): format.name
        }
    }
}

/// Decoded audio and its stream position; interleaved stereo.
struct DecodedAudio: Sendable {
    let position: RTPTimestamp
    var samples: [Float]

    var frames: Int { samples.count / 2 }
}

/// Decodes the packets of one stream in order. Used by the playout thread only.
///
/// Uncompressed audio needs no codec; compressed ALAC and AAC use `codecs`.
final class StreamAudioDecoder {
    private let codecs: (any AudioCodecs)?
    private var format: PacketFormat?
    private var converter: (any PCMConverter)?
    private var mediaFormat: AudioFormat?
    private var block: PCMBlock?
    /// The stream position at media time zero of the converter.
    private var base = RTPTimestamp(rawValue: 0)
    /// Frames from `base` to `next`, in 64 bits: a stream may exceed the range of its timestamps.
    private var elapsed: Int64 = 0
    private var next: RTPTimestamp?
    private var mutesNext = false

    init(codecs: (any AudioCodecs)?) { self.codecs = codecs }

    /// Resets the decoder at a discontinuity.
    func reset() {
        next = nil
        converter?.reset()
    }

    /// Returns the decoded audio of a packet; empty while the codec needs more input.
    ///
    /// - Throws: `MediaError` for a bad packet; later packets can still be decoded.
    func decode(_ packet: StoredPacket, format: PacketFormat) throws(MediaError) -> [DecodedAudio] {
        if format != self.format {
            self.format = format
            converter = nil
            next = nil
        }
        let isContinuous = next == packet.timestamp
        switch format {
        case .pcm44100:
            next = packet.timestamp.advanced(byFrames: Int64(packet.audio.count / 4))
            return [DecodedAudio(position: packet.timestamp, samples: Self.bigEndianSamples(packet.audio))]
        case .wire(let wire):
            if wire.coding == .appleLossless, let samples = LosslessEscape.samples(in: packet.audio, wire) {
                next = packet.timestamp.advanced(byFrames: Int64(samples.count / 2))
                return [DecodedAudio(position: packet.timestamp, samples: samples)]
            }
            let blocks = try convert(packet, wire, isContinuous: isContinuous)
            next = packet.timestamp.advanced(byFrames: Int64(wire.framesPerPacket))
            return blocks
        }
    }

    private static func bigEndianSamples(_ bytes: [UInt8]) -> [Float] {
        var samples: [Float] = []
        samples.reserveCapacity(bytes.count / 2)
        var index = 0
        while index + 3 < bytes.count {
            for offset in [0, 2] {
                let sample = UInt16(bytes[index + offset]) << 8 | UInt16(bytes[index + offset + 1])
                samples.append(Float(Int16(bitPattern: sample)) / 32768)
            }
            index += 4
        }
        return samples
    }

    private func convert(
        _ packet: StoredPacket, _ wire: StreamFormat, isContinuous: Bool
    ) throws(MediaError) -> [DecodedAudio] {
        guard let codecs else {
            throw MediaError(.unsupported, "This speaker was built without codecs and accepts uncompressed audio only.")
        }
        if converter == nil {
            let input = Self.mediaFormat(of: wire)
            let output = PCMFormat(sampleRate: wire.sampleRate, layout: .stereo)
            converter = try codecs.converter(from: input, to: output, speed: 1)
            mediaFormat = input
            block = PCMBlock(format: output, capacity: 4096)
        }
        guard let converter, let mediaFormat, let block else { return [] }
        if !isContinuous {
            converter.reset()
            base = packet.timestamp
            elapsed = 0
            // The first AAC packet after a discontinuity lacks its overlap; shairport-sync mutes it too.
            mutesNext = wire.coding == .aacLC
        }
        let time = MediaTime(value: elapsed, timescale: Int32(wire.sampleRate))
        elapsed += Int64(wire.framesPerPacket)
        let length = MediaTime(value: Int64(wire.framesPerPacket), timescale: Int32(wire.sampleRate))
        let batch = PacketBatch(reservingBytes: packet.audio.count, packets: 1)
        packet.audio.withUnsafeBytes {
            batch.append($0, as: PacketBatch.Packet(presentationTime: time, duration: length))
        }
        try converter.send(
            SampleBuffer(payload: .encodedAudio(mediaFormat, batch), presentationTime: time, duration: length))
        var blocks: [DecodedAudio] = []
        while try converter.receive(into: block) {
            let start = block.start.rescaled(to: Int32(wire.sampleRate))
            var samples = Array(UnsafeBufferPointer(start: block.samples, count: block.frames * 2))
            if mutesNext {
                samples = samples.map { _ in 0 }
                mutesNext = false
            }
            blocks.append(DecodedAudio(position: base.advanced(byFrames: start), samples: samples))
        }
        return blocks
    }

    private static func mediaFormat(of wire: StreamFormat) -> AudioFormat {
        let parameters: CodecParameters
        switch wire.coding {
        case .appleLossless:
            let config = LosslessEscape.configuration(
                framesPerPacket: UInt32(wire.framesPerPacket), bitsPerSample: UInt8(wire.bitsPerSample),
                sampleRate: UInt32(wire.sampleRate))
            // The "alac" box of MP4: length, name, version and flags, configuration.
            let cookie: [UInt8] = [0, 0, 0, 36] + Array("alac".utf8) + [0, 0, 0, 0] + config
            parameters = CodecParameters(
                codec: "alac", configuration: cookie, bitsPerRawSample: Int32(wire.bitsPerSample),
                framesPerPacket: Int32(wire.framesPerPacket))
        case .aacLC:
            // AudioSpecificConfig (ISO/IEC 14496-3, section 1.6.2.1): AAC LC, rate index 4 or 3, channels.
            let index: UInt16 = wire.sampleRate == 48000 ? 3 : 4
            let config = 2 << 11 | index << 7 | UInt16(wire.channelConfiguration) << 3
            parameters = CodecParameters(
                codec: "aac", configuration: [UInt8(config >> 8), UInt8(config & 0xFF)], profile: 1,
                framesPerPacket: 1024)
        }
        let layout: ChannelLayout = wire.channels == 8 ? .surround71 : wire.channels == 6 ? .surround51 : .stereo
        return AudioFormat(parameters: parameters, sampleRate: wire.sampleRate, layout: layout)
    }
}

extension LosslessEscape {
    /// Returns the samples of an uncompressed ALAC frame; nil for a compressed or malformed one.
    static func samples(in frame: [UInt8], _ format: StreamFormat) -> [Float]? {
        var bits = BitReader(frame)
        // Fields: channel pair, instance, unused, size flag, shift, escape flag.
        guard bits.read(3) == 1, bits.read(4) != nil, bits.read(12) != nil, let hasSize = bits.read(1),
            bits.read(2) == 0, bits.read(1) == 1
        else { return nil }
        var frames = format.framesPerPacket
        if hasSize == 1 {
            guard let high = bits.read(16), let low = bits.read(16), high == 0, low <= format.framesPerPacket else {
                return nil
            }
            frames = Int(low)
        }
        let width = format.bitsPerSample
        let scale = Float(1 << (width - 1))
        var samples: [Float] = []
        samples.reserveCapacity(frames * 2)
        for _ in 0..<(frames * 2) {
            guard let value = bits.read(width) else { return nil }
            let signed = Int32(bitPattern: value << UInt32(32 - width)) >> Int32(32 - width)
            samples.append(Float(signed) / scale)
        }
        return samples
    }

    private struct BitReader {
        private let bytes: [UInt8]
        private var position = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        /// Returns the next `count` bits, at most 32; nil at the end.
        mutating func read(_ count: Int) -> UInt32? {
            guard position + count <= bytes.count * 8 else { return nil }
            var value: UInt64 = 0
            let last = (position + count - 1) / 8
            for index in (position / 8)...last { value = value << 8 | UInt64(bytes[index]) }
            position += count
            let excess = UInt64((last + 1) * 8 - position)
            return UInt32(truncatingIfNeeded: (value >> excess) & ((1 << UInt64(count)) - 1))
        }
    }
}
