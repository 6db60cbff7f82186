import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

@Suite struct QueuePlayerTests {
    /// Returns items; frame 0 of a sound is encoded as value 0 of that sound.
    private func items(_ addresses: [String]) -> [QueueItem] { addresses.map { QueueItem($0) } }

    private func queue(_ items: [QueueItem], _ options: PlayerOptions = PlayerOptions()) -> VirtualQueue {
        let queue = VirtualQueue(options)
        queue.core.apply(.append(items))
        queue.core.play()
        return queue
    }

    private func said(_ queue: VirtualQueue) -> [String] { queue.stretches.map(\.description) }

    @Test func itemsFollowOneAnotherToTheSample() {
        let queue = queue(items(["1/16001", "2/7", "3/25013", "4/9999"]))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<16001", "2:0..<7", "3:0..<25013", "4:0..<9999"])
        #expect(queue.holes == 0)
    }

    @Test func aSpeakerLostBeforeItsFirstSoundHoldsTheQueueUntilItIsBack() {
        let queue = queue(items(["1/16000"]))
        queue.card.extraLead = .milliseconds(400)
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        queue.card.isAway = true
        queue.run(for: .seconds(1))
        #expect(queue.state.phase == .buffering)
        #expect(queue.heard.isEmpty)
        queue.card.isAway = false
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<16000"])
    }

    @Test func theNextItemIsOpenAndDecodedBeforeItIsNeeded() {
        let queue = queue(items(["1/80000", "2/80000", "3/8000"]))
        queue.run(for: .seconds(4))
        #expect(queue.opened.withLock { $0 } == ["1/80000"])
        queue.run(for: .seconds(3))
        // Three seconds before the first one ends.
        #expect(queue.opened.withLock { $0 } == ["1/80000", "2/80000"])
    }

    @Test func anItemThatIsRemovedWhileTheCardHasItIsNotHeard() throws {
        let all = items(["1/16000", "2/16000", "3/16000"])
        let queue = queue(all)
        // The second item has already been sent to the card.
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        while queue.synchronizer.currentTime().seconds < 1.72 { queue.run(for: .milliseconds(5)) }
        #expect(try #require(queue.state.handedUntil).seconds > 2.3)
        #expect(queue.edit(.remove(all[1].id)) == .seamless)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<16000", "3:0..<16000"])
        #expect(queue.holes == 0)
    }

    @Test(arguments: [true, false])
    func anEditAndAnotherTrackAtOnceAreBothHeard(isEditFirst: Bool) {
        let all = items(["1+5/16000", "2+6/16000", "3+7/16000"])
        let queue = queue(all)
        // The second item has already been sent to the card.
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        while queue.synchronizer.currentTime().seconds < 1.72 { queue.run(for: .milliseconds(5)) }
        let outcome = Lock<QueueEditOutcome?>(nil)
        if !isEditFirst { queue.core.selectAudioTrack(2) }
        queue.core.apply(.remove(all[1].id)) { result in outcome.withLock { $0 = result } }
        if isEditFirst { queue.core.selectAudioTrack(2) }
        queue.run(for: .milliseconds(50))
        #expect(outcome.withLock { $0 } != nil)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.sound) == [1, 5, 7])
        #expect(queue.stretches.dropFirst().map(\.frames.upperBound) == [16000, 16000])
        #expect(queue.stretches.last?.frames.lowerBound == 0)
    }

    /// The film that plays has one track, and the next one is already opened and sent to the card.
    @Test func aChoiceThatDoesNotConcernTheFilmThatPlaysIsHeardInTheNext() {
        typealias Choose = (PlaybackEngine) -> Void
        for (before, choose, sounds) in [
            ({ _ in }, { $0.selectAudioTrack(.language("ru")) }, [1, 6]),
            ({ _ in }, { $0.overrideAudioTrack(with: .language("ru")) }, [1, 6]),
            ({ $0.overrideAudioTrack(with: .language("ru")) }, { $0.overrideAudioTrack(with: nil) }, [1, 2]),
        ] as [(Choose, Choose, [Int])] {
            let queue = queue(items(["1/16000", "2+6/16000"]))
            before(queue.core)
            #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
            while queue.synchronizer.currentTime().seconds < 1.72 { queue.run(for: .milliseconds(5)) }
            choose(queue.core)
            #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
            // The sound is read again from the position on.
            #expect(queue.stretches.dropFirst().map(\.sound) == sounds)
            #expect(queue.stretches.dropFirst().map(\.frames.upperBound) == [16000, 16000])
            #expect(queue.stretches.last?.frames.lowerBound == 0)
        }
    }

    @Test func theItemThatIsHeardEndsAsSoonAsTheRouteCanAndTheNextOneJoins() throws {
        let all = items(["1/80000", "2/16000"])
        let queue = queue(all)
        queue.run(for: .seconds(3))
        let outcome = queue.edit(.remove(all[0].id))
        guard case .late(let heard) = outcome else {
            Issue.record("\(String(describing: outcome))")
            return
        }
        #expect(heard < .milliseconds(400))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.sound) == [1, 2])
        #expect(queue.stretches.last?.frames == 0..<16000)
        #expect(queue.holes == 0)
    }

