import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// A film of impulses with an output, without threads; a volume above 100 changes during playback.
private final class ProcessingRig {
    let clock = ManualClock()
    let synchronizer: RenderSynchronizer
    let renderer: AudioRenderer
    var feeder: AudioFeeder
    let format = FloatCodecs.format(sampleRate: 48_000)

    init(_ output: any AudioDestination) {
        synchronizer = RenderSynchronizer(clock: clock)
        renderer = AudioRenderer(codecs: FloatCodecs(), events: EventLog(clock: clock))
        synchronizer.addRenderer(renderer)
        feeder = renderer.startWithoutThread { _ in }
        renderer.setOutput(output)
    }

    static let impulse = FloatCodecs.value(0, 100_000)
    static func isImpulse(_ frame: Int64) -> Bool { frame % 997 == 13 }

    /// Enqueues silence with regular impulses, in packets of a given codec and size.
    func enqueue(_ range: Range<Int64>, codec: String = "pcm_f32le", packet: Int64 = 1000) {
        let format = PacketTape.format(codec: codec)
        for start in stride(from: range.lowerBound, to: range.upperBound, by: 24_000) {
            let end = min(start + 24_000, range.upperBound)
            let batch = PacketBatch(reservingBytes: Int(end - start) * 8, packets: 64)
            for first in stride(from: start, to: end, by: Int(packet)) {
                let last = min(first + packet, end)
                let samples = (first..<last).flatMap { frame -> [Float] in
                    let value = Self.isImpulse(frame) ? Self.impulse : 0
                    return [value, value]
                }
                samples.withUnsafeBytes {
                    batch.append(
                        $0,
                        as: PacketBatch.Packet(
                            presentationTime: MediaTime(value: first, timescale: 48_000),
                            duration: MediaTime(value: last - first, timescale: 48_000)))
                }
            }
            renderer.enqueue(
                SampleBuffer(
                    payload: .encodedAudio(format, batch), presentationTime: MediaTime(value: start, timescale: 48_000),
                    duration: MediaTime(value: end - start, timescale: 48_000), flags: .sync))
        }
    }

    func start() {
        feeder.performDueWork()
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now)
    }

    func run(for duration: Duration) {
        let end = clock.now.advanced(by: duration)
        while clock.now < end {
            feeder.performDueWork()
            clock.advance(by: .milliseconds(5))
        }
        feeder.performDueWork()
    }
}

@Suite struct ProcessingChangeTests {
    @Test(arguments: [false, true]) func louderThanAHundredInMidFilmHasNoGapAndMovesNothing(isGrouped: Bool) {
        let tape = TapeOutput()
        let rig = ProcessingRig(
            isGrouped ? OutputGroup(members: [tape], codecs: FloatCodecs(), work: .byHand()) : tape)
        rig.enqueue(0..<240_000)
        rig.start()
        rig.run(for: .seconds(1))
        rig.renderer.volume = 2
        rig.run(for: .seconds(1))
        rig.renderer.volume = 1
        rig.run(for: .seconds(2))
        #expect(tape.takes.isEmpty && tape.partialFlushes >= 2)
        #expect(tape.doubled == 0 && tape.maxError < 0.01)
        #expect(tape.blanks == 0)
        let impulses = tape.tape.sounding
        #expect(impulses.keys.allSatisfy(ProcessingRig.isImpulse))
        let last = tape.tape.last ?? 0
        #expect(impulses.count == (0...last).filter(ProcessingRig.isImpulse).count)
        func level(_ frames: Range<Int64>) -> Set<Float> {
            Set(impulses.filter { frames.contains($0.key) }.map { ($0.value / ProcessingRig.impulse * 100).rounded() })
        }
        // The old level, twice as loud at most 0.25 s after the change, and the old level again.
        #expect(level(0..<48_000) == [100])
        #expect(level(60_000..<96_000) == [200])
        #expect(level(108_000..<(last + 1)) == [100])
    }

    @Test func anOutputThatTakesNothingBackIsLouderBehindTheLittleItHolds() {
        let tape = TapeOutput()
        tape.recallLead = nil
        let rig = ProcessingRig(tape)
        rig.enqueue(0..<240_000)
        rig.start()
        rig.run(for: .seconds(1))
        rig.renderer.volume = 2
        rig.run(for: .seconds(2))
        #expect(tape.takes.isEmpty)
        #expect(tape.doubled == 0 && tape.blanks == 0 && tape.maxError < 0.01)
        let impulses = tape.tape.sounding
        #expect(impulses.keys.allSatisfy(ProcessingRig.isImpulse))
        #expect(impulses.filter { $0.key > 98_000 }.allSatisfy { abs($0.value - 2 * ProcessingRig.impulse) < 1e-4 })
    }

