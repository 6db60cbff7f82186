import Foundation
import MediaCodecs
import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

/// Parts of one tone, cut at arbitrary samples, in different codecs and rates, joined by one converter.
@Suite struct JointTests {
    /// Checks the joined tone.
    ///
    /// - Parameters:
    ///   - lateness: maximum displacement of the tone, in frames of the output.
    ///   - click: maximum deviation from the tone at a boundary, relative to its amplitude.
    private func check(_ pieces: [SinePieces.Piece], rate: Int = 48000, lateness: Double, click: Double) throws {
        let sound = try SinePieces(pieces, to: PCMFormat(sampleRate: rate, layout: .stereo))
        if ProcessInfo.processInfo.environment["TALKIE_PRINT_JOINTS"] != nil {
            print(pieces.prefix(12).map { "\($0.codec.split(separator: " ")[0])@\($0.rate)" }.joined(separator: " "))
            for boundary in sound.joints { print("   late \(boundary.lateness) click \(boundary.click)") }
            print("   frames \(sound.samples.count) of \(sound.expected), jumps \(sound.jumps)")
        }
        #expect(sound.jumps == 0)
        #expect(abs(Double(sound.samples.count) - sound.expected) <= 0.51)
        for boundary in sound.joints {
            #expect(abs(boundary.lateness) < lateness)
            #expect(boundary.click < click)
        }
    }

    @Test func losslessPiecesOfOneRateJoinBitForBit() throws {
        let rate = 48000
        let pieces: [SinePieces.Piece] = [
            .pcm(rate, 12_345), .alac(rate, 7_001), .flac(rate, 9_999), .pcm(rate, 1), .pcm(rate, 333, "pcm_s24le"),
            .alac(rate, 20_011),
        ]
        try check(pieces, lateness: 1e-6, click: 1e-6)
    }

    @Test func lossyPiecesOfOneRateLoseAndDoubleNotOneSample() throws {
        let pieces: [SinePieces.Piece] = [
            .aac(48000, 31_337), .aac(48000, 24_001), .mp3(48000, 29_999), .aac(48000, 17_171), .mp3(48000, 33_333),
            .mp3(48000, 12_347), .alac(48000, 10_007),
        ]
        // Encoders distort a tone that starts at full level, but its position is exact.
        try check(pieces, lateness: 0.03, click: 0.15)
    }

    @Test func piecesOfOneRatePassTheFilterAsOne() throws {
        let pieces: [SinePieces.Piece] = [
            .pcm(44100, 12_345), .pcm(44100, 7_001, "pcm_s16le"), .alac(44100, 11_111), .flac(44100, 20_003),
        ]
        try check(pieces, lateness: 1e-4, click: 1e-3)
    }

    @Test func piecesOfAllRatesStayOnOneGrid() throws {
        let pieces: [SinePieces.Piece] = [
            .pcm(44100, 12_345), .pcm(48000, 7_001), .pcm(32000, 9_999), .pcm(96000, 33_337), .pcm(22050, 5_003),
            .pcm(192000, 65_537), .pcm(8000, 4_001), .pcm(88200, 30_011), .pcm(11025, 4_999), .pcm(48000, 10_007),
        ]
        // Errors do not accumulate: after nine changes of rate the displacement is still below half a frame. No edge is
        // audible, although every filter is flushed at its boundary.
        try check(pieces, lateness: 0.55, click: 0.003)
    }

    @Test func aMixedQueueJoinsAtTheSpeakersRateToo() throws {
        let pieces: [SinePieces.Piece] = [.aac(44100, 44_101), .mp3(48000, 40_009), .alac(48000, 37_003)]
        for rate in [44100, 48000] { try check(pieces, rate: rate, lateness: 0.55, click: 0.15) }
    }

    /// Filtered parts are at their exact positions, wherever the part before ended.
    @Test func piecesThatPassAFilterAreExactToTheHundredthOfAFrame() throws {
        let pieces: [SinePieces.Piece] = [
            .pcm(44100, 12_345), .pcm(88200, 7_001), .pcm(44100, 9_999), .pcm(22050, 5_003), .pcm(44100, 10_007),
        ]
        try check(pieces, lateness: 0.02, click: 0.003)
    }