    @Test func anItemThatCannotBeTakenBackInTimeIsHeardNoLongerThanItMustBe() {
        let all = items(["1/16000", "2/16000", "3/8000"])
        let queue = queue(all)
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        while queue.synchronizer.currentTime().seconds < 1.97 { queue.run(for: .milliseconds(5)) }
        guard case .late = queue.edit(.remove(all[1].id)) else {
            Issue.record("30 ms are too little")
            return
        }
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.sound) == [1, 2, 3])
        #expect((queue.stretches[1].frames).count < 3000)
        #expect(queue.stretches[2].frames == 0..<8000)
        #expect(queue.holes == 0)
    }

    @Test func insertingMovingAndReplacingWhatIsHandedOverIsHeardInTheNewOrder() {
        let all = items(["1/16000", "2/8000", "3/8000", "4/8000"])
        let queue = queue(all)
        queue.run(for: .milliseconds(1500))
        #expect(queue.edit(.insert(items(["5/4000"]), after: all[0].id)) == .seamless)
        #expect(queue.edit(.move(all[3].id, after: all[0].id)) == .seamless)
        #expect(queue.edit(.replace(all[1].id, with: QueueItem("6/5000"))) == .seamless)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<16000", "4:0..<8000", "5:0..<4000", "6:0..<5000", "3:0..<8000"])
        #expect(queue.holes == 0)
    }

    @Test func anItemThatIsMovedTooLateIsHeardAgainInItsPlace() {
        let all = items(["1/16000", "2/16000", "3/8000"])
        let queue = queue(all)
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        while queue.synchronizer.currentTime().seconds < 1.97 { queue.run(for: .milliseconds(5)) }
        _ = queue.edit(.move(all[1].id, after: all[2].id))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.sound) == [1, 2, 3, 2])
        #expect(queue.stretches[3].frames == 0..<16000)
        #expect(queue.holes == 0)
    }

    @Test func loopsOfAnItemAndOfTheQueueLoseAndAddNoSample() {
        var options = PlayerOptions()
        options.loopFile = .times(1)
        options.loopPlaylist = .times(1)
        let queue = queue(items(["1/3001", "2/2003"]), options)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        let pass = ["1:0..<3001", "1:0..<3001", "2:0..<2003", "2:0..<2003"]
        #expect(said(queue) == pass + pass)
        #expect(queue.holes == 0)
    }

    @Test func aLoopMayBeginAndEndWhileTheNextPassIsHandedOver() {
        let all = items(["1/8000", "2/8000"])
        let queue = queue(all)
        queue.run(for: .milliseconds(600))
        #expect(queue.edit(.loop(item: .forever, list: .times(0))) == .seamless)
        queue.run(for: .milliseconds(2000))
        #expect(queue.edit(.loop(item: .times(0), list: .times(0))) == .seamless)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<8000", "1:0..<8000", "1:0..<8000", "2:0..<8000"])
        #expect(queue.holes == 0)
    }

    @Test func whatCannotBePlayedIsPassedOverWithoutAGapAndNotTriedForEver() {
        var options = PlayerOptions()
        options.loopPlaylist = .times(1)
        let queue = queue(items(["nothing", "1/4001", "2/0", "3/4003", "nothing"]), options)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<4001", "3:0..<4003", "1:0..<4001", "3:0..<4003"])
        #expect(queue.holes == 0)
        let failures = queue.playerEvents.withLock { $0.count { if case .failed = $0 { true } else { false } } }
        #expect(failures == 2)
        let silent = self.queue(items(["nothing", "2/0"]), options)
        #expect(silent.run(untilPhase: .ended, atMost: .seconds(5)))
    }

    @Test func aLoopingQueueWaitsForMissingItemsAndContinuesWithinASecond() {
        for loopsItem in [false, true] {
            var options = PlayerOptions()
            if loopsItem { options.loopFile = .forever } else { options.loopPlaylist = .forever }
            let queue = queue(items(loopsItem ? ["1/8000"] : ["1/8000", "2/8000"]), options)
            queue.run(for: .milliseconds(2500))
            queue.absent.withLock { $0 = ["1/8000", "2/8000"] }
            queue.run(for: .seconds(12))
            #expect(queue.core.state.phase == .opening)
            let failures = queue.playerEvents.withLock { playerEvents in
                playerEvents.count { event in
                    switch event {
                    case .failed, .lost: true
                    default: false
                    }
                }
            }
            #expect((1...3).contains(failures))
            let (tried, heard) = (queue.opened.withLock { $0.count }, queue.heard.count)
            queue.run(for: .seconds(2))
            #expect((2...6).contains(queue.opened.withLock { $0.count } - tried), "pauses between attempts")
            queue.absent.withLock { $0 = [] }
            queue.run(for: .seconds(1))
            #expect(queue.core.state.phase == .playing)
            queue.run(for: .seconds(4))
            #expect(queue.heard.count > heard + 8000 * 3)
            if !loopsItem { #expect(Set(queue.heard.dropFirst(heard).map(\.sound)) == [1, 2]) }
        }
    }

    @Test func anItemOfALoopThatVanishedAndCameBackIsHeardAgainAndTheOthersMeanwhile() {
        var options = PlayerOptions()
        options.loopPlaylist = .forever
        let queue = queue(items(["1/8000", "2/8000", "nothing"]), options)
        queue.run(for: .milliseconds(2500))
        queue.absent.withLock { $0 = ["2/8000"] }
        queue.run(for: .seconds(10))
        let away = queue.heard.count
        #expect(queue.heard.suffix(8000 * 4).allSatisfy { $0.sound == 1 })
        queue.absent.withLock { $0 = [] }
        queue.run(for: .seconds(10))
        #expect(queue.heard.dropFirst(away).contains { $0.sound == 2 })
        #expect(queue.holes == 0)
        #expect(queue.opened.withLock { $0.count { $0 == "nothing" } } == 1, "what never played is not tried again")
    }

    @Test func itemsAreReportedWhenAudibleAndTheEndAtTheEnd() throws {
        let all = items(["1/8000", "2/8000"])
        let queue = queue(all)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        let begun = queue.playerEvents.withLock { playerEvents in
            playerEvents.compactMap { event -> QueueItem? in
                if case .began(let item, _, _) = event { item } else { nil }
            }
        }
        #expect(begun == all)
        #expect(queue.edit(.append(items(["3/8000"]))) == .seamless)
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue).last == "3:0..<8000")
    }

    /// A clock that calls a closure when it is read.
    ///
    /// `@unchecked Sendable`: used by the test's thread alone.
    private final class ObservedClock: HostClock, @unchecked Sendable {
        private let clock: ManualClock
        private var isRead = false
        var read: () -> Void = {}

        init(_ clock: ManualClock) { self.clock = clock }

        var now: HostInstant {
            if !isRead {
                isRead = true
                read()
                isRead = false
            }
            return clock.now
        }
        var isRealTime: Bool { false }
    }

    /// A state with a position reads the clock when it is published.
    @Test func anItemThatStartsAtAPositionIsNeverPublishedAsPlayingElsewhere() throws {
        var clock: ObservedClock?
        let queue = VirtualQueue { manual in
            let observed = ObservedClock(manual)
            clock = observed
            return observed
        }
        let start = MediaTime(value: 3, timescale: 1)
        var resumed = QueueItem("2/40000")
        resumed.start = start
        var positions: [MediaTime] = []
        try #require(clock).read = { [board = queue.board, resumed] in
            let state = board.state
            if state.phase == .playing, state.current == resumed { positions.append(state.position) }
        }
        // Nothing is published without a reader.
        let states = queue.board.states()
        queue.core.apply(.append([QueueItem("1/1600"), resumed]))
        queue.core.play()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(!positions.isEmpty && positions.allSatisfy { $0 >= start })
        withExtendedLifetime(states) {}
    }

    @Test func aJumpGoesToTheFrameAndASkipToTheNextItem() throws {
        let all = items(["1/80000", "2/80000", "3/8000"])
        let queue = queue(all)
        queue.run(for: .seconds(1))
        queue.core.jump(to: all[1].id, at: MediaTime(value: 40_123, timescale: 8000))
        queue.run(for: .seconds(1))
        let second = try #require(queue.stretches.first { $0.sound == 2 })
        #expect(second.frames.lowerBound == 40_123)
        #expect(abs(queue.state.position.seconds - 5.9) < 0.3)
        queue.core.skip()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(5)))
        #expect(queue.stretches.last?.frames == 0..<8000)
    }

    @Test func aPauseHoldsTheSoundAndAnEditMeanwhileIsExact() {
        let all = items(["1/16000", "2/16000", "3/8000"])
        let queue = queue(all)
        queue.run(for: .milliseconds(1700))
        queue.core.pause()
        queue.run(for: .seconds(2))
        #expect(queue.edit(.remove(all[1].id)) == .seamless)
        queue.core.play()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(10)))
        #expect(queue.stretches.last?.frames == 0..<8000)
        #expect(!queue.stretches.contains { $0.sound == 2 })
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func editsInAnyOrderNeverLeaveAHoleOrARepeatedSample(seed: UInt64) {
        var dice = Dice(seed: seed)
        func fresh(_ dice: inout Dice) -> QueueItem {
            QueueItem("\(1 + dice.roll(7))/\(4000 + dice.roll(12_000))")
        }
        let queue = queue([fresh(&dice), fresh(&dice), fresh(&dice)])
        queue.editAtRandom(&dice, fresh: fresh)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(60)))
        // An item that is appended just before the last one ends may be late, and then starts without joining.
        #expect(queue.holes == queue.newStarts)
        // Every range starts with an item's first frame: a truncated item is followed by a complete one.
        #expect(queue.stretches.allSatisfy { $0.frames.lowerBound == 0 }, "\(said(queue))")
    }
}
