import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// The values and small owners that the engine is made of.
@Suite struct EnginePartsTests {
    private func second(_ count: Double) -> MediaTime { MediaTime(seconds: count, preferredTimescale: 1000) }

    // MARK: A-B loop

    @Test func aSectionIsRepeatedWhenItsEndIsPassedAndNotAfterASeekBeyondIt() {
        var section = SectionRepeat()
        section.set(MediaTimeRange(start: second(2), end: second(4)), at: second(1))
        func passed(_ moment: Double, canPass: Bool = true, isAtEnd: Bool = false) -> MediaTimeRange? {
            section.passed(at: second(moment), canPass: canPass, isAtEnd: isAtEnd)
        }
        #expect(passed(3) == nil)
        #expect(section.end == second(4))
        #expect(passed(4.1)?.start == second(2))
        section.restart()
        #expect(passed(2) == nil)
        #expect(passed(3, isAtEnd: true)?.start == second(2), "the item ends before the section")
        #expect(passed(9, canPass: false) == nil, "a seek beyond the end")
        #expect(section.end == nil)
        #expect(passed(9.1) == nil)
        section.set(nil, at: .zero)
        #expect(section.end == nil)
        #expect(passed(5, isAtEnd: true) == nil)
    }

    @Test func aSectionOfAListIsSeamlessIfTheMediaHasAReaderForEachTrack() throws {
        var list = PlaybackList()
        _ = list.apply(.append([QueueItem("a")]))
        let listPosition = try #require(list.firstPosition())
        var section = SectionRepeat()
        section.set(MediaTimeRange(start: second(2), end: second(4)), at: .zero)
        for sharesReader in [false, true] {
            let film = CountedFilm(1, sharesReader: sharesReader)
            let entry = PlaybackList.ScheduledItem(
                serial: list.newSerial(), listPosition: listPosition, media: PrefetchedMedia(film),
                audioTrack: film.summary.track(.audio), videoTrack: film.summary.track(.video))
            #expect((section.seamless(in: entry) == nil) == sharesReader)
        }
        #expect(section.seamless(in: nil) == nil)
    }

    // MARK: Frame steps

    @Test func stepsAreTakenOneByOneWhenTheirFramesAreThere() {
        var steps = FrameSteps()
        var frames = FrameSteps.Frames(shown: second(1), next: nil, awaitsFirst: false, isDrained: false)
        steps.add(2)
        #expect(steps.next(frames, playhead: second(1)) == nil, "the next frame is not decoded yet")
        frames.next = second(1.04)
        frames.awaitsFirst = true
        #expect(steps.next(frames, playhead: second(1)) == nil, "the preceding frame is not shown yet")
        frames.awaitsFirst = false
        #expect(steps.next(frames, playhead: second(1)) == .forward(to: second(1.04)))
        #expect(steps.next(frames, playhead: second(1.04)) == nil, "the screen has not taken it yet")
        frames.next = second(1.08)
        #expect(steps.next(frames, playhead: second(1.04)) == .forward(to: second(1.08)))
        #expect(!steps.isActive)
    }

    @Test func stepsBackwardSeekAndStepsBeyondTheLastFrameAreDropped() {
        var steps = FrameSteps()
        var frames = FrameSteps.Frames(shown: nil, next: second(2), awaitsFirst: false, isDrained: false)
        steps.add(-1)
        #expect(steps.next(frames, playhead: second(1)) == nil)
        frames.shown = second(1)
        #expect(steps.next(frames, playhead: second(1)) == .backward(before: second(1)))
        #expect(!steps.isActive)
        steps.add(3)
        (frames.next, frames.isDrained) = (nil, true)
        #expect(steps.next(frames, playhead: second(1)) == nil)
        #expect(!steps.isActive)
        steps.add(1)
        steps.cancel()
        #expect(!steps.isActive)
    }

    // MARK: Recovery

    private func status(_ playerEvents: Lock<[PlayerEvent]>) -> PlayerStatus {
        PlayerStatus(
            publisher: PlayerStatePublisher(timebase: Timebase(clock: ManualClock())), options: PlayerOptions()
        ) {
            event in
            playerEvents.withLock { $0.append(event) }
        }
    }

