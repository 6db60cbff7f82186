import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Gapless boundaries between passed-through pieces of one codec.
@Suite struct UntouchedJointTests {
    private let clock = ManualClock()
    private let tape = PacketTape()
    private let synchronizer: RenderSynchronizer
    private let renderer: AudioRenderer
    private var feeder: AudioFeeder
    private let packet = Int64(PacketTape.framesPerPacket)

    init() {
        synchronizer = RenderSynchronizer(clock: clock)
        renderer = AudioRenderer(codecs: FloatCodecs(), events: EventLog(clock: clock))
        synchronizer.addRenderer(renderer)
        feeder = renderer.startWithoutThread { _ in }
        renderer.setOutput(tape)
    }

    private func time(_ frame: Int64) -> MediaTime { MediaTime(value: frame, timescale: PacketTape.rate) }

    /// Enqueues a piece like a demuxer: with encoder delay, and a last packet of which only the beginning is audible.
    ///
    /// - Parameters:
    ///   - delay: frames of encoder delay.
    ///   - start: first audible frame of the timeline.
    ///   - joins: marks the piece as a gapless boundary.
    ///   - trims: the last packet states its padding; otherwise it states a shorter duration.
    private func enqueue(
        _ sound: Int, frames count: Int64, delay: Int64 = 1024, at start: Int64, trims: Bool = false,
        as format: AudioFormat = PacketTape.format(), rounded: Bool = false, joins: Bool = true
    ) {
        var first = -delay
        var isFirst = true
        while first < count {
            let batch = PacketBatch()
            let begin = first
            // Several packets per buffer.
            for _ in 0..<5 where first < count {
                var samples = [Float](repeating: 0, count: Int(2 * packet))
                let audible = max(0, first)
                for frame in audible..<max(audible, min(first + packet, count)) {
                    let (place, value) = (Int(2 * (frame - first)), FloatCodecs.value(sound, frame))
                    (samples[place], samples[place + 1]) = (value, value)
                }
                let rest = min(packet, count - first)
                var place = time(start + first)
                var length = time(trims ? packet : rest)
                if rounded {
                    place = MediaTime(value: place.rescaled(to: 1000), timescale: 1000)
                    length = MediaTime(value: length.rescaled(to: 1000), timescale: 1000)
                }
                samples.withUnsafeBytes {
                    batch.append(
                        $0,
                        as: PacketBatch.Packet(
                            presentationTime: place, duration: length,
                            trimStart: isFirst && begin == first ? Int(delay) : 0,
                            trimEnd: trims ? Int(packet - rest) : 0))
                }
                first += packet
            }
            let heard = max(0, begin)
            renderer.enqueue(
                SampleBuffer(
                    payload: .encodedAudio(format, batch), presentationTime: time(start + heard),
                    duration: time(min(count, first) - heard),
                    flags: isFirst && start > 0 && joins ? [.sync, .gaplessBoundary] : .sync))
            isFirst = false
        }
    }

    /// Returns the number of silent frames around a boundary, and the first frame at a wrong position.
    private func mismatches(at boundary: Int64, within reach: Int64 = 20_000) -> (lost: Int, wrong: Int64?) {
        let range = max(0, boundary - reach)..<boundary + reach
        var (lost, wrong) = (0, Int64?.none)
        for (place, heard) in zip(range, tape.audio(in: range)) {
            guard let heard else {
                lost += 1
                continue
            }
            let due = heard.sound == 1 ? place : place - boundary
            if heard.frame != due, wrong == nil { wrong = place }
        }
        return (lost, wrong)
    }

    @Test mutating func twoPiecesOfOneCodecPassUntouchedOverTheirJoint() {
        enqueue(1, frames: 100_000, at: 0)
        enqueue(2, frames: 100_000, at: 100_000)
        feeder.performDueWork()
        #expect(tape.deliveries == [.passThrough(PacketTape.format())])
        #expect(tape.slots.allSatisfy { $0.isUntouched })
        #expect(tape.maxError <= 144, "a packet came late or early by \(tape.maxError) frames")
        // 672 frames of the last packet are audible, which leaves no space for the next piece's first one.
        #expect(mismatches(at: 100_000).lost == 672)
        #expect(mismatches(at: 100_000).wrong == nil)
    }