    /// Repeated items, as in a loop: rounding errors do not accumulate.
    @Test func aHundredJointsAreAsExactAsOne() throws {
        let pair: [SinePieces.Piece] = [.pcm(44100, 4_411), .pcm(48000, 4_799)]
        try check((0..<50).flatMap { _ in pair }, lateness: 0.55, click: 0.15)
    }

    // MARK: PCM

    /// Samples that eight bits represent exactly, in every PCM format.
    @Test(arguments: LinearPCM.Sample.allCases, [false, true])
    func everyPlainFormatComesOutAsItWentIn(_ sample: LinearPCM.Sample, _ isPlanar: Bool) throws {
        for isBigEndian in [false, true] where sample.bytes > 1 || !isBigEndian {
            for layout in [ChannelLayout.mono, .stereo, .surround51, .surround71] {
                let linear = LinearPCM(sample, isBigEndian: isBigEndian, isPlanar: isPlanar)
                let format = AudioFormat(linear, sampleRate: 44100, layout: layout)
                let frames = 777
                func value(_ frame: Int, _ channel: Int) -> Int { (frame * 7 + channel * 31) % 255 - 127 }
                var bytes: [UInt8] = []
                func append(_ value: Int) { bytes += Self.encoded(value, linear) }
                if isPlanar {
                    for channel in 0..<layout.count { for frame in 0..<frames { append(value(frame, channel)) } }
                } else {
                    for frame in 0..<frames { for channel in 0..<layout.count { append(value(frame, channel)) } }
                }
                let batch = PacketBatch()
                bytes.withUnsafeBytes {
                    batch.append(
                        $0,
                        as: PacketBatch.Packet(
                            presentationTime: .zero, duration: MediaTime(value: Int64(frames), timescale: 44100)))
                }
                let output = PCMFormat(sampleRate: 44100, layout: layout)
                let converter = try FilmAudioCodecs().converter(from: format, to: output, speed: 1)
                try converter.send(
                    SampleBuffer(payload: .encodedAudio(format, batch), presentationTime: .zero))
                converter.finish()
                let block = PCMBlock(format: output, capacity: 2000)
                #expect(try converter.receive(into: block))
                try #require(block.frames == frames)
                var worst: Float = 0
                for frame in 0..<frames {
                    for channel in 0..<layout.count {
                        let wanted = Float(value(frame, channel)) / 128
                        worst = max(worst, abs(block.samples[frame * layout.count + channel] - wanted))
                    }
                }
                #expect(worst < 1e-6, "\(linear.codec), \(layout.count) channels")
            }
        }
    }

    /// Returns a value of −128…127 at full scale of a format.
    private static func encoded(_ value: Int, _ linear: LinearPCM) -> [UInt8] {
        let bytes: [UInt8]
        switch linear.sample {
        case .uint8: bytes = [UInt8(value + 128)]
        case .int8: bytes = [UInt8(bitPattern: Int8(value))]
        case .int16: bytes = withUnsafeBytes(of: Int16(value << 8).littleEndian) { Array($0) }
        case .int24: bytes = Array(withUnsafeBytes(of: Int32(value << 16).littleEndian) { Array($0) }.prefix(3))
        case .int32: bytes = withUnsafeBytes(of: Int32(value << 24).littleEndian) { Array($0) }
        case .float32: bytes = withUnsafeBytes(of: (Float(value) / 128).bitPattern.littleEndian) { Array($0) }
        case .float64: bytes = withUnsafeBytes(of: (Double(value) / 128).bitPattern.littleEndian) { Array($0) }
        }
        return linear.isBigEndian ? bytes.reversed() : bytes
    }

