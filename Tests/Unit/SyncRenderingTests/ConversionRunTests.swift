import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

@Suite struct ConversionRunTests {
    private let format = FloatCodecs.format(sampleRate: 48_000)
    private let batch = PacketBatch()

    private func frames(_ count: Int64) -> MediaTime { MediaTime(value: count, timescale: 48_000) }

    private func run(encodedAs target: AudioFormat?) throws -> ConversionRun {
        var run = ConversionRun()
        let setup = ConversionRun.Setup(
            format: format, target: target, pcm: PCMFormat(sampleRate: 48_000, layout: .stereo), speed: 1,
            processing: .none)
        try run.begin(setup, codecs: FloatCodecs())
        return run
    }

    /// Returns the times of all packets until another input is required.
    private func packets(_ run: inout ConversionRun) throws -> [MediaTime?] {
        var (times, resume) = ([MediaTime?](), ResumePoint())
        while let sound = try run.receive(into: batch, until: nil, from: &resume) {
            if case .packets(let packets, _) = sound { times += packets.packets.map(\.presentationTime) }
            batch.removeAll()
        }
        return times
    }

    @Test func blocksBeginAtTheResumePointAndEndAtTheLimit() throws {
        var run = try run(encodedAs: nil)
        var resume = ResumePoint(frames(1300))
        try run.converter?.send(FloatCodecs.buffer(1, frames: 0..<4000, format: format))
        var blocks: [[Int]] = []
        while let sound = try run.receive(into: batch, until: frames(2500), from: &resume) {
            if case .block(let block, let offset) = sound { blocks.append([offset, block.frames]) }
        }
        #expect(blocks == [[300, 1000], [0, 500]], "the block before the resume point is preroll")
        #expect(resume.isEmpty && !run.encoder.isPresent && batch.packets.isEmpty)
    }

    @Test func theEncoderIsFinishedOnceAndAcceptsAnyTimeAfterARestart() throws {
        var run = try run(encodedAs: format)
        try run.converter?.send(FloatCodecs.buffer(1, frames: 0..<1000, format: format))
        let full = try packets(&run)
        #expect(full == [frames(0), frames(352)] && run.encoder.end == frames(1000))
        let (isFirst, last, isSecond) = (run.encoder.finish(), try packets(&run), run.encoder.finish())
        #expect(isFirst && !isSecond && last == [frames(704)])
        run.restart()
        run.encoder.endFinish()
        try run.converter?.send(FloatCodecs.buffer(1, frames: 500_000..<500_352, format: format))
        #expect(try packets(&run) == [frames(500_000)])
    }

    @Test func withoutAConverterNothingIsConverted() throws {
        var (run, resume) = (ConversionRun(), ResumePoint())
        try run.converter?.send(FloatCodecs.buffer(1, frames: 0..<1000, format: format))
        let sound = try run.receive(into: batch, until: nil, from: &resume)
        let isFinished = run.encoder.finish()
        #expect(sound == nil && !isFinished && !run.adopt(format) && run.converter == nil)
    }
}