    @Test(arguments: [0, 312, 1024, 1600, 2112] as [Int64], [0, 1, 10, 500, 700, 1000, 1023] as [Int64])
    mutating func whateverDelayAndLengthAtMostAPacketIsLostAndNothingMoves(delay: Int64, odd: Int64) {
        for trims in [false, true] {
            renderer.flush()
            feeder.performDueWork()
            let boundary = 20 * packet + odd
            enqueue(1, frames: boundary, delay: delay, at: 0, trims: trims)
            enqueue(2, frames: 20_000, delay: delay, at: boundary, trims: trims)
            renderer.finish()
            feeder.performDueWork()
            let lost = mismatches(at: boundary, within: 5_000).lost
            #expect(lost <= 1024, "lost \(lost)")
            #expect(tape.maxError <= 144)
            #expect(tape.longestHole <= 1024)
        }
    }

    @Test mutating func whatIsWholePacketsJoinsWithoutAHole() {
        let boundary = 60 * packet
        enqueue(1, frames: boundary, at: 0)
        enqueue(2, frames: 50_000, at: boundary)
        feeder.performDueWork()
        #expect(mismatches(at: boundary) == (0, nil))
        #expect(tape.longestHole == 0)
    }

    @Test mutating func aHundredJointsDoNotAddUp() {
        var place: Int64 = 0
        for count in 0..<100 {
            // Containers with timestamps in milliseconds displace each packet by up to 0.5 ms.
            let length = 20_000 + Int64(count * 37)
            enqueue(count % 7 + 1, frames: length, at: place, rounded: true)
            place += length
            synchronizer.setRate(0, time: time(place))
            feeder.performDueWork()
        }
        #expect(tape.deliveries.count == 1)
        #expect(tape.maxError <= 144 + 48, "\(tape.maxError) frames from its place")
        #expect(tape.longestHole <= 1024 + 144)
    }

    @Test mutating func anEncodersSilenceIsPlayedWhereThereIsRoomForIt() {
        enqueue(1, frames: 61_440, at: 0)
        enqueue(2, frames: 50_000, at: 66_000)
        feeder.performDueWork()
        #expect(tape.slots.contains { $0.frames.lowerBound == 66_000 - 1024 })
        #expect(mismatches(at: 66_000).lost == 66_000 - 61_440)
    }

    /// After a seek into a piece, the packets before the target are only for decoders.
    @Test mutating func primingIsNotAudibleInAHole() {
        enqueue(1, frames: 61_440, at: 0)
        let batch = PacketBatch()
        for index in 0..<6 {
            let begin = Int64(index) * packet
            (begin..<begin + packet).flatMap { [FloatCodecs.value(2, $0), FloatCodecs.value(2, $0)] }.withUnsafeBytes {
                batch.append(
                    $0,
                    as: PacketBatch.Packet(presentationTime: time(70_000 - 3 * packet + begin), duration: time(packet)))
            }
        }
        renderer.enqueue(
            SampleBuffer(
                payload: .encodedAudio(PacketTape.format(), batch), presentationTime: time(70_000),
                duration: time(3 * packet), flags: [.sync, .gaplessBoundary]))
        feeder.performDueWork()
        #expect(tape.slots.last { $0.frames.upperBound <= 70_000 }?.frames.upperBound == 61_440)
        #expect(tape.slots.contains { $0.frames.lowerBound == 70_000 })
    }

    @Test mutating func anotherBitRateIsNoOtherCodec() {
        enqueue(1, frames: 100_000, at: 0)
        enqueue(2, frames: 50_000, at: 100_000, as: PacketTape.format(bitRate: 128_000))
        feeder.performDueWork()
        #expect(tape.slots.allSatisfy { $0.isUntouched })
        #expect(mismatches(at: 100_000).lost <= 1024)
    }