    @Test func decodedBlocksAreSoundLikeAnyOther() throws {
        let format = PCMFormat(sampleRate: 48000, layout: .stereo)
        let converter = try FilmAudioCodecs().converter(
            from: AudioFormat(LinearPCM(.float32), sampleRate: 48000, layout: .stereo), to: format, speed: 1)
        for number in 0..<3 {
            let block = PCMBlock(format: format, capacity: 500)
            block.frames = 500
            block.start = MediaTime(value: Int64(number) * 500, timescale: 48000)
            for index in 0..<1000 { block.samples[index] = Float(number * 500 + index / 2) / 2000 }
            try converter.send(SampleBuffer(payload: .pcm(block), presentationTime: block.start))
        }
        converter.finish()
        let heard = PCMBlock(format: format, capacity: 2000)
        #expect(try converter.receive(into: heard))
        #expect(heard.frames == 1500)
        #expect((0..<1500).allSatisfy { heard.samples[$0 * 2] == Float($0) / 2000 })
    }

    /// Empty packets signal the end to a decoder; blocks without frames were once converted to them.
    @Test func decodedBlocksTakeTurnsWithPacketsAndEmptyOnesEndNothing() throws {
        let format = PCMFormat(sampleRate: 48000, layout: .stereo)
        let plain = AudioFormat(LinearPCM(.float32), sampleRate: 48000, layout: .stereo)
        let converter = try FilmAudioCodecs().converter(from: plain, to: format, speed: 1)
        func value(_ frame: Int) -> Float { Float(frame) / 3000 }
        var place = 0
        for (number, count) in [400, 0, 1, 700, 0, 500, 300].enumerated() {
            let start = MediaTime(value: Int64(place), timescale: 48000)
            let samples = (place..<place + count).flatMap { [value($0), value($0)] }
            if number % 3 == 2 {
                let batch = PacketBatch()
                samples.withUnsafeBytes {
                    batch.append(
                        $0,
                        as: .init(presentationTime: start, duration: MediaTime(value: Int64(count), timescale: 48000)))
                }
                try converter.send(SampleBuffer(payload: .encodedAudio(plain, batch), presentationTime: start))
            } else {
                let block = PCMBlock(format: format, capacity: max(1, count))
                (block.frames, block.start) = (count, start)
                for (index, sample) in samples.enumerated() { block.samples[index] = sample }
                try converter.send(SampleBuffer(payload: .pcm(block), presentationTime: start))
            }
            place += count
        }
        converter.finish()
        let heard = PCMBlock(format: format, capacity: 4000)
        #expect(try converter.receive(into: heard))
        #expect(heard.frames == place)
        #expect((0..<place).allSatisfy { heard.samples[$0 * 2] == value($0) })
        // A seek releases borrowed blocks.
        let block = PCMBlock(format: format, capacity: 100)
        (block.frames, block.start) = (100, MediaTime(value: 9, timescale: 1))
        try converter.send(SampleBuffer(payload: .pcm(block), presentationTime: block.start))
        converter.reset()
        #expect(try !converter.receive(into: heard))
    }

    /// The remainder of a partly read packet is discarded by a seek, and not output at the new position.
    @Test func afterAJumpNothingOfALongPacketIsLeft() throws {
        let format = AudioFormat(LinearPCM(.float32), sampleRate: 48000, layout: .mono)
        let output = PCMFormat(sampleRate: 48000, layout: .mono)
        let converter = try FilmAudioCodecs().converter(from: format, to: output, speed: 1)
        func packet(_ value: Float, at frame: Int64) -> SampleBuffer {
            let batch = PacketBatch()
            let time = MediaTime(value: frame, timescale: 48000)
            [Float](repeating: value, count: 4800).withUnsafeBytes {
                batch.append($0, as: .init(presentationTime: time, duration: MediaTime(value: 4800, timescale: 48000)))
            }
            return SampleBuffer(payload: .encodedAudio(format, batch), presentationTime: time)
        }
        let block = PCMBlock(format: output, capacity: 1000)
        try converter.send(packet(0.5, at: 0))
        #expect(try converter.receive(into: block))
        converter.reset()
        try converter.send(packet(-0.25, at: 96_000))
        converter.finish()
        let rest = PCMBlock(format: output, capacity: 20_000)
        #expect(try converter.receive(into: rest))
        #expect(rest.frames == 4800 && rest.start == MediaTime(value: 96_000, timescale: 48000))
        #expect((0..<rest.frames).allSatisfy { rest.samples[$0] == -0.25 })
    }