    @Test func anOutputWithALargeBufferRestartsForAChange() {
        let tape = TapeOutput(desiredDepth: .seconds(60))
        tape.recallLead = nil
        let rig = ProcessingRig(tape)
        rig.enqueue(0..<480_000)
        rig.start()
        rig.run(for: .seconds(1))
        rig.renderer.volume = 2
        rig.run(for: .seconds(1))
        #expect(tape.takes.count == 1)
        #expect(tape.doubled == 0 && tape.blanks == 0 && tape.maxError < 0.01)
        #expect(tape.tape.sounding.keys.allSatisfy(ProcessingRig.isImpulse))
    }

    @Test func theSpeakerItselfStaysAtFullLevelAndTheSamplesAreMadeLarger() {
        let output = RecordingOutput()
        let rig = ProcessingRig(output)
        rig.renderer.volume = 2
        rig.enqueue(0..<24_000)
        rig.feeder.performDueWork()
        #expect(output.state.withLock { $0.gain } == 1)
        let heard = output.state.withLock { $0.samples }.map(abs).max() ?? 0
        #expect(abs(heard - 2 * ProcessingRig.impulse) < 1e-4)
        rig.renderer.volume = 0.5
        #expect(output.state.withLock { $0.gain } == 0.5)
    }

    @Test func packetsThatPassUntouchedAreDecodedWhileItIsLouder() {
        let tape = PacketTape()
        let rig = ProcessingRig(tape)
        rig.enqueue(0..<480_000, codec: "aac", packet: 1024)
        rig.start()
        rig.run(for: .milliseconds(100))
        #expect(tape.deliveries.count == 1)
        #expect(tape.slots.allSatisfy { $0.isUntouched })
        rig.renderer.volume = 2
        rig.run(for: .milliseconds(200))
        #expect(tape.deliveries.count == 2)
        #expect(tape.slots.allSatisfy { !$0.isUntouched })
        // After a flush packets pass through again.
        rig.renderer.volume = 1
        rig.renderer.flush()
        rig.feeder.performDueWork()
        rig.enqueue(480_000..<576_000, codec: "aac", packet: 1024)
        rig.feeder.performDueWork()
        #expect(!tape.slots.isEmpty && tape.slots.allSatisfy { $0.isUntouched })
    }

    @Test func packetsWithoutACentreChannelPassThroughWithADialogueLift() {
        let tape = PacketTape()
        let rig = ProcessingRig(tape)
        rig.enqueue(0..<480_000, codec: "aac", packet: 1024)
        rig.start()
        rig.run(for: .milliseconds(100))
        let before = tape.slots.count
        rig.renderer.processing.dialogueLift = 6
        rig.run(for: .milliseconds(200))
        #expect(tape.deliveries.count == 1)
        #expect(tape.slots.count >= before && tape.slots.allSatisfy { $0.isUntouched })
    }

    @Test func nightModeInMidFilmHasNoGapAndMovesNothing() {
        let tape = TapeOutput()
        let rig = ProcessingRig(tape)
        rig.enqueue(0..<240_000)
        rig.start()
        rig.run(for: .seconds(1))
        rig.renderer.processing.isNight = true
        rig.run(for: .seconds(1))
        rig.renderer.processing.isNight = false
        rig.run(for: .seconds(1))
        #expect(tape.takes.isEmpty && tape.doubled == 0 && tape.blanks == 0 && tape.maxError < 0.01)
        let impulses = tape.tape.sounding
        let last = tape.tape.last ?? 0
        #expect(impulses.keys.allSatisfy(ProcessingRig.isImpulse))
        #expect(impulses.count == (0...last).filter(ProcessingRig.isImpulse).count)
    }

    @Test func manyChangesInARowEndInTheLastOfThem() {
        let tape = TapeOutput()
        let rig = ProcessingRig(tape)
        rig.enqueue(0..<240_000)
        rig.start()
        rig.run(for: .seconds(1))
        for step in 1...20 {
            rig.renderer.volume = 1 + Float(step) / 20
            rig.run(for: .milliseconds(30))
        }
        rig.run(for: .seconds(1))
        #expect(tape.takes.isEmpty && tape.doubled == 0 && tape.blanks == 0)
        let last = tape.tape.sounding.filter { $0.key > 96_000 }.values.map { abs($0) }
        #expect(!last.isEmpty && last.allSatisfy { abs($0 - 2 * ProcessingRig.impulse) < 1e-4 })
    }
}
