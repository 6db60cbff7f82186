import MediaCore
import Testing

@testable import Playback

private func second(_ count: Double) -> MediaTime { MediaTime(seconds: count, preferredTimescale: 1000) }

/// Which interstitial of an item plays where, and what follows its parts.
@Suite struct InterstitialScheduleTests {
    private let position = PlaylistPosition(item: QueueItem("film"))

    /// A schedule of an item of 60 s.
    private func schedule(_ breaks: [(Interstitial.Position, [String])]) -> InterstitialSchedule {
        schedule(breaks.map { Interstitial(id: "\($0)", position: $0.0, assets: .one("")) }, breaks.map(\.1))
    }

    private func schedule(_ interstitials: [Interstitial], _ parts: [[String]]) -> InterstitialSchedule {
        var film = MediaSummary(container: "synthetic", tracks: [])
        film.duration = second(60)
        return InterstitialSchedule(zip(interstitials, parts).map { InterstitialBreak($0, $1) }, of: film)
    }

    /// The part to play, or the position in the item, as text.
    private func text(_ position: PlaylistPosition?) -> String? {
        position.map { $0.interstitialPart?.item.address ?? $0.from.map { "from \($0.seconds)" } ?? "item" }
    }

    @Test func breaksAreFoundByPosition() {
        let schedule = schedule([
            (.before, ["a"]), (.at(second(10)), ["b"]), (.at(second(59.9)), ["c"]), (.after, ["d"]),
        ])
        #expect(schedule.nextBreak(after: .zero, in: 0) == second(10))
        // Close to the end is at the end.
        #expect(schedule.nextBreak(after: second(10), in: 0) == nil)
        #expect(schedule.breakNumber(at: second(10), in: 0) == 1)
        #expect(schedule.breakNumber(at: nil, in: 0) == 2)
        #expect(text(schedule.entering(position, at: nil)) == "a")
        #expect(text(schedule.entering(position, at: second(10))) == "a")
    }

    @Test func theBreakBeforeAnItemPlaysOncePerPass() throws {
        var schedule = schedule([(.before, ["a"]), (.at(second(10)), ["b"])])
        let part = try #require(schedule.entering(position, at: nil)?.interstitialPart)
        schedule.markSeen(part, in: 0)
        #expect(schedule.entering(position, at: nil) == nil)
        #expect(text(schedule.entering(position, at: second(10))) == "b")
        var next = position
        next.listPass = 1
        #expect(text(schedule.entering(next, at: nil)) == "a")
        schedule.countPasses(from: -1)
        #expect(schedule.entering(next, at: nil) == nil)
        schedule.startOver()
        #expect(text(schedule.entering(next, at: nil)) == "a")
    }

    @Test func theItemResumesAfterTheLastPart() throws {
        let schedule = schedule([(.at(second(10)), ["b", "c"])])
        let first = try #require(schedule.firstPart(of: 0, at: position))
        let last = try #require(schedule.following(first, lasting: second(3)))
        #expect(text(first) == "b" && text(last) == "c")
        #expect(text(schedule.following(last, lasting: second(4))) == "from 17.0")
        // Parts that were not played skip nothing of the item, and the target of a seek is reached.
        #expect(text(schedule.following(last, lasting: .zero)) == "from 13.0")
        let skipped = try #require(schedule.firstPart(of: 0, at: position, goal: second(30)))
        let rest = try #require(schedule.following(skipped, lasting: .zero))
        #expect(text(schedule.following(rest, lasting: .zero)) == "from 30.0")
    }

    @Test func nothingFollowsThePartsAtTheEnd() throws {
        let schedule = schedule([(.at(second(58)), ["b"]), (.after, ["c"]), (.after, ["d"])])
        let early = try #require(schedule.firstPart(of: 0, at: position))
        #expect(schedule.following(early, lasting: second(3)) == nil)
        let late = try #require(schedule.firstPart(of: 1, at: position))
        let last = try #require(schedule.following(late, lasting: second(3)))
        #expect(text(last) == "d")
        #expect(schedule.following(last, lasting: second(3)) == nil)
    }

    @Test func partsThatCannotBePlayedAreSkipped() throws {
        var schedule = schedule([(.at(second(10)), ["b", "c"])])
        let first = try #require(schedule.firstPart(of: 0, at: position)?.interstitialPart)
        schedule.markLost(first, in: 0)
        let next = try #require(schedule.firstPart(of: 0, at: position))
        #expect(text(next) == "c")
        schedule.markLost(try #require(next.interstitialPart), in: 0)
        #expect(schedule.nextBreak(after: .zero, in: 0) == nil)
        #expect(schedule.nextBreak(after: .zero, in: 1) == second(10))
    }

    @Test func restrictionsApplyUntilTheBreakWasShown() throws {
        var interstitial = Interstitial(id: "a", position: .at(second(10)), assets: .one(""), limit: second(5))
        (interstitial.forbidsJumping, interstitial.forbidsSkipping, interstitial.isOnce) = (true, true, true)
        var schedule = schedule([interstitial], [["b", "c"]])
        #expect(schedule.mandatoryBreak(between: second(5), and: second(20), in: 0) == 0)
        #expect(schedule.mandatoryBreak(between: second(10), and: second(20), in: 0) == nil)
        let part = try #require(schedule.firstPart(of: 0, at: position))
        let shown = try #require(part.interstitialPart)
        #expect(schedule.forbidsSkipping(shown) && schedule.room(for: shown) == second(5))
        // The limit ends the break before its second part.
        #expect(text(schedule.following(part, lasting: second(5))) == "from 15.0")
        schedule.markSeen(shown, in: 0)
        #expect(schedule.mandatoryBreak(between: second(5), and: second(20), in: 0) == nil)
        #expect(schedule.nextBreak(after: .zero, in: 0) == nil)
    }
}
