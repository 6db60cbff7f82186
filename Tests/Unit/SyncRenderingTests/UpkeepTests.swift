import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Functions of the synchronizer for an application without a player, in virtual time: following a speaker's own clock,
/// restarts after a suspension and before counters wrap, and appointed starts.
@Suite struct UpkeepTests {
    private func stage(running moment: MediaTime = .zero) throws -> VirtualStage {
        let stage = try VirtualStage()
        stage.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: moment)
        stage.run(for: .seconds(1))
        try #require(stage.synchronizer.effectiveRate == 1)
        return stage
    }

    private func events(_ stage: VirtualStage) -> [RenderEvent] {
        var events: [RenderEvent] = []
        while let entry = stage.events.removeFirst() { events.append(entry.event) }
        return events
    }

    // MARK: A foreign clock

    @Test func theTimelineFollowsAudioInASpeakerUntilItEnds() throws {
        let stage = try stage()
        let held = TimebaseSegment(
            mediaAnchor: stage.synchronizer.currentTime(), hostAnchor: stage.clock.now, rate: 1.00005, speed: 1)
        stage.card.held = { held }
        stage.run(for: .seconds(40))
        let now = stage.clock.now
        let apart = (stage.synchronizer.currentTime() - held.mediaTime(at: now)).seconds
        // Without following it would be 2 ms.
        #expect(abs(apart) < 50e-6, "\(apart)")
        #expect(stage.synchronizer.timebase.rate > 1)
        stage.card.held = nil
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.timebase.rate == 1, "nobody holds it any more")
    }

    // MARK: Suspension

    private func runUntilNoticed(_ stage: VirtualStage) {
        let limit = stage.clock.now.advanced(by: .milliseconds(300))
        while stage.synchronizer.pendingStart == nil, stage.clock.now < limit { stage.run(for: .milliseconds(5)) }
    }

    @Test func filmTimeStopsDuringASuspension() throws {
        let stage = try stage()
        _ = events(stage)
        stage.clock.suspend(for: .seconds(3600))
        let slept = stage.synchronizer.currentTime()
        runUntilNoticed(stage)
        #expect(stage.synchronizer.effectiveRate == 0)
        #expect(stage.synchronizer.pendingStart?.rate == 1)
        let woken = stage.clock.now
        stage.run(for: .milliseconds(200))
        #expect(stage.synchronizer.pendingStart != nil, "outputs are given time to notice by themselves")
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.effectiveRate == 1)
        #expect(stage.synchronizer.pendingStart == nil)
        let line = stage.synchronizer.timebase.snapshot.upcoming
        #expect(line.hostAnchor - woken > .milliseconds(200))
        #expect(abs(line.mediaAnchor.seconds - slept.seconds) < 0.3)
        #expect(abs(try #require(stage.sounds(from: line.hostAnchor).first).film - line.mediaAnchor.seconds) < 0.001)
        #expect(stage.worstError(from: line.hostAnchor) < 0.001)
        let reported = events(stage).compactMap { if case .resumed(let asleep) = $0 { asleep } else { nil } }
        #expect(reported == [.seconds(3600)])
    }

    @Test func theFirstCallAfterASuspensionDetectsIt() throws {
        let stage = try stage()
        let slept = stage.synchronizer.currentTime()
        stage.clock.suspend(for: .seconds(60))
        stage.runUntilIdle()
        #expect(stage.synchronizer.effectiveRate == 0)
        #expect(stage.synchronizer.currentTime() == slept, "nothing passes that nobody perceives")
    }

    @Test func aTimelineOfPicturesAloneIsLookedAfterByItsPlayer() {
        let clock = ManualClock()
        let synchronizer = RenderSynchronizer(clock: clock)
        let layer = DisplayLayer(depth: 4)
        synchronizer.addRenderer(layer)
        layer.stopRequestingMediaData()
        synchronizer.setRate(1, time: .zero)
        clock.advance(by: .seconds(5))
        let slept = synchronizer.currentTime()
        clock.suspend(for: .seconds(60))
        synchronizer.serviceTimeline()
        #expect(synchronizer.effectiveRate == 0 && synchronizer.pendingStart?.time == slept)
        clock.advance(by: .seconds(1))
        synchronizer.serviceTimeline()
        clock.advance(by: .seconds(1))
        #expect(synchronizer.effectiveRate == 1)
    }

    @Test func aSuspensionWhilePausedChangesNothing() throws {
        let stage = try stage()
        stage.synchronizer.setRate(0, time: second(5))
        stage.run(for: .seconds(1))
        let before = stage.synchronizer.timebase.snapshot
        stage.clock.suspend(for: .seconds(60))
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.timebase.snapshot == before)
        #expect(stage.synchronizer.pendingStart == nil)
    }

    @Test func aCommandAfterASuspensionIsObeyed() throws {
        let stage = try stage()
        stage.clock.suspend(for: .seconds(60))
        runUntilNoticed(stage)
        stage.synchronizer.setRate(0)
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.effectiveRate == 0)
        #expect(stage.synchronizer.pendingStart == nil)
    }

    // MARK: Starts

    @Test func aStartThatWaitsSaysForWhomAndWhy() throws {
        let stage = try VirtualStage()
        let layer = DisplayLayer(depth: 8)
        stage.synchronizer.addRenderer(layer)
        stage.feed(from: stage.sound)
        stage.run(for: .milliseconds(100))
        stage.card.isAway = true
        stage.card.clockIsReady = stage.clock.now.advanced(by: .seconds(2))
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .milliseconds(500))
        let start = try #require(stage.synchronizer.pendingStart)
        #expect(start.rate == 1 && start.time == .zero)
        #expect(
            start.waits.map(\.description) == [
                "waiting for the picture", "waiting for virtual card's clock, about 1.5 s",
            ])
        stage.run(for: .seconds(2))
        stage.card.isAway = false
        layer.stopRequestingMediaData()
        stage.run(for: .milliseconds(500))
        #expect(stage.synchronizer.pendingStart == nil)
        #expect(stage.synchronizer.effectiveRate == 1)
        let reported = events(stage).compactMap { event -> OutputWait.Cause? in
            if case .startWaits(let cause, _) = event { cause } else { nil }
        }
        #expect(reported.first == .video)
    }

    @Test func withoutSoundItIsTheSoundThatIsWaitedFor() throws {
        let stage = try VirtualStage()
        stage.run(for: .seconds(1))
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.pendingStart?.waits == [OutputWait(.audio, of: "virtual card", id: OutputID(0))])
    }

    @Test func aSoundShorterThanAnOutputNeedsToFindItsDelayIsPlacedAllTheSame() throws {
        let stage = try VirtualStage()
        stage.card.isAway = true
        if let buffer = try stage.sound.read() { stage.renderer.enqueue(buffer) }
        stage.renderer.finish()
        stage.run(for: .milliseconds(500))
        #expect(stage.renderer.progress.isDrained)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.pendingStart?.waits.first?.cause == .ownDelay)
        stage.card.isAway = false
        let back = stage.clock.now
        stage.run(for: .seconds(1))
        #expect(stage.synchronizer.pendingStart == nil)
        #expect(try #require(stage.sounds(from: back).first).film < 0.001, "from its first sample on")
    }

    @Test func withoutAnOutputNoClockIsAwaited() throws {
        let stage = try VirtualStage()
        let late = stage.clock.now.advanced(by: .seconds(5))
        stage.card.earliestStart = late
        #expect(stage.synchronizer.earliestStart == late)
        #expect(stage.synchronizer.soonestStart - stage.clock.now < .milliseconds(500))
    }

    @Test func aSpeakerLostBeforeItsFirstSoundTakesTheStartBack() throws {
        let stage = try VirtualStage()
        stage.card.extraLead = .milliseconds(400)
        stage.feed(from: stage.sound)
        stage.run(for: .seconds(1))
        stage.synchronizer.setRate(1, time: .zero)
        #expect(stage.synchronizer.timebase.snapshot.scheduled != nil)
        stage.run(for: .milliseconds(100))
        stage.card.isAway = true
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.currentTime() == .zero, "not a picture without its sound")
        #expect(stage.synchronizer.pendingStart != nil)
        stage.card.isAway = false
        let back = stage.clock.now
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.effectiveRate == 1)
        #expect(try #require(stage.sounds(from: back).first).film < 0.001)
    }

    @Test func aSpeakerThatNeedsLongerPutsTheStartOff() throws {
        let stage = try VirtualStage()
        stage.card.extraLead = .milliseconds(400)
        stage.feed(from: stage.sound)
        stage.run(for: .seconds(1))
        stage.synchronizer.setRate(1, time: .zero)
        let announced = try #require(stage.synchronizer.timebase.snapshot.scheduled).hostAnchor
        stage.run(for: .milliseconds(100))
        let earliest = announced.advanced(by: .milliseconds(300))
        stage.card.earliestStart = earliest
        stage.run(for: .milliseconds(100))
        let start = try #require(stage.synchronizer.timebase.snapshot.scheduled)
        #expect(start.hostAnchor >= earliest && start.mediaAnchor == .zero)
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.effectiveRate == 1)
    }
}
