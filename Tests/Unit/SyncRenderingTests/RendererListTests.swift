import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Adding and removing renderers, and starts that wait for them, in virtual time.
@Suite struct RendererListTests {
    let clock = ManualClock()

    @Test func aSynchronizerPlaysOneLongSoundAndAnyNumberOfShortOnes() throws {
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.addRenderer(AudioRenderer(codecs: SyntheticCodecs(), contentKind: .film))
        for kind in ContentKind.allCases where kind.isLongForm {
            let second = AudioRenderer(codecs: SyntheticCodecs(), contentKind: kind)
            #expect(synchronizer.addRenderer(second)?.code == .secondLongFormAudio)
            // A rejected renderer can be added to another synchronizer.
            #expect(RenderSynchronizer(clock: clock).addRenderer(second)?.code == nil)
        }
        synchronizer.addRenderer(AudioRenderer(codecs: SyntheticCodecs(), contentKind: .interfaceSound))
        synchronizer.addRenderer(AudioRenderer(codecs: SyntheticCodecs(), contentKind: .interfaceSound))
        synchronizer.addRenderer(DisplayLayer(depth: 8))
        #expect(synchronizer.renderers.count == 4)
    }

    @Test func testSignalsPlayBesideEachOtherAndOnSpeakers() {
        let synchronizer = RenderSynchronizer(clock: clock)
        for _ in 0..<3 {
            #expect(
                synchronizer.addRenderer(AudioRenderer(codecs: SyntheticCodecs(), contentKind: .testSignal)) == nil)
        }
        #expect(synchronizer.addRenderer(AudioRenderer(codecs: SyntheticCodecs())) == nil, "also beside a film")
        for route in [AudioRouteKind.soundCard, .bufferedSpeaker, .realtimeSpeaker, .group] {
            #expect(ContentKind.testSignal.mayTake(route))
        }
    }

    @Test func renderersOutliveTheirSynchronizerAndPlayOnAnother() async {
        var synchronizer: RenderSynchronizer? = RenderSynchronizer(clock: clock)
        let (sound, picture) = (AudioRenderer(codecs: SyntheticCodecs()), DisplayLayer(depth: 8))
        synchronizer?.addRenderer(sound)
        synchronizer?.addRenderer(picture)
        let removed = Lock<Bool?>(nil)
        synchronizer?.removeRenderer(picture, at: second(60)) { isRemoved in removed.withLock { $0 = isRemoved } }
        synchronizer = nil
        #expect(removed.withLock { $0 } == true)
        let other = RenderSynchronizer(clock: clock)
        #expect(other.addRenderer(sound) == nil && other.addRenderer(picture) == nil)
        sound.invalidate()
    }

    /// An application's own kind of renderer.
    private final class Lights: QueuedSampleBufferRendering {
        let isLit = Lock(false)
        var isReadyForMoreMediaData: Bool { true }
        var hasSufficientMediaDataForReliablePlaybackStart: Bool { isLit.withLock { $0 } }
        var startLead: Duration { .zero }
        var stopLead: Duration { .zero }
        func enqueue(_ buffer: SampleBuffer) {}
        func flush() {}
        func requestMediaDataWhenReady(on queue: any MediaRequestQueue, using body: sending @escaping () -> Void) {}
        func stopRequestingMediaData() {}
        func join(_ synchronizer: RenderSynchronizer) throws(RenderError) {}
        func detach(completion: @escaping @Sendable () -> Void) { completion() }
        func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
    }

    @Test func aStartThatWaitsForAnApplicationsOwnRendererBeginsWhenThatSaysSo() {
        let (synchronizer, lights) = (RenderSynchronizer(clock: clock), Lights())
        synchronizer.addRenderer(lights)
        synchronizer.setRate(1, time: .zero)
        #expect(synchronizer.timebase.snapshot.upcoming.rate == 0)
        lights.isLit.withLock { $0 = true }
        synchronizer.reconsiderStart()
        #expect(synchronizer.timebase.snapshot.upcoming.rate == 1)
    }

    @Test func anInvalidatedRendererIsDetached() {
        let synchronizer = RenderSynchronizer(clock: clock)
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        synchronizer.addRenderer(renderer)
        renderer.invalidate()
        #expect(synchronizer.renderers.isEmpty)
    }

    @Test func aRendererHasOneSynchronizer() throws {
        let (one, other) = (RenderSynchronizer(clock: clock), RenderSynchronizer(clock: clock))
        let (sound, picture) = (AudioRenderer(codecs: SyntheticCodecs()), DisplayLayer(depth: 8))
        one.addRenderer(sound)
        one.addRenderer(picture)
        #expect(one.addRenderer(sound)?.code == .alreadyAdded)
        #expect(other.addRenderer(sound)?.code == .alreadyAdded)
        #expect(other.addRenderer(picture)?.code == .alreadyAdded)
        #expect(other.renderers.isEmpty)
        let ended = AudioRenderer(codecs: SyntheticCodecs())
        ended.invalidate()
        #expect(other.addRenderer(ended)?.code == .invalidated)
    }

    @Test func aRendererThatWasRefusedSaysSoItself() {
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.addRenderer(AudioRenderer(codecs: SyntheticCodecs()))
        let second = AudioRenderer(codecs: SyntheticCodecs())
        #expect(second.status == .unknown)
        synchronizer.addRenderer(second)
        #expect(second.status == .failed)
        #expect((second.error as? RenderError)?.code == .secondLongFormAudio)
    }

    @Test func interfaceSoundsNeverGoToASpeaker() throws {
        final class Speaker: AudioOutput, Sendable {
            let name = "Kitchen"
            let kind: AudioRouteKind
            init(_ kind: AudioRouteKind) { self.kind = kind }
            let latency = OutputLatency(startLead: .zero)
            let desiredDepth = Duration.seconds(60)
            func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery { .passThrough(format) }
            func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) {
                Issue.record("opened for an interface's sound")
            }
            func finish() {}
            var acceptedUntil: MediaTime? { nil }
            func flush() {}
            func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
            func setGain(_ gain: Float) {}
            func close() {}
        }
        let synchronizer = RenderSynchronizer(clock: clock)
        let renderer = AudioRenderer(codecs: SyntheticCodecs(), contentKind: .interfaceSound)
        synchronizer.addRenderer(renderer)
        let said = Lock<[String]>([])
        var feeder = renderer.startWithoutThread { event in
            if case .outputFailed(let error) = event { said.withLock { $0.append(error.message) } }
        }
        let card = RecordingOutput()
        renderer.setOutput(card)
        for kind in [AudioRouteKind.bufferedSpeaker, .realtimeSpeaker, .group] {
            renderer.setOutput(Speaker(kind))
            feeder.performDueWork()
        }
        #expect(said.withLock { $0.count } == 3)
        #expect(said.withLock { $0.allSatisfy { $0.contains("are played on this computer only") } })
        #expect(renderer.routeName == "recording")
    }

    // MARK: Removal

    @Test func aRendererIsRemovedWhenTheFilmGetsThereAndFallsSilent() throws {
        let stage = try VirtualStage()
        stage.feed(from: stage.sound)
        stage.runUntilIdle()
        stage.synchronizer.setRate(1, time: .zero)
        let removed = Lock<[Bool]>([])
        stage.synchronizer.removeRenderer(stage.renderer, at: second(2)) { value in
            removed.withLock { $0.append(value) }
        }
        stage.run(for: .milliseconds(1500))
        #expect(removed.withLock { $0.isEmpty })
        #expect(stage.synchronizer.renderers.count == 1)
        stage.run(for: .seconds(2))
        #expect(removed.withLock { $0 } == [true])
        #expect(stage.synchronizer.renderers.isEmpty)
        let last = try #require(stage.sounds(from: HostInstant(nanoseconds: 0)).last)
        #expect((1.9...2.3).contains(last.film))
        // The removed renderer is empty and can be added to another timeline.
        let other = RenderSynchronizer(clock: stage.clock)
        other.addRenderer(stage.renderer)
        #expect(stage.renderer.progress.enqueuedUntil == nil)
    }

    @Test func aLaterRemovalTakesThePlaceOfAnEarlierOneAndStrangersAreNotRemoved() throws {
        let synchronizer = RenderSynchronizer(clock: clock)
        let layer = DisplayLayer(depth: 8)
        let completions = Lock<[String]>([])
        synchronizer.removeRenderer(layer) { value in completions.withLock { $0.append("stranger \(value)") } }
        synchronizer.addRenderer(layer)
        synchronizer.removeRenderer(layer, at: second(5)) { value in
            completions.withLock { $0.append("first \(value)") }
        }
        synchronizer.removeRenderer(layer, at: second(9)) { value in
            completions.withLock { $0.append("second \(value)") }
        }
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now)
        clock.advance(by: .seconds(6))
        synchronizer.performDueWork()
        #expect(synchronizer.renderers.count == 1)
        clock.advance(by: .seconds(4))
        synchronizer.performDueWork()
        #expect(completions.withLock { $0 } == ["stranger false", "first false", "second true"])
    }

    @Test func aJumpOverTheMomentRemovesToo() throws {
        let synchronizer = RenderSynchronizer(clock: clock)
        let layer = DisplayLayer(depth: 8)
        synchronizer.addRenderer(layer)
        synchronizer.removeRenderer(layer, at: second(5))
        synchronizer.setRate(0, time: second(60))
        synchronizer.performDueWork()
        #expect(synchronizer.renderers.isEmpty)
    }

    // MARK: Starts

    @Test func aStartWaitsForSufficientMediaAndBeginsAtItsTime() throws {
        let stage = try VirtualStage()
        stage.synchronizer.setRate(1, time: second(7))
        #expect(stage.synchronizer.pendingStart?.rate == 1)
        stage.run(for: .seconds(3))
        #expect(stage.synchronizer.currentTime() == second(7))
        let source = stage.sound
        try source.seek(to: second(7), mode: .exact)
        stage.feed(from: source)
        let fed = stage.clock.now
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.pendingStart?.rate == nil)
        #expect(stage.synchronizer.effectiveRate == 1)
        #expect((8.5..<9.0).contains(stage.synchronizer.currentTime().seconds))
        #expect(stage.worstError(from: fed) < 0.001)
        // No sample of the start is missing.
        #expect(abs(try #require(stage.sounds(from: fed).first).film - 7) < 0.001)
    }

    /// The usual play button: `rate = rate == 0 ? 1 : 0`.
    @Test func aPauseIsTakenWhileAStartWaits() throws {
        let stage = try VirtualStage()
        stage.synchronizer.rate = 1
        #expect(stage.synchronizer.rate == 1)
        #expect(stage.synchronizer.effectiveRate == 0)
        stage.run(for: .seconds(1))
        if stage.synchronizer.rate != 0 { stage.synchronizer.rate = 0 }
        #expect(stage.synchronizer.pendingStart == nil)
        stage.feed(from: stage.sound)
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.rate == 0)
        #expect(stage.synchronizer.currentTime() == .zero)
    }

    @Test func theRequestedRateIsReportedBeforeItIsPerceived() throws {
        let stage = try VirtualStage()
        stage.synchronizer.setRate(1.5, time: .zero, atHostTime: stage.clock.now.advanced(by: .seconds(1)))
        #expect(stage.synchronizer.rate == 1.5)
        #expect(stage.synchronizer.effectiveRate == 0)
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.effectiveRate == 1.5)
        stage.synchronizer.rate = 7
        #expect(stage.synchronizer.rate == 4)
        stage.synchronizer.rate = .nan
        #expect(stage.synchronizer.rate == 0)
    }

    @Test func withoutThePatienceAStartHappensAtOnceAndSoundJoinsLater() throws {
        let stage = try VirtualStage()
        stage.synchronizer.delaysRateChangeUntilHasSufficientMediaData = false
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.currentTime().seconds > 0.8)
        stage.feed(from: stage.sound)
        let fed = stage.clock.now
        stage.run(for: .seconds(2))
        #expect(stage.worstError(from: fed) < 0.001)
    }

    /// The card is opened by the first audio, and has to measure its delay.
    @Test func withoutThePatienceNothingThatIsEnqueuedIsLostWhileTheOutputOpens() throws {
        let stage = try VirtualStage()
        stage.synchronizer.delaysRateChangeUntilHasSufficientMediaData = false
        stage.feed(from: stage.sound)
        stage.queue.runIteration()
        let begun = stage.clock.now
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(3))
        #expect(abs(try #require(stage.sounds(from: begun).first).film) < 0.001)
        #expect(stage.worstError(from: begun) < 0.001)
    }

    @Test func anOutputIsOpenedWhenItsRendererIsAddedAndWhenItIsReplaced() {
        final class Card: PreopeningOutput, Sendable {
            let name = "card"
            let kind = AudioRouteKind.soundCard
            let openings = Lock(0)
            let latency = OutputLatency(startLead: .zero)
            let desiredDepth = Duration.seconds(1)
            var acceptedUntil: MediaTime? { nil }
            func open() { openings.withLock { $0 += 1 } }
            func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery { .passThrough(format) }
            func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) {}
            func finish() {}
            func flush() {}
            func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
            func setGain(_ gain: Float) {}
            func close() {}
        }
        let (first, second) = (Card(), Card())
        let renderer = AudioRenderer(codecs: SyntheticCodecs())
        renderer.setOutput(first)
        #expect(first.openings.withLock { $0 } == 0, "nobody listens yet")
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.addRenderer(renderer)
        #expect(first.openings.withLock { $0 } == 1)
        renderer.setOutput(second)
        #expect(second.openings.withLock { $0 } == 1)
        withExtendedLifetime(synchronizer) {}
    }

    @Test func patienceThatEndsLetsAWaitingStartGo() throws {
        let stage = try VirtualStage()
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.effectiveRate == 0)
        stage.synchronizer.delaysRateChangeUntilHasSufficientMediaData = false
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.effectiveRate == 1)
    }

    @Test func aCommandReplacesAStartThatWaits() throws {
        let stage = try VirtualStage()
        stage.synchronizer.setRate(1, time: second(7))
        stage.synchronizer.setRate(0, time: second(3))
        stage.feed(from: stage.sound)
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.currentTime() == second(3))
        #expect(stage.synchronizer.effectiveRate == 0)
    }

    /// Shorter than what any route needs before a start: 20 ms.
    @Test func shortMaterialIsSufficientOnceItsEndIsKnown() throws {
        let film = SyntheticFilm(duration: millisecond(20), sampleRate: VirtualStage.rate)
        let stage = try VirtualStage(film: film)
        let buffer = try #require(try stage.sound.read())
        stage.renderer.enqueue(buffer)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(1))
        #expect(!stage.renderer.hasSufficientMediaDataForReliablePlaybackStart)
        #expect(stage.synchronizer.effectiveRate == 0)
        stage.renderer.stopRequestingMediaData()
        let ended = stage.clock.now
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.effectiveRate == 1)
        #expect(stage.sounds(from: ended).count >= 58)
        // The end makes the renderer ready again: data may follow.
        #expect(stage.renderer.isReadyForMoreMediaData)
        #expect(stage.renderer.progress.isDrained)
    }

    @Test func noSoundAtAllIsSufficientToo() throws {
        let stage = try VirtualStage()
        stage.renderer.stopRequestingMediaData()
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.effectiveRate == 1)
    }

    @Test func aPauseEndsWhatWasHandedOverAndAResumeLosesNothing() throws {
        let stage = try VirtualStage()
        stage.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(2))
        stage.synchronizer.setRate(0)
        stage.run(for: .seconds(3))
        let held = stage.synchronizer.currentTime()
        stage.synchronizer.setRate(1)
        let resumed = stage.clock.now
        stage.run(for: .seconds(2))
        #expect(abs(try #require(stage.sounds(from: resumed).first).film - held.seconds) < 0.02)
        #expect(stage.worstError(from: resumed) < 0.001)
    }

    @Test func aHostInstantIsObeyedWhateverTheRenderersHave() throws {
        let stage = try VirtualStage()
        let instant = stage.clock.now.advanced(by: .seconds(1))
        stage.synchronizer.setRate(1, time: second(4), atHostTime: instant)
        stage.run(for: .seconds(3))
        #expect(stage.synchronizer.currentTime() == second(6))
    }
}