    @Test func pausesBeforeFailedItemsGrowUntilAnItemPlays() {
        let clock = ManualClock()
        let recovery = MediaRecovery(clock: clock, status: status(Lock([])))
        var pauses: [Duration] = []
        for _ in 0..<5 {
            recovery.pauseOpening(of: "a")
            guard let time = recovery.openingTime(of: "a") else { break }
            pauses.append(time - clock.now)
            clock.advance(by: time - clock.now)
            #expect(recovery.openingTime(of: "a") == nil)
        }
        #expect(pauses == [100, 200, 400, 700, 700].map { .milliseconds($0) })
        #expect(recovery.openingTime(of: "b") == nil)
        recovery.pauseOpening(of: "a")
        recovery.resetPauses()
        #expect(recovery.openingTime(of: "a") == nil)
    }

    @Test func lostMediaIsReportedOnceAndReopenedWhenThePauseIsOver() throws {
        let (clock, playerEvents) = (ManualClock(), Lock<[PlayerEvent]>([]))
        let recovery = MediaRecovery(clock: clock, status: status(playerEvents))
        var list = PlaybackList()
        _ = list.apply(.append([QueueItem("a"), QueueItem("b")]))
        let second = try #require(list.firstPosition(list.items[1].id))
        recovery.wait(for: second, title: "b")
        #expect(recovery.isWaiting && recovery.isActive)
        #expect(!recovery.consumeDue())
        clock.advance(by: .milliseconds(100))
        #expect(recovery.consumeDue())
        #expect(!recovery.isWaiting && recovery.isActive)
        recovery.wait(for: nil, title: "b")
        #expect(recovery.nextAttempt == clock.now.advanced(by: .milliseconds(200)))
        #expect(playerEvents.withLock { $0.count } == 1)
        #expect(recovery.position(in: list)?.item == list.items[0], "a list starts again")
        _ = list.apply(.loop(item: .forever, list: .times(0)))
        #expect(recovery.position(in: list)?.item == list.items[1], "a looping item is the one that was lost")
        recovery.resetPauses()
        #expect(!recovery.isActive)
    }

    // MARK: Edits and state

    @Test func editsAreSettledOnceWithTheOutcomeSoFar() {
        let edits = PendingEdits()
        let outcomes = Lock<[QueueEditOutcome]>([])
        edits.setOutcome(.interrupted)
        edits.add { outcome in outcomes.withLock { $0.append(outcome) } }
        edits.finish()
        edits.finish()
        edits.add { outcome in outcomes.withLock { $0.append(outcome) } }
        edits.finish()
        #expect(outcomes.withLock { $0 } == [.interrupted, .seamless])
    }

    @Test func aPhaseIsReportedOnceAndEndsTheReasonOfAWait() {
        let playerEvents = Lock<[PlayerEvent]>([])
        let status = status(playerEvents)
        status.setPhase(.buffering)
        status.setWait(reason: "waiting for sound")
        status.setPhase(.buffering)
        #expect(status.state.reason == "waiting for sound")
        status.setPhase(.playing)
        #expect(status.state.reason == nil)
        let phases = playerEvents.withLock { $0.compactMap { if case .phase(let phase) = $0 { phase } else { nil } } }
        #expect(phases == [.buffering, .playing])
        status.enterAgain(.playing)
        #expect(playerEvents.withLock { $0.count } == 3)
    }

    @Test(arguments: [(1, 0, false), (2, 0, true), (2, 250, false)])
    func packetsPassUnchangedUnlessAudioMustJoinExactly(count: Int, pictures: Int, joins: Bool) throws {
        var list = PlaybackList()
        _ = list.apply(.append((1...count).map { QueueItem("\($0)") }))
        let film = CountedFilm(1, frameCount: pictures)
        list.begin(
            with: PlaybackList.ScheduledItem(
                serial: list.newSerial(), listPosition: try #require(list.firstPosition()),
                media: PrefetchedMedia(film),
                audioTrack: film.summary.track(.audio), videoTrack: film.summary.track(.video)))
        #expect(AudioControl.joinsExactly(list, expectsMore: false) == joins)
        _ = list.apply(.loop(item: .forever, list: .times(0)))
        #expect(AudioControl.joinsExactly(list, expectsMore: false))
    }

    @Test func onlyAddressesOfServersAreANetwork() {
        #expect(SourceHold.isFromNetwork("https://example.com/a.mkv"))
        #expect(!SourceHold.isFromNetwork("FILE:///a.mkv"))
        #expect(!SourceHold.isFromNetwork("/a.mkv"))
    }
}
