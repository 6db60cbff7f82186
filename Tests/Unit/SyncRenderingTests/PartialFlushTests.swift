import CardPlayout
import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// A renderer with an output, without threads; samples encode the number of the sound and of the frame.
private final class FlushRig {
    let clock = ManualClock()
    let synchronizer: RenderSynchronizer
    let renderer: AudioRenderer
    var feeder: AudioFeeder
    let format = FloatCodecs.format(sampleRate: 48000)
    let results = Lock<[PartialFlushResult]>([])
    let events: EventLog

    init(_ output: (ManualClock) -> any AudioDestination) {
        synchronizer = RenderSynchronizer(clock: clock)
        events = EventLog(clock: clock)
        renderer = AudioRenderer(codecs: FloatCodecs(), events: events)
        synchronizer.addRenderer(renderer)
        feeder = renderer.startWithoutThread { _ in }
        renderer.setOutput(output(clock))
    }

    func enqueue(_ sound: Int, _ range: Range<Int64>, every step: Int64 = 24_000) {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(step)) {
            let end = min(start + step, range.upperBound)
            renderer.enqueue(FloatCodecs.buffer(sound, frames: start..<end, format: format))
        }
    }

    func time(_ frame: Int64) -> MediaTime { MediaTime(value: frame, timescale: 48000) }

    func flush(from frame: Int64) {
        renderer.requestFlush(fromSourceTime: time(frame)) { [results] result in
            results.withLock { $0.append(result) }
        }
    }

    var result: PartialFlushResult? { results.withLock { $0.last } }
}

@Suite struct PartialFlushOnASoundCardTests {
    /// The sound and frame of each audible sample that left the card, and its instant.
    private final class Ears {
        var heard: [(sound: Int, frame: Int64, at: HostInstant)] = []
    }

    private let ears = Ears()
    private let rig: FlushRig
    private let card: VirtualSoundCard

    init() { self.init(isGrouped: false) }

    /// - Parameter isGrouped: the card is the only member of a group, as in a player.
    private init(isGrouped: Bool) {
        var made: VirtualSoundCard?
        let ears = ears
        rig = FlushRig { clock in
            let device = VirtualPlayoutDevice(clock: clock, format: PCMFormat(sampleRate: 48000, layout: .stereo))
            device.listener = { frame, at in
                guard let value = frame.first, let meaning = FloatCodecs.meaning(of: value) else { return }
                ears.heard.append((meaning.sound, meaning.frame, at))
            }
            let card = VirtualSoundCard(clock: clock, device: device)
            card.edges.fadeIn = .zero
            card.edges.fadeOut = .zero
            made = card
            return isGrouped ? OutputGroup(members: [card], codecs: FloatCodecs(), work: .byHand()) : card
        }
        card = made!
        card.feeder = { [rig] _ in rig.feeder.performDueWork() }
    }

    private func start() {
        rig.feeder.performDueWork()
        card.run(for: .milliseconds(300))
        let lead = Duration.milliseconds(100)
        rig.synchronizer.setRate(1, time: .zero, atHostTime: rig.clock.now.advanced(by: lead))
        card.run(for: lead)
    }

    private func run(for duration: Duration) {
        let end = rig.clock.now.advanced(by: duration)
        while rig.clock.now < end {
            rig.feeder.performDueWork()
            card.run(for: .milliseconds(2))
        }
        rig.feeder.performDueWork()
    }

    /// The audible sounds as ranges of consecutive frames.
    private var stretches: [(sound: Int, frames: Range<Int64>)] {
        var all: [(sound: Int, frames: Range<Int64>)] = []
        for (sound, frame, _) in ears.heard {
            if let last = all.last, last.sound == sound, last.frames.upperBound == frame {
                all[all.count - 1].frames = last.frames.lowerBound..<(frame + 1)
            } else {
                all.append((sound, frame..<(frame + 1)))
            }
        }
        return all
    }

