import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

private let rate: Int32 = 48_000
private func frames(_ count: Int64) -> MediaTime { MediaTime(value: count, timescale: rate) }
private let stereo = PCMFormat(sampleRate: Int(rate), layout: .stereo)
/// A format that `PacketTape` does not pass through.
private let lossless = FloatCodecs.format(sampleRate: Int(rate))
/// Frames of a buffer.
private let length: Int64 = 4800

/// `FloatCodecs` that count their use.
private final class CountedCodecs: AudioCodecs {
    struct Counts: Equatable {
        /// The number of converters and encoders that were created.
        var converters = 0
        var encoders = 0
        /// The number of buffers that were decoded.
        var buffers = 0
    }

    private let counts = Lock(Counts())
    /// The number of the buffer that cannot be decoded; nil: all can.
    private let failsAt: Int?

    init(failsAt: Int? = nil) { self.failsAt = failsAt }

    var used: Counts { counts.withLock { $0 } }

    func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
        -> any PCMConverter
    {
        counts.withLock { $0.converters += 1 }
        return Converter(try FloatCodecs().converter(from: format, to: output, speed: speed), counts, failsAt)
    }

    func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder {
        counts.withLock { $0.encoders += 1 }
        return try FloatCodecs().encoder(from: input, to: format)
    }

    private final class Converter: PCMConverter {
        private let inner: any PCMConverter
        private let counts: Lock<Counts>
        private let failsAt: Int?

        init(_ inner: any PCMConverter, _ counts: Lock<Counts>, _ failsAt: Int?) {
            (self.inner, self.counts, self.failsAt) = (inner, counts, failsAt)
        }

        var decodeErrorCount: Int { inner.decodeErrorCount }
        func send(_ buffer: SampleBuffer) throws(MediaError) {
            let count = counts.withLock { counts -> Int in
                counts.buffers += 1
                return counts.buffers
            }
            guard count != failsAt else { throw MediaError(.unsupported, "this buffer cannot be decoded") }
            try inner.send(buffer)
        }
        func receive(into block: PCMBlock) throws(MediaError) -> Bool { try inner.receive(into: block) }
        func finish() { inner.finish() }
        func reset() { inner.reset() }
    }
}

/// Groups on a manually advanced clock: how often audio is decoded and encoded for their members, and that each member
/// receives every sample once, at its time.
@Suite struct SharedConversionTests {
    private final class SharedConversionFixture {
        let clock = ManualClock()
        let codecs = CountedCodecs()
        let synchronizer: RenderSynchronizer
        let group: OutputGroup
        private let renderer: AudioRenderer
        private var feeder: AudioFeeder
        private let standing = Lock<[OutputFeed]>([])
        private var next: Int64 = 0

        init(_ members: any AudioOutput..., limits: SharedConversion.Limits = SharedConversion.Limits()) {
            synchronizer = RenderSynchronizer(clock: clock)
            renderer = AudioRenderer(codecs: codecs, events: EventLog(clock: clock))
            synchronizer.addRenderer(renderer)
            group = OutputGroup(
                members: members, codecs: codecs,
                work: .byHand { [standing] feeder in standing.withLock { $0.append(feeder) } })
            _ = group.scope.shared { SharedConversions(limits) }
            feeder = renderer.startWithoutThread { _ in }
            renderer.setOutput(group)
        }

        /// The feeders of the second and later members, which would have threads, in order of joining.
        private var feeders: [OutputFeed] { standing.withLock { $0.filter { !$0.isShared } } }

        /// Enqueues contiguous buffers.
        func enqueue(_ count: Int, format: AudioFormat = lossless) {
            for _ in 0..<count {
                renderer.enqueue(FloatCodecs.buffer(1, frames: next..<next + length, format: format))
                next += length
            }
        }

        func finish() { renderer.finish() }

        /// Discards all audio; the next buffer starts at a frame.
        func seek(to frame: Int64) {
            renderer.flush()
            next = frame
        }

        /// Runs the renderer's feeder with the first member's, and then those of the others, of one only if `index` is
        /// stated.
        func runUntilIdle(only index: Int? = nil) {
            for _ in 0..<4 {
                feeder.performDueWork()
                for (number, feeder) in feeders.enumerated() where index == nil || index == number + 1 {
                    feeder.runIteration()
                }
                _ = group.advanceChange()
            }
        }
    }

    /// Returns true if an output has each frame of a range at its place and nothing else.
    private func isExact(_ output: PacketTape, _ range: Range<Int64>) -> Bool {
        guard output.slots.first?.frames.lowerBound == range.lowerBound,
            output.slots.last?.frames.upperBound == range.upperBound, output.maxError == 0, output.longestHole == 0
        else { return false }
        return zip(output.audio(in: range), range).allSatisfy { $0?.frame == $1 }
    }

