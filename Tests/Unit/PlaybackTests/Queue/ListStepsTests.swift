import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// What is promised of a player's list: items that have played return, a list is replaced without an interruption, and
/// a list of lost items is tried again.
@Suite struct ListStepsTests {
    private func items(_ addresses: String...) -> [QueueItem] { addresses.map { QueueItem($0) } }

    private func queue(_ items: [QueueItem]) -> VirtualQueue {
        let queue = VirtualQueue()
        queue.core.apply(.append(items))
        queue.core.play()
        return queue
    }

    private func said(_ queue: VirtualQueue) -> [String] { queue.stretches.map(\.description) }

    @Test func theItemBeforeReturnsAndTheOthersFollowIt() {
        let all = items("1/16000", "2/16000", "3/8000")
        let queue = queue(all)
        queue.run(for: .seconds(3))
        #expect(queue.state.history == [all[0]] && queue.state.items == Array(all[1...]))
        #expect(queue.state.itemNumber == 2 && queue.state.itemCount == 3)
        queue.core.step(by: -1)
        queue.run(for: .seconds(1))
        #expect(queue.state.current == all[0] && queue.state.history.isEmpty && queue.state.itemNumber == 1)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.sound) == [1, 2, 1, 2, 3])
        #expect(said(queue).suffix(3) == ["1:0..<16000", "2:0..<16000", "3:0..<8000"])
    }

    @Test func anItemThatOccursTwiceInAListPlaysOnce() {
        let all = items("1/16000", "2/16000")
        let queue = VirtualQueue()
        queue.core.open([all[0], all[1], all[0]], startingWith: nil, at: nil, order: nil)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<16000", "2:0..<16000"])
    }

    @Test func beyondTheListNothingIsChanged() {
        let queue = queue(items("1/16000", "2/16000"))
        let refused = Lock(0)
        queue.run(for: .seconds(1))
        queue.core.step(by: -1) { refused.withLock { $0 += 1 } }
        queue.core.step(by: 2) { refused.withLock { $0 += 1 } }
        #expect(refused.withLock { $0 } == 2)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<16000", "2:0..<16000"])
    }

    @Test func afterTheLastItemWasRemovedTheOneBeforeItPlaysAndNotTheRemovedOne() {
        let all = items("1/16000", "2/16000")
        let queue = queue(all)
        queue.run(for: .seconds(3))
        queue.core.apply(.remove(all[1].id))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        queue.core.play()
        queue.run(for: .seconds(1))
        #expect(queue.state.phase == .ended && queue.stretches.map(\.sound) == [1, 2])
        queue.core.step(by: -1) { Issue.record("the item before it is refused") }
        queue.run(for: .seconds(1))
        #expect(queue.state.current == all[0] && queue.stretches.map(\.sound) == [1, 2, 1])
    }

    @Test func aJumpLeadsToAnItemThatHasPlayed() {
        let all = items("1/16000", "2/16000", "3/16000")
        let queue = queue(all)
        queue.run(for: .seconds(5))
        #expect(queue.state.history == Array(all[..<2]))
        queue.core.jump(to: all[0].id, at: MediaTime(value: 1, timescale: 1))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(queue.stretches.map(\.sound) == [1, 2, 3, 1, 2, 3])
        #expect(queue.stretches[3].frames == 8000..<16000)
        #expect(queue.stretches[5].frames == 0..<16000)
    }

    @Test func aListThatIsReplacedKeepsTheItemThatPlaysAndWhatIsOpen() {
        let queue = queue(items("1/16000", "2/8000", "3/8000"))
        queue.run(for: .seconds(1))
        #expect(queue.edit(.replaceAll(items("5/8000", "1/16000", "2/8000", "4/8000"), order: nil)) == .seamless)
        #expect(queue.state.itemNumber == 2 && queue.state.itemCount == 4)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<16000", "2:0..<8000", "4:0..<8000"])
        #expect(queue.holes == 0 && queue.newStarts == 0)
        #expect(queue.opened.withLock { $0.count { $0 == "2/8000" } } == 1)
    }

    @Test func anItemThatLeavesTheListPlaysToItsEndOnce() {
        let queue = queue(items("1/16000", "2/8000"))
        queue.core.apply(.loop(item: .times(0), list: .times(1)))
        queue.run(for: .seconds(1))
        #expect(queue.edit(.replaceAll(items("3/8000", "4/8000"), order: nil)) == .seamless)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<16000"] + ["3:0..<8000", "4:0..<8000", "3:0..<8000", "4:0..<8000"])
        #expect(queue.holes == 0)
    }

    @Test func anItemWithAStartBeginsThereOnlyOnce() {
        var all = items("1/8000", "2/16000")
        all[1].start = MediaTime(value: 1, timescale: 1)
        let queue = queue(all)
        queue.core.apply(.loop(item: .times(0), list: .times(1)))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(said(queue) == ["1:0..<8000", "2:8000..<16000", "1:0..<8000", "2:0..<16000"])
        #expect(queue.newStarts == 1)
    }

    @Test func aShuffledListPlaysEveryItemOnce() {
        let queue = VirtualQueue()
        queue.core.apply(.order(.shuffled(seed: 5)))
        queue.core.open((1...6).map { QueueItem("\($0)/4000") })
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        let sounds = queue.stretches.map(\.sound)
        #expect(sounds != [1, 2, 3, 4, 5, 6] && sounds.sorted() == [1, 2, 3, 4, 5, 6])
        #expect(queue.holes == 0 && queue.newStarts == 0)
    }