    @Test func theCompletionReceivesTheOutcome() throws {
        let stage = try VirtualStage()
        stage.feed(from: stage.sound)
        stage.runUntilIdle()
        let answers = Lock<[Bool]>([])
        stage.renderer.flush(fromSourceTime: millisecond(500)) { isFlushed in
            answers.withLock { $0.append(isFlushed) }
        }
        stage.run(for: .milliseconds(500))
        stage.renderer.invalidate()
        stage.renderer.flush(fromSourceTime: .zero) { isFlushed in answers.withLock { $0.append(isFlushed) } }
        #expect(answers.withLock { $0 } == [true, false])
    }

    @Test(arguments: [170, 200, 333, 500, 1000, 2500] as [Int64])
    func audioBeforeTheCutPlaysAudioAfterItIsDroppedAndTheBoundaryIsExact(lead: Int64) throws {
        rig.enqueue(1, 1..<192_000)
        start()
        run(for: .milliseconds(1013))
        let from = rig.synchronizer.currentTime().rescaled(to: 48000) + lead * 48 + 7
        rig.flush(from: from)
        run(for: .milliseconds(30))
        #expect(rig.result == .flushed(from: rig.time(from)))
        #expect(rig.renderer.progress.enqueuedUntil == rig.time(from))
        rig.enqueue(2, from..<(from + 96_000))
        run(for: .milliseconds(3000))
        let heard = stretches.prefix(2)
        #expect(heard.map(\.sound) == [1, 2], "\(heard)")
        #expect(heard.first?.frames.upperBound == from)
        #expect(heard.last?.frames.lowerBound == from)
        #expect(rig.events.removeFirst().map { if case .underrun = $0.event { false } else { true } } ?? true)
    }

    @Test func tooCloseItIsRefusedWithTheLeadItNeedsAndNothingChanges() throws {
        rig.enqueue(1, 1..<192_000)
        start()
        run(for: .milliseconds(1000))
        rig.flush(from: rig.synchronizer.currentTime().rescaled(to: 48000) + 48 * 20)
        run(for: .milliseconds(30))
        guard case .refused(let lead?) = rig.result else {
            Issue.record("\(String(describing: rig.result))")
            return
        }
        #expect(lead > .milliseconds(20) && lead <= .milliseconds(350))
        run(for: .milliseconds(2500))
        #expect(stretches.count == 1)
        #expect(try #require(stretches.first).frames.upperBound > 160_000)
        // A flush with the reported lead succeeds.
        let enough = rig.synchronizer.currentTime().rescaled(to: 48000) + Int64(lead.inSeconds * 48000) + 48
        rig.enqueue(1, 192_000..<400_000)
        rig.flush(from: enough)
        run(for: .milliseconds(30))
        #expect(rig.result == .flushed(from: rig.time(enough)))
    }

    @Test(arguments: [false, true])
    func everyLeadEitherFailsAndChangesNothingOrIsExact(isGrouped: Bool) throws {
        var earliest: Int64?
        for lead in stride(from: Int64(0), through: 350, by: 25) {
            let test = PartialFlushOnASoundCardTests(isGrouped: isGrouped)
            test.rig.enqueue(1, 1..<96_000)
            test.start()
            test.run(for: .milliseconds(500 + lead % 21))
            let from = test.rig.synchronizer.currentTime().rescaled(to: 48000) + lead * 48
            test.rig.flush(from: from)
            test.run(for: .milliseconds(30))
            if case .flushed = test.rig.result {
                test.rig.enqueue(2, from..<96_000)
                test.run(for: .milliseconds(600))
                let heard = test.stretches
                #expect(heard.map(\.sound) == [1, 2], "lead \(lead) ms")
                #expect(heard.last?.frames.lowerBound == from)
                earliest = earliest ?? lead
            } else {
                test.run(for: .milliseconds(600))
                #expect(test.stretches.map(\.sound) == [1], "lead \(lead) ms")
            }
        }
        print("sound card, virtual: the least lead that succeeded is \(earliest ?? -1) ms")
        #expect(try #require(earliest) <= 350)
    }