    @Test func alikeSpeakersShareOneDecoderAndOneEncoder() {
        let (first, second, third) = (PacketTape(), PacketTape(), PacketTape())
        let rig = SharedConversionFixture(first, second, third)
        rig.enqueue(5)
        rig.runUntilIdle()
        rig.enqueue(6)
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used == .init(converters: 1, encoders: 1, buffers: 11))
        for output in [first, second, third] { #expect(isExact(output, 0..<11 * length) && output.isFinished) }
    }

    @Test func audioAfterTheEndContinuesTheSharedConversion() {
        let (first, second) = (PacketTape(), PacketTape())
        let rig = SharedConversionFixture(first, second)
        rig.enqueue(1)
        rig.finish()
        rig.runUntilIdle()
        rig.enqueue(3)
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used == .init(converters: 1, encoders: 1, buffers: 4))
        for output in [first, second] { #expect(isExact(output, 0..<4 * length)) }
    }

    @Test func aCardBesideASpeakerHasADecoderOfItsOwnAndNoEncoder() {
        let (card, speaker) = (TapeOutput(), PacketTape())
        let rig = SharedConversionFixture(card, speaker)
        rig.enqueue(4)
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used == .init(converters: 2, encoders: 1, buffers: 8))
        #expect(isExact(speaker, 0..<4 * length))
        #expect(card.tape.count == Int(4 * length))
    }

    @Test func packetsThatPassThroughAreNeitherDecodedNorEncoded() {
        let rig = SharedConversionFixture(PacketTape(codec: "pcm_f32le"), PacketTape(codec: "pcm_f32le"))
        rig.enqueue(4)
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used == .init())
    }

    @Test func anOnlyMemberConvertsItsAudioItself() {
        let output = PacketTape()
        let rig = SharedConversionFixture(output)
        rig.enqueue(4)
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used == .init(converters: 1, encoders: 1, buffers: 4))
        #expect(isExact(output, 0..<4 * length))
    }

    @Test func aMemberWithAnotherGainIsConvertedSeparately() {
        let (first, second, loud) = (PacketTape(), PacketTape(), PacketTape())
        let rig = SharedConversionFixture(first, second, loud)
        rig.group.setVolume(100)
        rig.group.setVolume(130, of: loud)
        rig.enqueue(4)
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used == .init(converters: 2, encoders: 2, buffers: 8))
        for output in [first, second] { #expect(isExact(output, 0..<4 * length)) }
        #expect(loud.slots.last?.frames.upperBound == 4 * length && loud.longestHole == 0)
    }

    @Test func membersShareTheConversionOfTheSamePart() {
        let outputs = (0..<5).map { _ in PacketTape() }
        let rig = SharedConversionFixture(outputs[0], outputs[1], outputs[2], outputs[3], outputs[4])
        for (output, part) in zip(outputs, [ChannelSelection.left, .right, .left, .right, .whole]) {
            rig.group.setChannels(part, of: output)
        }
        rig.enqueue(4)
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used == .init(converters: 3, encoders: 3, buffers: 12))
        for output in outputs { #expect(isExact(output, 0..<4 * length)) }
    }

    @Test func aPartIsNeverPassedThroughAndTheWholeBesideItIs() {
        let (part, whole) = (PacketTape(), PacketTape())
        let rig = SharedConversionFixture(part, whole)
        rig.group.setChannels(.left, of: part)
        rig.enqueue(4, format: PacketTape.format())
        rig.runUntilIdle()
        #expect(rig.codecs.used.converters == 1 && rig.codecs.used.encoders == 1)
        #expect(part.slots.allSatisfy { !$0.isUntouched } && whole.slots.allSatisfy(\.isUntouched))
        #expect(!part.slots.isEmpty && !whole.slots.isEmpty)
        // A change during playback: the first one is passed through now, and the other one is not.
        rig.group.setChannels(.whole, of: part)
        rig.group.setChannels(.position(.frontCenter), of: whole)
        rig.runUntilIdle()
        rig.enqueue(4, format: PacketTape.format())
        rig.runUntilIdle()
        #expect(rig.group.channels(of: part) == .whole && rig.group.channels(of: whole) == .position(.frontCenter))
        #expect(part.slots.allSatisfy(\.isUntouched) && whole.slots.allSatisfy { !$0.isUntouched })
        #expect(!part.slots.isEmpty && whole.slots.first?.frames.lowerBound == 0)
        #expect(whole.longestHole == 0 && whole.maxError == 0)
    }

    /// A member that accepts no audio delays none of the others and later receives what they received.
    @Test func aMemberThatFallsBehindReadsWhatIsStored() {
        let (quick, stuck) = (PacketTape(), PacketTape())
        let rig = SharedConversionFixture(quick, stuck)
        rig.enqueue(4)
        rig.runUntilIdle(only: 0)
        rig.enqueue(4)
        rig.runUntilIdle(only: 0)
        #expect(quick.slots.last.map { $0.frames.upperBound > 7 * length } == true)
        #expect(stuck.slots.isEmpty)
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used == .init(converters: 1, encoders: 1, buffers: 8))
        for output in [quick, stuck] { #expect(isExact(output, 0..<8 * length)) }
    }

    @Test func aMemberThatIsTooFarBehindConvertsItsAudioItselfWithoutALoss() {
        let (quick, slow) = (PacketTape(), PacketTape())
        let rig = SharedConversionFixture(quick, slow, limits: .init(unread: 1 << 20, read: 1 << 19))
        rig.enqueue(2)
        rig.runUntilIdle()
        #expect(rig.codecs.used.converters == 1)
        rig.enqueue(20)
        rig.runUntilIdle(only: 0)
        rig.finish()
        rig.runUntilIdle()
        let used = rig.codecs.used
        #expect(used.converters == 2 && used.encoders == 2)
        for output in [quick, slow] { #expect(isExact(output, 0..<22 * length)) }
        rig.seek(to: 0)
        rig.enqueue(3)
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used.encoders == 3, "after a full flush they share again")
        for output in [quick, slow] { #expect(isExact(output, 0..<3 * length)) }
    }

    @Test func aMemberThatRefusesAFlushConvertsItsAudioItselfWithoutALoss() {
        let (first, second) = (PacketTape(), PacketTape())
        let rig = SharedConversionFixture(first, second)
        rig.enqueue(4)
        rig.runUntilIdle()
        // This output cannot flush partially.
        let result = Lock<PartialFlushResult?>(nil)
        rig.group.feeds[0].requestFlush(fromSourceTime: frames(100)) { item in result.withLock { $0 = item } }
        rig.runUntilIdle()
        #expect(result.withLock { $0 } == .refused(leadNeeded: nil))
        rig.enqueue(4)
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used.encoders == 2)
        for output in [first, second] { #expect(isExact(output, 0..<8 * length)) }
    }

    @Test func aChangeOfProcessingOfOneMemberKeepsTheTimesOfAll() {
        let (first, second) = (PacketTape(desiredDepth: .seconds(1)), PacketTape(desiredDepth: .seconds(1)))
        let rig = SharedConversionFixture(first, second)
        rig.group.setVolume(100)
        rig.enqueue(10)
        rig.runUntilIdle()
        rig.group.setVolume(130, of: second)
        rig.runUntilIdle()
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used.encoders == 2)
        #expect(isExact(first, 0..<10 * length))
        #expect(second.slots.last?.frames.upperBound == 10 * length)
        #expect(second.maxError == 0 && second.longestHole == 0)
    }

    @Test func aJoiningMemberHasTheSamplesOfTheOthersAtTheSameTimes() {
        let (first, second, third) = (PacketTape(), PacketTape(), PacketTape())
        let rig = SharedConversionFixture(first, second)
        rig.enqueue(10)
        rig.runUntilIdle()
        let outcome = Lock<RouteChange?>(nil)
        rig.group.change(to: [first, second, third]) { item in outcome.withLock { $0 = item } }
        rig.runUntilIdle()
        rig.runUntilIdle()
        rig.finish()
        rig.runUntilIdle()
        guard case .changed(let moment?, _)? = outcome.withLock({ $0 }) else {
            Issue.record("the outputs did not change")
            return
        }
        for output in [first, second] { #expect(isExact(output, 0..<10 * length)) }
        #expect(isExact(third, moment.rescaled(to: rate)..<10 * length))
        #expect(rig.codecs.used.encoders == 1, "it begins where the others began")
        rig.seek(to: 0)
        rig.enqueue(3)
        rig.finish()
        rig.runUntilIdle()
        #expect(rig.codecs.used.encoders == 2, "after a full flush all share")
        for output in [first, second, third] { #expect(isExact(output, 0..<3 * length)) }
    }
}

/// The stored steps of a conversion.
@Suite struct SharedConversionRingTests {
    private let key = SharedConversion.Key(
        format: lossless, target: lossless, pcm: stereo, speed: 1, processing: .none)
    private let conversions = SharedConversions(.init(unread: 1 << 20, read: 1 << 17))

    private func buffer(_ index: Int64) -> SampleBuffer {
        FloatCodecs.buffer(1, frames: index * length..<(index + 1) * length, format: lossless)
    }

    private func cursor(after buffer: SampleBuffer) throws -> SharedConversion.Cursor {
        try #require(try conversions.cursor(key, after: buffer, codecs: FloatCodecs()))
    }

    /// Reads all packets of the last input; returns their times, or nil if a step was evicted.
    private func read(_ cursor: SharedConversion.Cursor) -> [MediaTime]? {
        var times: [MediaTime] = []
        while true {
            switch cursor.next() {
            case .step(let step): times += step.packets?.packets.compactMap(\.presentationTime) ?? []
            case .inputNeeded: return times
            case .evicted: return nil
            }
        }
    }

    @Test func memoryIsBoundedWhenAnOutputDoesNotRead() throws {
        let first = buffer(0)
        let (quick, stuck) = (try cursor(after: first), try cursor(after: first))
        #expect(quick.conversion === stuck.conversion)
        #expect(read(quick)?.isEmpty == false)
        for index in 1..<40 {
            #expect(quick.send(.audio(buffer(Int64(index)))))
            #expect(read(quick)?.isEmpty == false)
            #expect(quick.conversion.byteCount <= 1 << 20 + 1 << 17)
        }
        #expect(read(stuck) == nil)
        #expect(!stuck.send(.audio(buffer(1))))
        #expect(quick.send(.audio(buffer(40))))
        _ = read(quick)
        #expect(quick.conversion.byteCount < 1 << 18, "who has left retains nothing")
    }

    @Test func outputsInStepRetainLittleAndReceiveTheSame() throws {
        let first = buffer(0)
        let (one, other) = (try cursor(after: first), try cursor(after: first))
        #expect(read(one) == read(other))
        for index in 1..<20 {
            let next = buffer(Int64(index))
            #expect(one.send(.audio(next)) && other.send(.audio(next)))
            #expect(read(other) == read(one))
        }
        #expect(one.end == other.end)
        #expect(one.conversion.byteCount < 1 << 18)
    }

    @Test func aDifferentInputIsRefused() throws {
        let first = buffer(0)
        let (one, other) = (try cursor(after: first), try cursor(after: first))
        _ = (read(one), read(other))
        var next = buffer(1)
        #expect(one.send(.audio(next)))
        next.flags.insert(.discontinuity)
        #expect(!other.send(.audio(next)))
        #expect(!other.send(.end))
    }

    @Test func aMemberWithAnotherBufferOrALateStartGetsASeparateConversion() throws {
        let first = buffer(0)
        let one = try cursor(after: first)
        #expect(try cursor(after: buffer(0)).conversion !== one.conversion, "equal content, other memory")
        _ = read(one)
        for index in 1..<20 {
            #expect(one.send(.audio(buffer(Int64(index)))))
            _ = read(one)
        }
        #expect(try cursor(after: first).conversion !== one.conversion)
    }

    @Test func twoThreadsReceiveTheSamePackets() throws {
        let buffers = (0..<100).map {
            FloatCodecs.buffer(1, frames: $0 * 480..<($0 + 1) * 480, format: lossless)
        }
        let conversions = SharedConversions()
        let codecs = CountedCodecs()
        let results = Lock<[[MediaTime]]>([])
        let cursors = try (0..<2).map { _ in
            Held(try #require(try conversions.cursor(key, after: buffers[0], codecs: codecs)))
        }
        let threads = try cursors.map { held in
            try WorkerThread.start(name: "reader") {
                var times = self.read(held.cursor) ?? []
                for buffer in buffers.dropFirst() where held.cursor.send(.audio(buffer)) {
                    times += self.read(held.cursor) ?? []
                }
                results.withLock { $0.append(times) }
            }
        }
        for thread in threads { thread.join() }
        let (one, other) = results.withLock { ($0[0], $0[1]) }
        #expect(one == other && one.count == 48_000 / FloatCodecs.framesPerPacket)
        #expect(codecs.used == .init(converters: 1, encoders: 1, buffers: 100))
    }

    /// A cursor for one thread.
    private struct Held: @unchecked Sendable {
        let cursor: SharedConversion.Cursor
        init(_ cursor: SharedConversion.Cursor) { self.cursor = cursor }
    }

    @Test func everyOutputReceivesTheErrorAfterThePacketsBeforeIt() throws {
        let codecs = CountedCodecs(failsAt: 3)
        let (first, second, third) = (buffer(0), buffer(1), buffer(2))
        let cursors = try (0..<2).map { _ in try #require(try conversions.cursor(key, after: first, codecs: codecs)) }
        for cursor in cursors {
            #expect(read(cursor)?.count == 13)
            #expect(cursor.send(.audio(second)))
            #expect(read(cursor)?.isEmpty == false)
            #expect(cursor.send(.audio(third)))
            guard case .step(let step) = cursor.next() else {
                Issue.record("there is no error")
                return
            }
            #expect(step.error != nil && step.packets == nil)
        }
        #expect(codecs.used == .init(converters: 1, encoders: 1, buffers: 3))
    }

    @Test func unreadOutputIsReleased() throws {
        weak var conversion: SharedConversion?
        do {
            let cursor = try cursor(after: buffer(0))
            conversion = cursor.conversion
            _ = read(cursor)
        }
        #expect(conversion == nil)
    }
}