    /// The list is tried again from its beginning, after pauses that grow.
    @Test func aListOfLostItemsIsTriedAgainUntilOneIsBack() {
        let films = [1, 2].map { VanishingFilm(CountedFilm($0, frameCount: 25, audioFrameCount: 48_000)) }
        let programme = VirtualProgramme(["one": films[0], "two": films[1]], first: "one")
        programme.core.apply(.retry(.eachPass))
        programme.core.apply(.loop(item: .times(0), list: .forever))
        programme.core.apply(.append([QueueItem("two")]))
        programme.run(for: .milliseconds(2500))
        for film in films { film.presence.withLock { $0 = .gone } }
        programme.run(for: .seconds(10))
        #expect(programme.phase == .opening)
        let lost = programme.playerEvents.compactMap {
            if case .lost(let failure) = $0 { failure.message } else { nil }
        }
        #expect(
            lost == [
                "No film in the list can be played at present; playback continues as soon as one is available again."
            ])
        let (before, failures) = (programme.opened.withLock { $0.count }, programme.failed.count)
        programme.run(for: .seconds(2))
        let attempts = programme.opened.withLock { Array($0[before...]) }
        #expect((2...3).contains(attempts.count { $0 == "one" }), "\(attempts)")
        #expect(attempts.count { $0 == "two" } >= 2)
        #expect(programme.failed.count == failures, "silent while it waits")
        films[1].presence.withLock { $0 = .there }
        programme.run(for: .seconds(1))
        #expect(programme.phase == .playing && programme.state.current?.address == "two")
    }

    @Test func anItemBesideTheListLeavesTheListWhereItIs() {
        let all = items("1/16000", "2/16000")
        let queue = queue(all)
        queue.run(for: .seconds(3))
        queue.core.openOutsideList("5/4000")
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(5)))
        #expect(queue.state.items == [all[1]] && queue.state.itemNumber == 2)
        queue.core.reopen(at: nil)
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(10)))
        #expect(said(queue).suffix(2) == ["5:0..<4000", "2:0..<16000"])
    }

    @Test func whereFailuresStopThePlayerItsOwnerDecidesWhatFollows() {
        var options = PlayerOptions()
        options.stopsAtFailures = true
        let queue = VirtualQueue(options)
        queue.core.open(items("nothing", "1/8000"))
        #expect(queue.run(untilPhase: .failed, atMost: .seconds(2)))
        #expect(queue.state.itemNumber == 1 && queue.state.failure != nil)
        queue.core.skipFailed()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(5)))
        #expect(said(queue) == ["1:0..<8000"])
    }

    @Test func anItemThatIsPlayedAloneIsOpenWhenNoOtherItemIs() {
        var all = items("1/8000", "2/8000", "3/8000")
        all[1].isAlone = true
        let queue = queue(all)
        queue.run(for: .milliseconds(900))
        #expect(queue.opened.withLock { $0 } == ["1/8000"])
        queue.run(for: .seconds(1))
        #expect(queue.opened.withLock { $0 } == ["1/8000", "2/8000"])
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(10)))
        #expect(said(queue) == ["1:0..<8000", "2:0..<8000", "3:0..<8000"])
        #expect(queue.newStarts == 2)
    }

    /// The beginnings and ends of items.
    private func reports(_ queue: VirtualQueue) -> [String] {
        queue.playerEvents.withLock { events in
            events.compactMap { event in
                switch event {
                case .began(let item, _, let isJoined): (isJoined ? "joins " : "starts ") + item.address
                case .ended(let item): "ends " + item.address
                case .looped: "again"
                case .phase(.ended): "idle"
                default: nil
                }
            }
        }
    }

    @Test func anItemEndsUnlessACommandReplacesIt() {
        var all = items("1/8000", "2/8000", "3/8000", "4/8000")
        all[2].isAlone = true
        let queue = queue(all)
        for _ in 0..<100 where !reports(queue).contains("starts 3/8000") { queue.run(for: .milliseconds(100)) }
        queue.core.skip()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(10)))
        #expect(
            reports(queue) == [
                "starts 1/8000", "ends 1/8000", "joins 2/8000", "ends 2/8000", "starts 3/8000", "starts 4/8000",
                "ends 4/8000", "idle",
            ])
    }

    @Test func anItemEndsBeforeARepetitionOfTheListButNotBeforeItsOwn() {
        let queue = queue(items("1/8000"))
        queue.core.apply(.loop(item: .times(1), list: .times(1)))
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(
            reports(queue) == [
                "starts 1/8000", "again", "ends 1/8000", "joins 1/8000", "again", "ends 1/8000", "idle",
            ])
    }

    @Test func aListThatNeverPlayedEndsWithItsFirstPass() {
        let programme = VirtualProgramme([:], first: "nothing")
        programme.core.apply(.retry(.eachPass))
        programme.core.apply(.loop(item: .times(0), list: .forever))
        programme.core.open(["bad 1", "bad 2"].map { QueueItem($0) })
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(3)))
        #expect(programme.opened.withLock { Array($0.suffix(2)) } == ["bad 1", "bad 2"])
        #expect(programme.failed.count == 2)
    }
}
