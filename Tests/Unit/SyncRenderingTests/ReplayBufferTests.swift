import MediaCore
import Testing

@testable import SyncRendering

@Suite struct ReplayBufferTests {
    private func time(_ milliseconds: Int64) -> MediaTime { MediaTime(value: milliseconds, timescale: 1000) }

    /// Returns a buffer of packets of 20 ms each.
    private func buffer(at start: Int64, packets count: Int64) -> SampleBuffer {
        let format = AudioFormat(parameters: CodecParameters(codec: "x"), sampleRate: 48000, layout: .stereo)
        let batch = PacketBatch()
        for packet in 0..<count {
            [UInt8(packet)].withUnsafeBytes {
                batch.append($0, as: .init(presentationTime: time(start + packet * 20), duration: time(20)))
            }
        }
        return SampleBuffer(
            payload: .encodedAudio(format, batch), presentationTime: time(start), duration: time(count * 20))
    }

    private func packets(_ buffer: SampleBuffer) -> [MediaTime?] {
        if case .encodedAudio(_, let batch) = buffer.payload { batch.packets.map(\.presentationTime) } else { [] }
    }

    @Test func whatJoinsBeginsAtAJointAndWhatGoesBeforeIsForDecodersOnly() throws {
        var history = ReplayBuffer()
        for start in stride(from: Int64(0), to: 3000, by: 1000) { history.append(buffer(at: start, packets: 50)) }
        let boundary = history.boundary(from: time(1505))
        #expect(boundary == time(1520))
        let sound = history.sound(from: boundary)
        #expect(sound.count == 3)
        #expect(sound[0].flags.contains([.decodeOnly, .discontinuity]))
        #expect(sound[0].presentationTime == time(1000) && sound[0].end == boundary)
        #expect(sound[1].presentationTime == boundary && sound[1].end == time(2000))
        #expect(!sound[1].flags.contains(.decodeOnly))
        #expect(packets(sound[1]).first == boundary && packets(sound[1]).count == 24)
        #expect(sound[2].presentationTime == time(2000))
        // The moved buffer has the same bytes.
        guard case .encodedAudio(_, let batch) = sound[1].payload else {
            Issue.record("\(sound[1].payload)")
            return
        }
        #expect(batch.withBytes(of: batch.packets[0]) { $0[0] } == 26)
    }

    @Test func aBufferThatBeginsAtTheMomentIsTakenWhole() {
        var history = ReplayBuffer()
        for start in stride(from: Int64(0), to: 1000, by: 100) { history.append(buffer(at: start, packets: 5)) }
        let sound = history.sound(from: time(500))
        #expect(sound.map(\.presentationTime) == [300, 400, 500, 600, 700, 800, 900].map { time($0) })
        #expect(sound.filter { $0.flags.contains(.decodeOnly) }.count == 2)
    }

    /// Readers reuse a batch that is no longer referenced; each one retained for long is an additional allocation.
    @Test func soundThatWasForgottenIsSoonHeldNoMore() {
        var history = ReplayBuffer()
        final class Watch { weak var batch: PacketBatch? }
        var all: [Watch] = []
        for start in stride(from: Int64(0), to: 5000, by: 100) {
            let buffer = buffer(at: start, packets: 5)
            if case .encodedAudio(_, let batch) = buffer.payload {
                let watch = Watch()
                watch.batch = batch
                all.append(watch)
            }
            history.append(buffer)
            history.trim(before: time(start - 500))
        }
        let held = all.count { $0.batch != nil }
        #expect((6...16).contains(held), "six to be replayed, and a few more: \(held)")
        #expect(history.sound(from: time(4500)).last?.end == time(5000))
    }

    @Test func decodedSoundIsCutAtTheFrame() throws {
        var history = ReplayBuffer()
        let format = PCMFormat(sampleRate: 1000, layout: .stereo)
        let block = PCMBlock(format: format, capacity: 1000)
        block.frames = 1000
        for index in 0..<2000 { block.samples[index] = Float(index / 2) }
        history.append(SampleBuffer(payload: .pcm(block), presentationTime: .zero, duration: time(1000)))
        let sound = history.sound(from: time(250))
        #expect(sound.count == 1)
        guard case .pcm(let rest) = try #require(sound.first).payload else {
            Issue.record("\(sound[0].payload)")
            return
        }
        #expect(rest.frames == 750 && rest.samples[0] == 250 && rest.start == time(250))
    }

    @Test func itForgetsWhatIsPastAndCountsItsBytes() {
        var history = ReplayBuffer()
        for start in stride(from: Int64(0), to: 100_000, by: 100) { history.append(buffer(at: start, packets: 5)) }
        #expect(history.byteCount == 5000)
        history.trim(before: time(90_000))
        #expect(history.byteCount < 520)
        history.cut(from: time(95_000))
        #expect(history.end == time(95_000))
        history.removeAll()
        #expect(history.byteCount == 0 && history.sound(from: .zero).isEmpty)
        #expect(history.boundary(from: time(7)) == time(7))
    }

    @Test func moreAudioAndACutRevokeTheEndAndAFlushIsCounted() {
        var history = ReplayBuffer()
        history.append(buffer(at: 0, packets: 5))
        history.finish()
        #expect(history.isFinished)
        history.append(buffer(at: 100, packets: 5))
        #expect(!history.isFinished)
        history.finish()
        history.cut(from: time(500))
        #expect(!history.isFinished && history.end == time(500), "the next audio starts there")
        history.finish()
        history.removeAll()
        #expect(!history.isFinished && history.end == nil && history.flushes == 1)
        history.removeAll()
        #expect(history.flushes == 2)
    }

    @Test func aBufferWithoutATimeFollowsOn() {
        var history = ReplayBuffer()
        history.append(buffer(at: 0, packets: 5))
        var loose = buffer(at: 100, packets: 5)
        loose.presentationTime = nil
        history.append(loose)
        #expect(history.end == time(200))
    }
}
