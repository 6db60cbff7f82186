import CardPlayout
import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Several long-form audio renderers on one synchronizer, each with a separate output.
@Suite struct SeveralSoundsTests {
    /// A stage with a second renderer and a second card.
    private final class SeveralSoundsFixture {
        let stage: VirtualStage
        let renderer: AudioRenderer
        let card: VirtualSoundCard
        private var feeder: AudioFeeder
        private(set) var heard: [(at: HostInstant, film: Double)] = []

        init() throws {
            stage = try VirtualStage()
            let clock = stage.clock
            card = VirtualSoundCard(
                clock: clock,
                device: VirtualPlayoutDevice(
                    clock: clock, format: PCMFormat(sampleRate: VirtualStage.rate, layout: .stereo)),
                name: "kitchen")
            (card.edges.fadeIn, card.edges.fadeOut) = (.zero, .zero)
            renderer = AudioRenderer(codecs: SyntheticCodecs(), events: stage.events)
            renderer.setOutput(card, id: OutputID(1))
            feeder = renderer.startWithoutThread { _ in }
            card.device.listener = { [unowned self] samples, at in
                guard let number = SyntheticFilm.frame(ofValue: samples[0]) else { return }
                heard.append((at, Double(number) / Double(VirtualStage.rate)))
            }
            stage.meanwhile = { [unowned self] in
                feeder.performDueWork()
                card.run(until: clock.now)
            }
        }

        /// Requests audio from a source like an application.
        func feed(from source: any SampleSource) {
            let renderer = renderer
            renderer.requestMediaDataWhenReady(on: stage.queue) {
                while renderer.isReadyForMoreMediaData {
                    guard let buffer = try? source.read() else { return renderer.stopRequestingMediaData() }
                    renderer.enqueue(buffer)
                }
            }
        }

        /// Returns the stage's `worstError` for the second card.
        func worstError(from instant: HostInstant) -> Double {
            let snapshot = stage.synchronizer.timebase.snapshot
            return heard.filter { $0.at >= instant }.map { abs(snapshot.mediaTime(at: $0.at).seconds - $0.film) }.max()
                ?? .infinity
        }
    }

    @Test func aStartWaitsForBothAndBothBeginTogether() throws {
        let rig = try SeveralSoundsFixture()
        let stage = rig.stage
        #expect(stage.synchronizer.addRenderer(rig.renderer) == nil)
        stage.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.pendingStart?.waits.map(\.output) == ["kitchen"])
        rig.feed(from: stage.sound)
        let fed = stage.clock.now
        stage.run(for: .seconds(3))
        #expect(stage.synchronizer.effectiveRate == 1)
        #expect(stage.worstError(from: fed) < 0.001 && rig.worstError(from: fed) < 0.001)
        #expect(abs(try #require(stage.sounds(from: fed).first).film) < 0.001)
        #expect(abs(try #require(rig.heard.first).film) < 0.001)
    }

    @Test func bothJumpTogether() throws {
        let rig = try SeveralSoundsFixture()
        let stage = rig.stage
        stage.synchronizer.addRenderer(rig.renderer)
        let (first, second) = (stage.sound, stage.sound)
        stage.feed(from: first)
        rig.feed(from: second)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(3))
        for renderer in [stage.renderer, rig.renderer] { renderer.flush() }
        for source in [first, second] {
            try source.seek(to: MediaTime(value: 1024 * 180, timescale: 3000), mode: .exact)
        }
        stage.synchronizer.setRate(1, time: MediaTime(value: 1024 * 180, timescale: 3000))
        let asked = stage.clock.now
        stage.run(for: .seconds(3))
        let place = 1024.0 * 180 / 3000
        let jumped = try #require(stage.sounds(from: asked).first { $0.film > 50 })
        let other = try #require(rig.heard.first { $0.at > asked && $0.film > 50 })
        #expect(abs(jumped.film - place) < 0.001 && abs(other.film - place) < 0.001)
        #expect(stage.worstError(from: jumped.at) < 0.001 && rig.worstError(from: other.at) < 0.001)
    }

    @Test func oneThatJoinsARunningFilmIsInStepAndTheOtherDoesNotNotice() throws {
        let rig = try SeveralSoundsFixture()
        let stage = rig.stage
        stage.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(2))
        stage.synchronizer.addRenderer(rig.renderer)
        let source = stage.sound
        try source.seek(to: stage.synchronizer.currentTime(), mode: .exact)
        rig.feed(from: source)
        let joined = stage.clock.now
        stage.run(for: .seconds(3))
        #expect(rig.worstError(from: joined) < 0.001)
        let films = stage.sounds(from: HostInstant(nanoseconds: 0)).map(\.film)
        #expect(zip(films, films.dropFirst()).allSatisfy { abs(($1 - $0) * 3000 - 1) < 0.1 })
    }

    @Test func oneThatIsLostDoesNotStopTheOther() throws {
        let rig = try SeveralSoundsFixture()
        let stage = rig.stage
        stage.synchronizer.addRenderer(rig.renderer)
        stage.feed(from: stage.sound)
        rig.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(2))
        rig.card.isAway = true
        rig.renderer.setOutput(nil)
        stage.run(for: .seconds(3))
        #expect(stage.synchronizer.effectiveRate == 1)
        let films = stage.sounds(from: HostInstant(nanoseconds: 0)).map(\.film)
        #expect(zip(films, films.dropFirst()).allSatisfy { abs(($1 - $0) * 3000 - 1) < 0.1 })
        #expect(try #require(films.last) > 4.5)
    }

    @Test func oneThatCannotBeHadHoldsNoStart() throws {
        let rig = try SeveralSoundsFixture()
        let stage = rig.stage
        rig.card.refusal = OutputError(.unavailable, "The kitchen is dark.")
        stage.synchronizer.addRenderer(rig.renderer)
        stage.feed(from: stage.sound)
        rig.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.effectiveRate == 1)
    }

    @Test func anOutputPlaysOneLongSoundOnly() throws {
        let rig = try SeveralSoundsFixture()
        let synchronizer = rig.stage.synchronizer
        let same = AudioRenderer(codecs: SyntheticCodecs())
        same.setOutput(rig.stage.card)
        #expect(synchronizer.addRenderer(same)?.code == .secondLongFormAudio)
        let inside = AudioRenderer(codecs: SyntheticCodecs())
        inside.setOutput(OutputGroup(members: [rig.card, rig.stage.card], codecs: SyntheticCodecs(), work: .byHand()))
        #expect(synchronizer.addRenderer(inside)?.code == .secondLongFormAudio)
        #expect(synchronizer.addRenderer(AudioRenderer(codecs: SyntheticCodecs()))?.code == .secondLongFormAudio)
        #expect(synchronizer.addRenderer(rig.renderer) == nil)
    }
}