    @Test func severalFlushesOneAfterAnotherAreEachExact() throws {
        rig.enqueue(1, 1..<480_000)
        start()
        run(for: .milliseconds(200))
        var expected: [Int64] = []
        for sound in 2...6 {
            let from = rig.synchronizer.currentTime().rescaled(to: 48000) + 48 * 400 + Int64(sound)
            rig.flush(from: from)
            run(for: .milliseconds(25))
            #expect(rig.result == .flushed(from: rig.time(from)))
            expected.append(from)
            rig.enqueue(sound, from..<(from + 240_000))
            run(for: .milliseconds(300))
        }
        run(for: .milliseconds(500))
        #expect(stretches.map(\.sound) == [1, 2, 3, 4, 5, 6])
        #expect(stretches.dropFirst().map(\.frames.lowerBound) == expected)
    }

    @Test func aFullFlushOvertakesIt() throws {
        rig.enqueue(1, 1..<192_000)
        start()
        run(for: .milliseconds(500))
        rig.flush(from: 96_000)
        rig.renderer.flush()
        rig.feeder.performDueWork()
        #expect(rig.result == .overtaken)
        rig.enqueue(2, 48_000..<96_000)
        run(for: .milliseconds(1000))
        #expect(stretches.last?.sound == 2)
    }

    @Test func beforeTheStartEverythingMayGo() throws {
        rig.enqueue(1, 1..<192_000)
        rig.feeder.performDueWork()
        card.run(for: .milliseconds(100))
        rig.flush(from: 0)
        rig.feeder.performDueWork()
        card.run(for: .milliseconds(30))
        rig.feeder.performDueWork()
        #expect(rig.result == .flushed(from: .zero))
        rig.enqueue(2, 1..<48_000)
        start()
        run(for: .milliseconds(500))
        #expect(stretches.map(\.sound) == [2])
    }
}

/// A speaker that buffers packets of 352 frames and can discard those due more than a second from now.
private final class PacketSpeaker: PacketOutput, PartialFlushing {
    struct State {
        var samples: [Float] = []
        var origin: MediaTime?
        var result: PartialFlushResult?
        var truncated: PacketBatch?
        var context: AudioOutputContext?
    }
    let name = "packets"
    let kind = AudioRouteKind.bufferedSpeaker
    let latency = OutputLatency(startLead: .milliseconds(50))
    let desiredDepth: Duration = .seconds(60)
    let state = Lock(State())
    /// Maximum number of packets.
    let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        .encoded(FloatCodecs.format(sampleRate: 48000), from: PCMFormat(sampleRate: 48000, layout: .stereo))
    }
    func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        state.withLock { $0.context = context }
    }
    func accept(_ batch: PacketBatch, from offset: Int) -> Int {
        state.withLock { state in
            var taken = 0
            for packet in batch.packets.dropFirst(offset) where state.samples.count < capacity * 352 {
                state.origin = state.origin ?? packet.presentationTime
                state.samples += FloatCodecs.samples(of: packet, in: batch)
                taken += 1
            }
            return taken
        }
    }
    func finish() {}
    var acceptedUntil: MediaTime? {
        state.withLock { state in
            state.origin.map { $0 + MediaTime(value: Int64(state.samples.count), timescale: 48000) }
        }
    }
    func flush() { state.withLock { ($0.samples, $0.origin) = ([], nil) } }
    func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
    func setGain(_ gain: Float) {}
    func close() {}

    let partialFlushLead: Duration = .seconds(1)
    func beginPartialFlush(from time: MediaTime) {
        state.withLock { state in
            guard let origin = state.origin else { return }
            let frame = Int((time - origin).rescaled(to: 48000))
            let start = frame / 352 * 352
            let batch = PacketBatch()
            let packet = state.samples[start..<min(start + 352, state.samples.count)].flatMap { [$0, $0] }
            let kept = origin + MediaTime(value: Int64(start), timescale: 48000)
            packet.withUnsafeBytes {
                batch.append($0, as: .init(presentationTime: kept, duration: MediaTime(value: 352, timescale: 48000)))
            }
            state.samples.removeSubrange(start...)
            (state.result, state.truncated) = (.flushed(from: kept), batch)
        }
    }
    var partialFlushResult: PartialFlushResult? { state.withLock { $0.result } }
    var truncatedPacket: PacketBatch? { state.withLock { $0.truncated } }
}

