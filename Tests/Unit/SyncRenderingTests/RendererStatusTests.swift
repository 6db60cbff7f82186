import CardPlayout
import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// A renderer's status is `failed` while its output has failed, and no longer.
@Suite struct RendererStatusTests {
    private let clock = ManualClock()
    private let synchronizer: RenderSynchronizer
    private let film = SyntheticFilm(duration: MediaTime(value: 60, timescale: 1))

    init() { synchronizer = RenderSynchronizer(clock: clock) }

    private var sound: any SampleSource { film.source(for: film.summary.tracks[1]) }

    private func fill(_ renderer: AudioRenderer, from source: any SampleSource) throws {
        while renderer.isReadyForMoreMediaData, let buffer = try source.read() { renderer.enqueue(buffer) }
    }

    @Test func aRecoveredOutputIsFedFromThePlayhead() throws {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        var feeder = renderer.startWithoutThread { _ in }
        let output = RecordingOutput(capacity: 10_000_000, desiredDepth: .seconds(5))
        let again = Lock<[MediaTime]>([])
        renderer.onAutomaticFlush { moment in again.withLock { $0.append(moment) } }
        synchronizer.addRenderer(renderer)
        // After the first one, attempts to open the output are made when the test makes them.
        let attempts = Lock<(count: Int, held: [@Sendable () -> Void])>((0, []))
        var work = GroupWork.byHand()
        work.pause = { _, _ in }
        work.run = { name, body in
            let isHeld = attempts.withLock { attempts in
                guard name == "group opening" else { return false }
                attempts.count += 1
                if attempts.count > 1 { attempts.held.append(body) }
                return attempts.count > 1
            }
            if !isHeld { body() }
            return nil
        }
        let group = OutputGroup(members: [output], codecs: SyntheticCodecs(), work: work)
        renderer.setOutput(group)
        let source = sound
        try fill(renderer, from: source)
        feeder.performDueWork()
        #expect(renderer.status == .rendering)
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now)
        clock.advance(by: .seconds(2))
        output.state.withLock { $0.failure = OutputError(.lost, "nobody answers any more") }
        feeder.performDueWork()
        #expect(renderer.status == .failed && renderer.progress.hasFailed)
        #expect((renderer.error as? OutputError)?.code == .lost)
        // Film time continues, and audio is enqueued that cannot be audible.
        clock.advance(by: .seconds(3))
        try fill(renderer, from: source)
        feeder.performDueWork()
        #expect(renderer.status == .failed)
        let before = output.state.withLock { $0.starts.count }
        #expect(output.state.withLock { $0.isClosed })
        output.state.withLock { $0.failure = nil }
        for attempt in attempts.withLock({ $0.held }) { attempt() }
        feeder.performDueWork()
        feeder.performDueWork()
        #expect(renderer.status == .rendering && renderer.error == nil && !renderer.progress.hasFailed)
        let first = try #require(output.state.withLock { $0.starts }.dropFirst(before).first)
        #expect(abs(first.seconds - 5) < 0.2)
        #expect(try #require(renderer.progress.acceptedUntil).seconds > 9)
        #expect(again.withLock { $0 } == [MediaTime(value: 5, timescale: 1)])
    }

    /// An application may seek with one call.
    @Test(arguments: [false, true])
    func aJumpWithoutAFlushPastWhatTheOutputHoldsBeginsThere(isGrouped: Bool) throws {
        let stage = try VirtualStage(isGrouped: isGrouped)
        stage.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(3))
        stage.synchronizer.setRate(1, time: second(8))
        let there = stage.sound
        try there.seek(to: second(8), mode: .exact)
        stage.feed(from: there)
        let asked = stage.clock.now
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.pendingStart == nil)
        #expect(stage.synchronizer.currentTime() > second(8))
        stage.run(for: .seconds(1))
        let first = try #require(stage.sounds(from: asked).first { $0.film > 7 }?.film)
        #expect(abs(first - 8) < 0.5)
    }

    /// The application has not noticed the seek: it continues to enqueue audio before the new position.
    @Test(arguments: [false, true])
    func soundFromTheOldPlaceDoesNotKeepAJumpWaiting(isGrouped: Bool) throws {
        let stage = try VirtualStage(isGrouped: isGrouped)
        stage.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .milliseconds(2900))
        let asked = stage.clock.now
        stage.synchronizer.setRate(1, time: second(8))
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.pendingStart == nil)
        #expect(stage.synchronizer.currentTime() > second(8))
        #expect(stage.renderer.progress.lateBuffers > 0)
        #expect(stage.sounds(from: asked).allSatisfy { $0.film < 3.2 || $0.film > 7.9 })
        let again = stage.clock.now
        stage.run(for: .seconds(1))
        #expect(stage.sounds(from: again).count > 100 && stage.worstError(from: again) < 0.01)
    }

    /// All remaining audio is before the new position.
    @Test(arguments: [false, true])
    func aJumpPastTheEndOfTheSoundDoesNotWaitForMore(isGrouped: Bool) throws {
        let stage = try VirtualStage(seconds: 6, isGrouped: isGrouped)
        stage.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .milliseconds(2900))
        stage.synchronizer.setRate(1, time: second(8))
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.pendingStart == nil)
        #expect(stage.synchronizer.currentTime() > second(8))
        #expect(stage.renderer.progress.lateBuffers > 0)
    }

    @Test func aChangedOutputIsReportedToTheApplication() throws {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        var feeder = renderer.startWithoutThread { _ in }
        let again = Lock<[MediaTime]>([])
        renderer.onAutomaticFlush { moment in again.withLock { $0.append(moment) } }
        synchronizer.addRenderer(renderer)
        renderer.setOutput(RecordingOutput(capacity: 10_000_000, desiredDepth: .seconds(5)))
        try fill(renderer, from: sound)
        feeder.performDueWork()
        #expect(again.withLock { $0 }.isEmpty, "the first output takes nothing over")
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now)
        clock.advance(by: .seconds(2))
        renderer.setOutput(RecordingOutput(capacity: 10_000_000, desiredDepth: .seconds(5)))
        feeder.performDueWork()
        #expect(again.withLock { $0 } == [MediaTime(value: 2, timescale: 1)])
    }

    @Test func aFlushBeyondWhatIsEnqueuedSaysWhereTheSoundEnds() throws {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        var feeder = renderer.startWithoutThread { _ in }
        synchronizer.addRenderer(renderer)
        renderer.setOutput(RecordingOutput(capacity: 10_000_000, desiredDepth: .seconds(5)))
        try fill(renderer, from: sound)
        feeder.performDueWork()
        let end = try #require(renderer.progress.enqueuedUntil)
        let result = Lock<PartialFlushResult?>(nil)
        renderer.requestFlush(fromSourceTime: end + second(30)) { answer in result.withLock { $0 = answer } }
        feeder.performDueWork()
        #expect(result.withLock { $0 } == .flushed(from: end))
    }

    /// In a separate process, whose standard error is captured.
    @Test func aRendererWithoutAnOutputSaysSoOnce() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let tests = RendererStatusTests()
            let renderer = AudioRenderer(codecs: SyntheticCodecs())
            tests.synchronizer.addRenderer(renderer)
            renderer.enqueue(try #require(try tests.sound.read()))
            for moment in [second(0), second(1), second(2)] {
                tests.synchronizer.setRate(1, time: moment, atHostTime: tests.clock.now)
            }
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(
            said.split(separator: "\n").filter { $0.hasPrefix("AudioRenderer: there is no output") }.count == 1,
            "\(said)"
        )
    }

    /// In a separate process, whose standard error is captured.
    @Test func droppedSoundIsReportedOnceUnlessAPlayerEnqueuesIt() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            for reportsDrop in [false, true] {
                let tests = RendererStatusTests()
                let renderer = AudioRenderer(codecs: SyntheticCodecs())
                tests.synchronizer.addRenderer(renderer)
                tests.synchronizer.setRate(0, time: second(20))
                let source = tests.sound
                for _ in 0..<2 { renderer.enqueue(try #require(try source.read()), reportsDrop: reportsDrop) }
                #expect(renderer.progress.lateBuffers == 2)
            }
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        let count = said.split(separator: "\n").filter { $0.hasPrefix("AudioRenderer: audio before") }.count
        #expect(count == 1, "\(said)")
    }

    /// In a separate process, whose standard error is captured.
    @Test func aRefusedRendererAndAnUnsupportedRateAreReported() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let tests = RendererStatusTests()
            let renderer = AudioRenderer(codecs: SyntheticCodecs())
            tests.synchronizer.addRenderer(renderer)
            RenderSynchronizer(clock: ManualClock()).addRenderer(renderer)
            for rate in [-1, 16, 16, 0] as [Float] { tests.synchronizer.setRate(rate, time: .zero) }
        }
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
        let reported = lines.filter { $0.hasPrefix("RenderSynchronizer: ") }
        #expect(reported.count == 2, "\(lines)")
        #expect(reported.first?.contains("this renderer has a synchronizer; remove it there first") == true)
        #expect(reported.last == "RenderSynchronizer: the rate -1.0 is not supported; 0.0 is used")
    }

    /// In a separate process, whose standard error is captured.
    @Test func aStartThatWaitsForAnUnfedLayerIsReportedOnceUnlessThereIsALog() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let clock = ManualClock()
            for events in [nil, EventLog(clock: clock, minimumCapacity: 16)] {
                let synchronizer = RenderSynchronizer(clock: clock, events: events)
                synchronizer.addRenderer(DisplayLayer(depth: 4))
                synchronizer.setRate(1)
                for _ in 0..<20 {
                    clock.advance(by: .seconds(1))
                    synchronizer.serviceTimeline()
                }
                #expect(synchronizer.pendingStart?.waits.map(\.cause) == [.video])
                synchronizer.setRate(0)
            }
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        let lines = said.split(separator: "\n").filter { $0.hasPrefix("RenderSynchronizer: ") }
        #expect(
            lines == [
                "RenderSynchronizer: the start has been waiting for the picture for 5 s; enqueue media, remove the "
                    + "renderer, or set delaysRateChangeUntilHasSufficientMediaData to false"
            ])
    }

    /// In a separate process, whose standard error is captured.
    @Test func aSynchronizerThatIsReleasedWhileItsRenderersPlaySaysSo() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let layers = [DisplayLayer(depth: 4), DisplayLayer(depth: 4)]
            for (layer, rate) in zip(layers, [0, 1] as [Float]) {
                let synchronizer = RenderSynchronizer(clock: ManualClock())
                synchronizer.addRenderer(layer)
                synchronizer.setRate(rate)
            }
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        let lines = said.split(separator: "\n").filter { $0.hasPrefix("RenderSynchronizer: ") }
        #expect(lines.count == 1 && lines[0].contains("keep a reference"), "\(said)")
    }

    /// In a separate process, which ends.
    @Test func anOutputThatRetainsALentBlockEndsADebugBuild() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            final class Hoarder: AudioOutput {
                let name = "hoarder"
                let kind = AudioRouteKind.virtual
                let latency = OutputLatency(startLead: .zero)
                let desiredDepth = Duration.seconds(5)
                let blocks = Lock<[PCMBlock]>([])
                var acceptedUntil: MediaTime? { blocks.withLock { $0.last?.end } }
                func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
                    .pcm(PCMFormat(sampleRate: 48_000, layout: .stereo))
                }
                func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) {}
                func accept(_ block: PCMBlock, from offset: Int) -> Int {
                    blocks.withLock { $0.append(block) }
                    return block.frames - offset
                }
                func finish() {}
                func flush() {}
                func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
                func setGain(_ gain: Float) {}
                func close() {}
            }
            let tests = RendererStatusTests()
            let renderer = AudioRenderer(codecs: SyntheticCodecs())
            var feeder = renderer.startWithoutThread { _ in }
            tests.synchronizer.addRenderer(renderer)
            renderer.setOutput(Hoarder())
            try tests.fill(renderer, from: tests.sound)
            feeder.performDueWork()
        }
        let message = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(message.contains("an output retained a lent block"), "\(message)")
    }

    @Test func soundThatIsEnqueuedTooLateIsCounted() throws {
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        var feeder = renderer.startWithoutThread { _ in }
        synchronizer.addRenderer(renderer)
        renderer.setOutput(RecordingOutput(capacity: 10_000_000, desiredDepth: .seconds(5)))
        synchronizer.setRate(1, time: second(20), atHostTime: clock.now)
        let source = sound
        let (early, late) = (try #require(try source.read()), try #require(try source.read()))
        renderer.enqueue(early)
        renderer.enqueue(late)
        feeder.performDueWork()
        #expect(renderer.progress.lateBuffers == 2)
        renderer.flush()
        renderer.enqueue(late.moved(to: second(21)))
        #expect(renderer.progress.lateBuffers == 0)
    }

    @Test(arguments: [false, true]) func soundThatCannotBeDecodedIsInTheProgressUntilAFlush(isGrouped: Bool) throws {
        let stage = try VirtualStage(codecs: SpoiledCodecs(), isGrouped: isGrouped)
        stage.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(1))
        #expect(stage.renderer.progress.undecodable == nil)
        stage.run(for: .seconds(4))
        let lost = try #require(stage.renderer.progress.undecodable)
        // A buffer of 64 packets starts in the damaged second.
        #expect(lost.duration == MediaTime(value: 65_536, timescale: 48_000), "\(lost)")
        #expect(lost.start >= second(2) && lost.start < second(3), "\(lost)")
        // The player resets its own count; the application's is unchanged.
        #expect(stage.renderer.consumeUndecodableAudio() == [lost] && stage.renderer.consumeUndecodableAudio() == [])
        #expect(stage.renderer.progress.undecodable == lost)
        stage.renderer.flush()
        stage.runUntilIdle()
        #expect(stage.renderer.progress.undecodable == nil)
    }

    @Test func anOutputThatIsLostAndTriesToComeBackIsAFailure() throws {
        let stage = try VirtualStage(isGrouped: true)
        stage.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(2))
        #expect(stage.renderer.status == .rendering)
        nonisolated(unsafe) let device = stage.device
        let isBack = Lock(false)
        stage.card.supply = DeviceFailover.Supply { _ in isBack.withLock { $0 } ? device : nil }
        device.isGone = true
        stage.run(for: .seconds(1))
        #expect(stage.renderer.status == .failed)
        #expect((stage.renderer.error as? OutputError)?.code == .lost)
        device.isGone = false
        isBack.withLock { $0 = true }
        stage.run(for: .seconds(6))
        #expect(stage.renderer.status == .rendering && stage.renderer.error == nil)
    }

    @Test func aLastingFailureIsReportedOnceAndAgainAfterAFlush() throws {
        let failureCount = Lock(0)
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        var feeder = renderer.startWithoutThread { event in
            if case .outputFailed = event { failureCount.withLock { $0 += 1 } }
        }
        let output = RecordingOutput()
        synchronizer.addRenderer(renderer)
        renderer.setOutput(output)
        let source = sound
        try fill(renderer, from: source)
        feeder.performDueWork()
        output.state.withLock { $0.failure = OutputError(.lost, "gone") }
        feeder.performDueWork()
        feeder.performDueWork()
        #expect(failureCount.withLock { $0 } == 1)
        renderer.flush()
        feeder.performDueWork()
        #expect(failureCount.withLock { $0 } == 2)
        #expect(renderer.status == .failed)
    }

    @Test func anotherMemberOfAGroupTakesTheLostOnesPlace() throws {
        let feeders = Lock<[OutputFeed]>([])
        let work = GroupWork.byHand { feeder in feeders.withLock { $0.append(feeder) } }
        let (lost, other) = (RecordingOutput(name: "lost"), RecordingOutput(name: "other"))
        let group = OutputGroup(members: [lost], codecs: SyntheticCodecs(), work: work)
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        var feeder = renderer.startWithoutThread { _ in }
        synchronizer.addRenderer(renderer)
        renderer.setOutput(group)
        try fill(renderer, from: sound)
        func runIteration() {
            for _ in 0..<10 {
                feeder.performDueWork()
                for member in feeders.withLock({ $0 }) { member.runIteration() }
            }
        }
        runIteration()
        #expect(lost.state.withLock { !$0.samples.isEmpty })
        // A device in use by another program is not retried.
        lost.state.withLock { $0.failure = OutputError(.busy, "somebody else plays there") }
        runIteration()
        #expect(renderer.status == .failed)
        let outcome = Lock<RouteChange?>(nil)
        group.change(to: [other]) { result in outcome.withLock { $0 = result } }
        for _ in 0..<20 where outcome.withLock({ $0 == nil }) {
            _ = group.advanceChange()
            runIteration()
        }
        runIteration()
        #expect(renderer.status == .rendering && renderer.error == nil)
        #expect(other.state.withLock { $0.samples.count } > 40_000)
    }

    @Test func aFormatThatCanBeDecodedEndsTheFailureOfOneThatCannot() throws {
        struct PickyCodecs: AudioCodecs {
            func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
                -> any PCMConverter
            {
                if format.parameters.codec == "odd" { throw MediaError(.unsupported, "nobody can decode this") }
                return try FloatCodecs().converter(from: format, to: output, speed: speed)
            }
            func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder {
                try FloatCodecs().encoder(from: input, to: format)
            }
        }
        let renderer = AudioRenderer(codecs: PickyCodecs())
        let events = Lock<[AudioRenderer.Event]>([])
        var feeder = renderer.startWithoutThread { event in events.withLock { $0.append(event) } }
        let output = RecordingOutput(capacity: 1_000_000)
        synchronizer.addRenderer(renderer)
        renderer.setOutput(output)
        let odd = FloatCodecs.format(sampleRate: 48_000, name: "odd")
        renderer.enqueue(FloatCodecs.buffer(1, frames: 0..<4800, format: odd))
        feeder.performDueWork()
        #expect(renderer.status == .failed)
        #expect((renderer.error as? MediaError)?.code == .unsupported)
        // The outputs are in order.
        #expect(events.withLock { $0.contains { if case .cannotDecode = $0 { true } else { false } } })
        #expect(!events.withLock { $0.contains { if case .outputFailed = $0 { true } else { false } } })
        renderer.enqueue(
            FloatCodecs.buffer(2, frames: 4800..<9600, format: FloatCodecs.format(sampleRate: 48_000)))
        feeder.performDueWork()
        #expect(output.state.withLock { $0.samples.count } == 4800)
        #expect(renderer.status == .rendering && renderer.error == nil && !renderer.progress.hasFailed)
    }
}

/// Synthetic codecs with which all packets of the third second are damaged.
private struct SpoiledCodecs: AudioCodecs {
    private let inner = SyntheticCodecs()

    func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError) -> any PCMConverter
    {
        SpoiledConverter(try inner.converter(from: format, to: output, speed: speed))
    }

    func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder {
        try inner.encoder(from: input, to: format)
    }
}

private final class SpoiledConverter: PCMConverter {
    private let inner: any PCMConverter
    private(set) var decodeErrorCount = 0
    private var lost: UndecodableAudio?

    init(_ inner: any PCMConverter) { self.inner = inner }

    func send(_ buffer: SampleBuffer) throws(MediaError) {
        guard let start = buffer.presentationTime, second(2) <= start, start < second(3) else {
            return try inner.send(buffer)
        }
        decodeErrorCount += 1
        let own = UndecodableAudio(start: start, duration: buffer.duration)
        lost = lost?.adding(own) ?? own
    }

    func finish() { inner.finish() }
    func receive(into block: PCMBlock) throws(MediaError) -> Bool { try inner.receive(into: block) }
    func reset() { inner.reset() }
    func consumeUndecodableAudio() -> UndecodableAudio? { lost.take() }
}
