import MediaCore
import Testing

/// Buffers that are moved in time and cut at frames.
@Suite struct SampleBufferTests {
    static let format = AudioFormat(
        parameters: CodecParameters(codec: "aac", framesPerPacket: 1024), sampleRate: 48_000, layout: .stereo)

    /// Three packets of 1024 frames; the first one has 100 frames of encoder delay.
    private var encoded: SampleBuffer {
        let batch = PacketBatch()
        for index in 0..<3 {
            let bytes = [UInt8](repeating: UInt8(index), count: 4 + index)
            bytes.withUnsafeBytes {
                batch.append(
                    $0,
                    as: PacketBatch.Packet(
                        presentationTime: frame(Int64(index) * 1024), decodeTime: frame(Int64(index) * 1024),
                        duration: frame(1024), trimStart: index == 0 ? 100 : 0))
            }
        }
        return SampleBuffer(
            payload: .encodedAudio(Self.format, batch), presentationTime: frame(100), duration: frame(2972))
    }

    private var decoded: SampleBuffer {
        let block = PCMBlock(format: PCMFormat(sampleRate: 48_000, layout: .mono), capacity: 480)
        block.frames = 480
        for index in 0..<480 { block.samples[index] = Float(index) }
        return SampleBuffer(payload: .pcm(block), presentationTime: .zero, duration: frame(480))
    }

    private func frame(_ number: Int64) -> MediaTime { MediaTime(value: number, timescale: 48_000) }

    private func packets(_ buffer: SampleBuffer) throws -> (PacketBatch, [PacketBatch.Packet]) {
        guard case .encodedAudio(_, let batch) = buffer.payload else { throw Nothing() }
        return (batch, batch.packets)
    }

    private func block(_ buffer: SampleBuffer) throws -> PCMBlock {
        guard case .pcm(let block) = buffer.payload else { throw Nothing() }
        return block
    }

    private struct Nothing: Error {}

    // MARK: Moving

    @Test func movingABufferMovesEveryPacketInIt() throws {
        let moved = encoded.moved(to: frame(48_100))
        #expect(moved.presentationTime == frame(48_100))
        #expect(moved.end == frame(48_100 + 2972))
        let (batch, packets) = try packets(moved)
        #expect(packets.map(\.presentationTime) == [frame(48_000), frame(49_024), frame(50_048)])
        #expect(packets.map(\.decodeTime) == [frame(48_000), frame(49_024), frame(50_048)])
        #expect(packets.map(\.trimStart) == [100, 0, 0])
        #expect(batch.withBytes(of: packets[2]) { Array($0) } == [2, 2, 2, 2, 2, 2])
        // The original is unchanged.
        #expect(encoded.presentationTime == frame(100))
    }

    @Test func movingDecodedSoundSharesItsSamples() throws {
        let original = decoded
        let moved = original.moved(to: frame(96_000))
        #expect(try block(moved).start == frame(96_000))
        #expect(try block(moved).samples == block(original).samples)
        #expect(try block(original).start == .zero)
    }

    @Test func aBatchThatSharesBytesTakesMoreWithoutTouchingTheOther() throws {
        let original = encoded
        let (shared, _) = try packets(original.moved(to: frame(1)))
        [UInt8](repeating: 9, count: 3).withUnsafeBytes {
            shared.append($0, as: PacketBatch.Packet(presentationTime: nil, duration: .zero))
        }
        let (batch, packets) = try packets(original)
        #expect(batch.byteCount == 15)
        #expect(packets.count == 3)
        #expect(shared.withBytes(of: shared.packets[3]) { Array($0) } == [9, 9, 9])
        #expect(shared.withBytes(of: shared.packets[1]) { Array($0) } == [1, 1, 1, 1, 1])
    }

    // MARK: Cutting

    @Test func decodedSoundIsCutByFrames() throws {
        let original = decoded
        #expect(original.frameCount == 480)
        let part = try #require(original.frames(100..<200))
        #expect(part.presentationTime == frame(100))
        #expect(part.duration == frame(100))
        let sound = try block(part)
        #expect((sound.frames, sound.start) == (100, frame(100)))
        #expect((sound.samples[0], sound.samples[99]) == (100, 199))
        #expect(part.frames(10..<20)?.presentationTime == frame(110))
        #expect(original.frames(480..<500) == nil)
        #expect(try #require(original.frames(400..<1000)).frameCount == 80)
    }

    @Test(arguments: [1 << 62, Int64.max])
    func decodedSoundAtTheFarEndsOfTimeIsCutWholeOrNotAtAll(_ far: Int64) {
        let block = PCMBlock(format: PCMFormat(sampleRate: 48_000, layout: .mono), capacity: 480)
        block.frames = 480
        let (first, last) = (MediaTime(value: -far, timescale: 1), MediaTime(value: far, timescale: 1))
        block.start = first
        #expect(block.frames(before: last) == 480 && block.cut(at: last))
        block.start = last
        #expect(block.frames(before: first) == 0 && !block.cut(at: first))
    }

    @Test func compressedSoundIsCutByTrimmingThePacketsAtTheEdges() throws {
        #expect(encoded.frameCount == 2972)
        // Frames 1000…2000 of the output are 1100…2100 of the decoded ones.
        let part = try #require(encoded.frames(1000..<2000))
        #expect(part.frameCount == 1000)
        #expect(part.presentationTime == frame(1100))
        let (batch, packets) = try packets(part)
        #expect(packets.map(\.presentationTime) == [frame(1024), frame(2048)])
        #expect(packets.map(\.trimStart) == [76, 0])
        #expect(packets.map(\.trimEnd) == [0, 972])
        #expect(batch.withBytes(of: packets[0]) { Array($0) } == [1, 1, 1, 1, 1])
    }
}

@Suite struct ColorDescriptionTests {
    @Test(arguments: [
        (720, 576, YCbCrMatrix.bt601), (854, 480, .bt601), (1280, 720, .bt709), (1280, 544, .bt709), (960, 720, .bt709),
        (1080, 1920, .bt709), (360, 640, .bt709),
    ])
    func aFilmThatDoesNotSayItsMatrixHasThatOfItsSize(width: Int, height: Int, matrix: YCbCrMatrix) {
        let size = PixelSize(width: width, height: height)
        #expect(ColorDescription().matrix(for: size) == matrix)
        #expect(ColorDescription(matrix: 5).matrix(for: size) == .bt601)
    }
}
