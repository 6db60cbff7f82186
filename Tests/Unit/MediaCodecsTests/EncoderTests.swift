import MediaCore
import SyncRendering
import Testing

@testable import MediaCodecs

@Suite struct EncoderTests {
    static let rate = 44100
    let input = PCMFormat(sampleRate: rate, layout: .stereo)

    private func format(_ codec: String, bits: Int32 = 16, configuration: [UInt8] = []) -> AudioFormat {
        AudioFormat(
            parameters: CodecParameters(codec: codec, configuration: configuration, bitsPerRawSample: bits),
            sampleRate: Self.rate, layout: .stereo)
    }

    /// Encodes noise that 16 bits represent exactly, in blocks of odd sizes from film time 10 s on.
    private func encode(_ encoder: SpeakerAudioEncoder, frames: Int, bits: Int) throws -> (PacketBatch, [Float]) {
        let batch = PacketBatch()
        var samples: [Float] = []
        var state: UInt32 = 1
        var done = 0
        while done < frames {
            let block = PCMBlock(format: input, capacity: 777)
            block.frames = min(777, frames - done)
            block.start =
                MediaTime(value: 10, timescale: 1) + MediaTime(value: Int64(done), timescale: Int32(Self.rate))
            for index in 0..<block.frames * 2 {
                state = state &* 1_664_525 &+ 1_013_904_223
                let full = bits == 24 ? 8_388_608.0 : 32768.0
                let value = Float(Double(Int32(bitPattern: state) >> (32 - Int32(bits))) / full)
                block.samples[index] = value
                samples.append(value)
            }
            done += block.frames
            try encoder.send(block)
            while try encoder.receive(into: batch) {}
        }
        encoder.finish()
        while try encoder.receive(into: batch) {}
        return (batch, samples)
    }

    private func decode(_ batch: PacketBatch, _ format: AudioFormat) throws -> [Float] {
        let converter = try FilmAudioCodecs().converter(from: format, to: input, speed: 1)
        let block = PCMBlock(format: input, capacity: 4096)
        try converter.send(
            SampleBuffer(payload: .encodedAudio(format, batch), presentationTime: batch.packets.first?.presentationTime)
        )
        converter.finish()
        var samples: [Float] = []
        while try converter.receive(into: block) {
            samples += UnsafeBufferPointer(start: block.samples, count: block.frames * 2)
        }
        return samples
    }

    @Test(arguments: [16, 24]) func losslessSoundComesBackBitForBit(_ bits: Int) throws {
        let encoder = try SpeakerAudioEncoder(from: input, to: format("alac", bits: Int32(bits)))
        #expect(encoder.framesPerPacket == 352)
        let (batch, samples) = try encode(encoder, frames: 5000, bits: bits)
        #expect(batch.packets.count == 15)
        let back = try decode(batch, format("alac", bits: Int32(bits), configuration: encoder.configuration))
        #expect(back == samples)
    }

    /// A FLAC file of 24 bits, or floats, on a speaker that gets 24 bits.
    @Test func allBitsOfTheFilmAreInThePackets() throws {
        let encoder = try SpeakerAudioEncoder(from: input, to: format("alac", bits: 24))
        let codecs = FilmAudioCodecs()
        let values = (0..<352 * 2).map { Int32($0 * 12_345 % 16_777_216) - 8_388_608 }
        let film = AudioFormat(
            parameters: CodecParameters(codec: "pcm_s24le", bitsPerRawSample: 24), sampleRate: Self.rate,
            layout: .stereo)
        let packets = PacketBatch()
        let bytes = values.flatMap { value in (0..<3).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        bytes.withUnsafeBytes {
            packets.append(
                $0,
                as: PacketBatch.Packet(presentationTime: .zero, duration: MediaTime(value: 352, timescale: 44100)))
        }
        let converter = try codecs.converter(from: film, to: input, speed: 1)
        try converter.send(SampleBuffer(payload: .encodedAudio(film, packets), presentationTime: .zero))
        converter.finish()
        let (block, batch) = (PCMBlock(format: input, capacity: 352), PacketBatch())
        while try converter.receive(into: block) {
            try encoder.send(block)
            while try encoder.receive(into: batch) {}
        }
        encoder.finish()
        while try encoder.receive(into: batch) {}
        let back = try decode(batch, format("alac", bits: 24, configuration: encoder.configuration))
        #expect(back.map { Int32($0 * 8_388_608) } == values)
    }

    @Test func packetsBearTheFilmTimeOfTheirSound() throws {
        let encoder = try SpeakerAudioEncoder(from: input, to: format("alac"))
        let (batch, _) = try encode(encoder, frames: 3520, bits: 16)
        for (index, packet) in batch.packets.enumerated() {
            let time = MediaTime(value: 10, timescale: 1) + MediaTime(value: Int64(index * 352), timescale: 44100)
            #expect(packet.presentationTime == time)
            #expect(packet.duration == MediaTime(value: 352, timescale: 44100))
        }
    }

    /// AAC's first packet decodes to encoder delay of one transform length, before the start.
    @Test func encoderDelayPrecedesTheFirstSound() throws {
        let encoder = try SpeakerAudioEncoder(from: input, to: format("aac"))
        #expect(encoder.framesPerPacket == 1024)
        let (batch, samples) = try encode(encoder, frames: 44100, bits: 16)
        let first = try #require(batch.packets.first?.presentationTime)
        #expect(first == MediaTime(value: 10, timescale: 1) - MediaTime(value: 1024, timescale: 44100))
        let back = try decode(batch, format("aac", configuration: encoder.configuration))
        // The audio is at its timestamps: the correlation is best without a shift.
        func agreement(_ shift: Int) -> Float {
            var sum: Float = 0
            for index in 4096..<8192 { sum += samples[index * 2] * back[(index + 1024 + shift) * 2] }
            return sum
        }
        let best = (-64...64).max { agreement($0) < agreement($1) }
        #expect(best == 0)
    }

    @Test func aResetStartsANewStream() throws {
        for codec in ["alac", "aac"] {
            let encoder = try SpeakerAudioEncoder(from: input, to: format(codec))
            let (once, _) = try encode(encoder, frames: 3000, bits: 16)
            encoder.reset()
            let (again, _) = try encode(encoder, frames: 3000, bits: 16)
            #expect(once.packets.count == again.packets.count)
            #expect(once.packets.first?.presentationTime == again.packets.first?.presentationTime)
        }
    }

    @Test func loudAndBrokenSamplesStayInRange() throws {
        let encoder = try SpeakerAudioEncoder(from: input, to: format("alac"))
        let block = PCMBlock(format: input, capacity: 352)
        block.frames = 352
        let values: [Float] = [2, -2, .nan, .infinity, -.infinity, 1, -1, 0]
        for index in 0..<704 { block.samples[index] = values[index / 2 % 8] }
        let batch = PacketBatch()
        try encoder.send(block)
        encoder.finish()
        while try encoder.receive(into: batch) {}
        let back = try decode(batch, format("alac", configuration: encoder.configuration))
        let full: Float = 32767 / 32768
        let wanted: [Float] = [full, -1, 0, full, -1, full, -1, 0]
        for index in 0..<8 { #expect(abs(back[index * 2] - wanted[index]) < 1e-6) }
    }

    @Test func codecsThatSpeakersDoNotTakeAreRefused() {
        #expect(throws: MediaError.self) { try SpeakerAudioEncoder(from: input, to: format("flac")) }
        #expect(throws: MediaError.self) {
            try SpeakerAudioEncoder(from: PCMFormat(sampleRate: 48000, layout: .stereo), to: format("alac"))
        }
    }
}