    // MARK: Format changes within a batch

    /// Frames of two rates and channel counts in one batch that states a single format: each is output at its position.
    @Test func aFormatThatChangesInsideABatchIsHeardOn() throws {
        let first = try SinePieces.file(
            .init("libmp3lame -b:a 128k -write_xing 0", "mp3", rate: 44100, frames: 44_100), from: .zero)
        let second = try SinePieces.file(
            .init("libmp3lame -b:a 64k -write_xing 0", "mp3", rate: 48000, frames: 48_000, channels: "mono"),
            from: MediaTime(value: 1, timescale: 1))
        let batch = PacketBatch()
        var format: AudioFormat?
        var time = MediaTime.zero
        for path in [first, second] {
            let file = try MediaFile.open(path)
            let source = try file.reader(for: try #require(file.summary.track(.audio)))
            while let buffer = try source.read() {
                guard case .encodedAudio(let own, let packets) = buffer.payload else { continue }
                format = format ?? own
                for packet in packets.packets {
                    let entry = PacketBatch.Packet(presentationTime: time, duration: packet.duration)
                    time += packet.duration
                    packets.withBytes(of: packet) { batch.append($0, as: entry) }
                }
            }
        }
        let announced = try #require(format)
        let output = PCMFormat(sampleRate: 48000, layout: .stereo)
        let converter = try FilmAudioCodecs().converter(from: announced, to: output, speed: 1)
        try converter.send(SampleBuffer(payload: .encodedAudio(announced, batch), presentationTime: .zero))
        converter.finish()
        let block = PCMBlock(format: output, capacity: 1000)
        var end = MediaTime.zero
        var (frames, jumps) = (0, 0)
        while try converter.receive(into: block) {
            // libavcodec's MP3 decoder outputs the first frame after a rate change at the old rate: 2 ms too long.
            if (block.start - end).nanoseconds.magnitude > 3_000_000 { jumps += 1 }
            end = block.end
            frames += block.frames
        }
        #expect(jumps == 0)
        #expect(abs(Double(frames) / 48000 - time.seconds) < 0.03)
    }

    /// A PCM packet that ends within a frame: the incomplete frame is dropped, the next packet is complete.
    @Test func aPacketThatEndsInAFramesMiddleLosesThatFrameOnly() throws {
        let format = AudioFormat(LinearPCM(.int16), sampleRate: 48000, layout: .stereo)
        let output = PCMFormat(sampleRate: 48000, layout: .stereo)
        let converter = try FilmAudioCodecs().converter(from: format, to: output, speed: 1)
        let batch = PacketBatch()
        for (index, count) in [4 * 100 + 3, 4 * 100].enumerated() {
            [UInt8](repeating: 1, count: count).withUnsafeBytes {
                batch.append(
                    $0,
                    as: PacketBatch.Packet(
                        presentationTime: MediaTime(value: Int64(index) * 100, timescale: 48000),
                        duration: MediaTime(value: 100, timescale: 48000)))
            }
        }
        try converter.send(SampleBuffer(payload: .encodedAudio(format, batch), presentationTime: .zero))
        converter.finish()
        let block = PCMBlock(format: output, capacity: 1000)
        #expect(try converter.receive(into: block))
        #expect(block.frames == 200)
    }

    @Test func aFormatWithoutADecoderIsRefusedAndTheConverterContinues() throws {
        let format = AudioFormat(LinearPCM(.int16), sampleRate: 48000, layout: .stereo)
        let converter = try FilmAudioCodecs().converter(
            from: format, to: PCMFormat(sampleRate: 48000, layout: .stereo), speed: 1)
        let strange = AudioFormat(parameters: CodecParameters(codec: "nonsense"), sampleRate: 48000, layout: .stereo)
        #expect(throws: MediaError.self) { try converter.adopt(strange) }
        #expect(try converter.adopt(format))
    }
}