    @Test(arguments: [0, 10, 300, 512, 700, 1023] as [Int64])
    mutating func anotherCodecIsDecodedFromTheJointOnAndInItsPlace(odd: Int64) {
        let boundary = 60 * packet + odd
        enqueue(1, frames: boundary, at: 0)
        enqueue(2, frames: 50_000, delay: 0, at: boundary, as: PacketTape.format(codec: "other"))
        renderer.finish()
        feeder.performDueWork()
        #expect(tape.deliveries.count == 2)
        let (lost, wrong) = mismatches(at: boundary)
        // Either piece loses at most half a packet.
        #expect(lost <= 512, "lost \(lost)")
        #expect(wrong == nil, "frame \(wrong ?? 0) of \(boundary)")
        #expect(tape.longestHole == 0)
    }

    @Test(arguments: 20..<30 as Range<Int64>)
    mutating func anotherCodecIsInItsPlaceAfterPacketsWhoseTimesAreRounded(packets: Int64) {
        let boundary = packets * packet
        enqueue(1, frames: boundary, delay: 0, at: 0, as: PacketTape.format(states: false), rounded: true)
        enqueue(2, frames: 20_000, delay: 0, at: boundary, as: PacketTape.format(codec: "other"))
        renderer.finish()
        feeder.performDueWork()
        #expect(mismatches(at: boundary, within: 10_000) == (0, nil))
    }

    @Test mutating func whatMayNotPassAnyMoreIsDecodedFromTheJointOn() {
        let boundary = 60 * packet + 300
        enqueue(1, frames: boundary, at: 0)
        feeder.performDueWork()
        renderer.allowsPassThrough = false
        enqueue(2, frames: 50_000, delay: 0, at: boundary)
        renderer.finish()
        feeder.performDueWork()
        #expect(tape.slots.contains { !$0.isUntouched })
        #expect(mismatches(at: boundary).wrong == nil)
        #expect(mismatches(at: boundary).lost <= 512)
    }

    @Test mutating func theLastPacketOfAllIsPlayed() {
        enqueue(1, frames: 60_000, at: 0)
        feeder.performDueWork()
        // The last packet is held back: the next piece may need its position.
        #expect(tape.audio(in: 59_990..<60_000).allSatisfy { $0 == nil })
        renderer.finish()
        feeder.performDueWork()
        #expect(tape.audio(in: 0..<60_000).allSatisfy { $0 != nil })
        #expect(tape.isFinished)
        #expect(renderer.progress.isDrained)
    }

    @Test mutating func whatFollowsWhatWasTakenBackJoinsItAtTheTime() {
        enqueue(1, frames: 100_000, at: 0)
        feeder.performDueWork()
        let result = Lock<PartialFlushResult?>(nil)
        renderer.requestFlush(fromSourceTime: time(99_900)) { answer in result.withLock { $0 = answer } }
        feeder.performDueWork()
        #expect(result.withLock { $0 } == .flushed(from: time(99_900)))
        enqueue(2, frames: 50_000, at: 99_900, joins: false)
        feeder.performDueWork()
        #expect(tape.maxError <= 144)
        #expect(mismatches(at: 99_900).lost == 572)
        #expect(mismatches(at: 99_900).wrong == nil)
    }

    @Test mutating func aPieceThatWasNotMarkedAsOneThatJoinsLosesNothing() {
        enqueue(1, frames: 60_000, at: 0)
        let format = PacketTape.format()
        let batch = PacketBatch()
        [Float](repeating: FloatCodecs.value(2, 0), count: 2048).withUnsafeBytes {
            batch.append($0, as: PacketBatch.Packet(presentationTime: time(60_416), duration: time(packet)))
        }
        renderer.enqueue(
            SampleBuffer(payload: .encodedAudio(format, batch), presentationTime: time(60_416), duration: time(packet)))
        feeder.performDueWork()
        #expect(tape.audio(in: 0..<60_000).allSatisfy { $0 != nil })
        #expect(tape.audio(in: 60_416..<61_440).allSatisfy { $0?.sound == 2 })
    }
}