@Suite struct PartialFlushOnASpeakerTests {
    /// With 1000 packets the output buffers everything; with 300 it is full and the rest is in encoder, converter and
    /// queue.
    @Test(arguments: [300, 1000], [20, 96_000, 105_599, 105_600, 105_601, 105_700, 106_000, 106_900, 150_123])
    func theJointIsExactWhereverTheSoundIs(capacity: Int, from: Int64) throws {
        let output = PacketSpeaker(capacity: capacity)
        let rig = FlushRig { _ in output }
        try checkJoint(rig, [output], from: from) { rig.feeder.performDueWork() }
    }

    /// The members share a conversion until the flush.
    @Test(arguments: [300, 1000], [20, 105_599, 106_000, 150_123])
    func theJointIsExactOnEachMemberOfAGroup(capacity: Int, from: Int64) throws {
        let outputs = [PacketSpeaker(capacity: capacity), PacketSpeaker(capacity: capacity)]
        let members = Lock<[OutputFeed]>([])
        let group = OutputGroup(
            members: outputs, codecs: FloatCodecs(),
            work: .byHand { feeder in members.withLock { $0.append(feeder) } })
        let rig = FlushRig { _ in group }
        try checkJoint(rig, outputs, from: from) {
            for _ in 0..<4 {
                rig.feeder.performDueWork()
                for member in members.withLock({ $0.filter { !$0.isShared } }) { member.runIteration() }
                _ = group.advanceChange()
            }
        }
    }

    private func checkJoint(_ rig: FlushRig, _ outputs: [PacketSpeaker], from: Int64, work: () -> Void) throws {
        rig.enqueue(1, 0..<192_000)
        work()
        rig.flush(from: from)
        work()
        #expect(rig.result == .flushed(from: rig.time(from)))
        rig.enqueue(2, from..<(from + 48_000))
        rig.renderer.finish()
        var expected: [Float] = []
        while expected.count < from + 48_000 {
            let frame = Int64(expected.count)
            expected.append(FloatCodecs.value(frame < from ? 1 : 2, frame))
        }
        // The speaker plays its full buffer.
        var heard = outputs.map { _ in [Float]() }
        for _ in 0..<10 {
            work()
            for (index, output) in outputs.enumerated() {
                output.state.withLock { state in
                    heard[index] += state.samples
                    let count = Int64(state.samples.count)
                    state.origin = state.origin.map { $0 + MediaTime(value: count, timescale: 48000) }
                    state.samples = []
                }
            }
        }
        for heard in heard where heard != expected {
            let first = zip(heard, expected).enumerated().first { $0.element.0 != $0.element.1 }
            Issue.record("\(heard.count) of \(expected.count) frames, wrong from \(first?.offset ?? -1) on")
        }
    }

    @Test func onceTheSoundPlaysLessThanTheOutputsLeadIsRefused() throws {
        let output = PacketSpeaker(capacity: 1000)
        let rig = FlushRig { _ in output }
        rig.enqueue(1, 0..<192_000)
        rig.feeder.performDueWork()
        rig.synchronizer.setRate(1, time: .zero, atHostTime: rig.clock.now)
        rig.clock.advance(by: .seconds(1))
        let before = output.state.withLock { $0.samples }
        rig.flush(from: 95_000)
        rig.feeder.performDueWork()
        #expect(rig.result == .refused(leadNeeded: .seconds(1)))
        #expect(output.state.withLock { $0.samples } == before)
        rig.flush(from: 96_100)
        rig.feeder.performDueWork()
        #expect(rig.result == .flushed(from: rig.time(96_100)))
    }
    @Test func beforeAnAnnouncedStartTheLeadIsCountedToWhereTheTimeIsHeard() throws {
        let output = PacketSpeaker(capacity: 1000)
        let rig = FlushRig { _ in output }
        rig.enqueue(1, 0..<192_000)
        rig.feeder.performDueWork()
        rig.synchronizer.setRate(1, time: .zero, atHostTime: rig.clock.now.advanced(by: .milliseconds(500)))
        rig.flush(from: 23_900)
        rig.feeder.performDueWork()
        #expect(rig.result == .refused(leadNeeded: .seconds(1)))
        rig.flush(from: 24_100)
        rig.feeder.performDueWork()
        #expect(rig.result == .flushed(from: rig.time(24_100)))
    }
}
