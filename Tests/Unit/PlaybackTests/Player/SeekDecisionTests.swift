import MediaCore
import Testing

@testable import Playback
@testable import TalkieTestKit

private func second(_ count: Double) -> MediaTime { MediaTime(seconds: count, preferredTimescale: 1000) }

/// What a seek command does, as a value: target and aim, messages, interstitials, the end of an item.
@Suite struct SeekDecisionTests {
    /// A list whose first item, of 10 s, is current.
    private struct Scene {
        var list = PlaybackList()
        var state = PlayerState()
        var moment = second(4)
        var wantsPlay = true

        init(_ count: Int = 1, sharesReader: Bool = false, isLive: Bool = false, pictures: Int = 250) throws {
            _ = list.apply(.append((1...count).map { QueueItem("\($0)") }))
            let film = CountedFilm(1, frameCount: pictures, sharesReader: sharesReader, isLive: isLive)
            list.begin(with: SeekDecisionTests.entry(&list, try #require(list.firstPosition()), film))
            (state.phase, state.duration) = (.playing, film.summary.duration)
        }

        var plan: SeekDecision { SeekDecision(in: list, state, at: moment, wantsPlay: wantsPlay) }

        /// Puts an interstitial at 6 s of the first item.
        mutating func addInterstitial(_ change: (inout Interstitial) -> Void = { _ in }) throws {
            var interstitial = Interstitial(id: "a", position: .at(second(6)), assets: .one("part"))
            change(&interstitial)
            let entry = try #require(list.entries.first)
            list.setInterstitials(
                InterstitialSchedule(
                    [InterstitialBreak(interstitial, ["part"])], of: entry.film.summary),
                of: entry.item.id)
        }

        /// Plays the interstitial.
        mutating func enterInterstitial() throws {
            let entry = try #require(list.entries.first)
            let part = try #require(list.firstPart(of: 0, at: entry.listPosition.plain))
            list.begin(
                with: SeekDecisionTests.entry(&list, part, CountedFilm(2, frameCount: 50, audioFrameCount: 96_000)))
        }
    }

    private static func entry(
        _ list: inout PlaybackList, _ listPosition: PlaylistPosition, _ film: CountedFilm
    ) -> PlaybackList.ScheduledItem {
        PlaybackList.ScheduledItem(
            serial: list.newSerial(), listPosition: listPosition, media: PrefetchedMedia(film),
            audioTrack: film.summary.track(.audio), videoTrack: film.summary.track(.video))
    }

    /// The actions as text: "seek 5.0 exact", "report", "open 2", "open 1 at 3.0".
    private func text(_ actions: [PlaybackAction]?) -> [String]? {
        actions?.map { action in
            switch action {
            case .seek(let target, let aim, nil): "seek \(target.seconds) \(aim.word)"
            case .report(.seeking(let target)): "seeking \(target.seconds)"
            case .report(.message(let sentence)): sentence
            case .open(let listPosition, let position):
                "open \(listPosition.opened.address)" + (position.map { " at \($0.seconds)" } ?? "")
            case .endEntry: "end"
            case .finish: "finish"
            default: "other"
            }
        }
    }

    // MARK: Targets

    @Test func aSeekIsClampedToTheItemAndReported() throws {
        let scene = try Scene()
        #expect(text(scene.plan.seek(to: second(5), exact: true)) == ["seek 5.0 exact", "seeking 5.0"])
        #expect(text(scene.plan.seek(to: second(-5), exact: true)) == ["seek 0.0 exact", "seeking 0.0"])
        #expect(text(scene.plan.seek(to: second(50), exact: true)) == ["seek 10.0 exact", "seeking 10.0"])
        #expect(text(scene.plan.seek(to: second(5), exact: false)) == ["seek 5.0 anySyncBefore", "seeking 5.0"])
    }

    @Test func aSeekByADistanceFindsASyncFrameInItsDirectionButNotBeyondTheEnd() throws {
        var scene = try Scene()
        #expect(text(scene.plan.seek(by: second(2), exact: true)) == ["seek 6.0 exact", "seeking 6.0"])
        #expect(text(scene.plan.seek(by: second(2), exact: false)) == ["seek 6.0 syncAfter 2.0", "seeking 6.0"])
        #expect(text(scene.plan.seek(by: second(-2), exact: false)) == ["seek 2.0 syncBefore 2.0", "seeking 2.0"])
        scene.moment = second(7)
        #expect(text(scene.plan.seek(by: second(2), exact: false)) == ["seek 9.0 syncAfter 0.999", "seeking 9.0"])
    }

    @Test(arguments: [(true, 250), (false, 0)])
    func tracksThatCannotChooseASyncFrameSeekExactly(sharesReader: Bool, pictures: Int) throws {
        let scene = try Scene(sharesReader: sharesReader, pictures: pictures)
        #expect(text(scene.plan.seek(by: second(2), exact: false)) == ["seek 6.0 exact", "seeking 6.0"])
    }

    @Test func aSeekBeyondTheEndEndsTheItemUnlessItIsTheLastOneAndPaused() throws {
        var scene = try Scene()
        scene.moment = second(9)
        #expect(text(scene.plan.seek(by: second(2), exact: true)) == ["end"])
        scene.wantsPlay = false
        #expect(text(scene.plan.seek(by: second(2), exact: true)) == ["seek 9.9 exact", "seeking 9.9"])
        var two = try Scene(2)
        (two.moment, two.wantsPlay) = (second(9), false)
        #expect(text(two.plan.seek(by: second(2), exact: true)) == ["end"])
    }

    @Test func mediaThatIsNotSeekableIsRefusedWithAMessage() throws {
        let scene = try Scene(isLive: true)
        #expect(text(scene.plan.seek(to: second(1), exact: true)) == ["This film is not seekable."])
        #expect(text(scene.plan.seek(by: second(1), exact: true)) == ["This film is not seekable."])
        var failed = try Scene()
        failed.state.phase = .failed
        #expect(text(failed.plan.seek(to: second(1), exact: true)) == [])
        #expect(text(SeekDecision(in: PlaybackList(), PlayerState(), at: .zero, wantsPlay: true).refusal) == [])
    }

    // MARK: Chapters

    @Test func chaptersAreSteppedThroughAndTheCurrentOneIsRepeatedAfterFiveSeconds() throws {
        var scene = try Scene()
        #expect(text(scene.plan.seek(byChapters: 1)) == ["This film has no chapters."])
        scene.state.chapters = [0, 1, 8].map { Chapter(start: second($0)) }
        #expect(text(scene.plan.seek(byChapters: 1)) == ["seek 8.0 exact", "seeking 8.0"])
        #expect(text(scene.plan.seek(byChapters: -1)) == ["seek 0.0 exact", "seeking 0.0"])
        scene.moment = second(7)
        #expect(text(scene.plan.seek(byChapters: -1)) == ["seek 1.0 exact", "seeking 1.0"])
        #expect(text(scene.plan.seek(byChapters: 2)) == ["end"])
        #expect(text(scene.plan.seek(byChapters: 0)) == [])
        #expect(text(scene.plan.seek(byChapters: .max)) == ["end"])
        #expect(text(scene.plan.seek(byChapters: .min)) == ["seek 0.0 exact", "seeking 0.0"])
    }

    // MARK: Interstitials

    @Test func aSeekAcrossAMandatoryInterstitialPlaysItFirst() throws {
        var scene = try Scene()
        try scene.addInterstitial()
        #expect(text(scene.plan.seek(to: second(8), exact: true)) == ["seek 8.0 exact", "seeking 8.0"])
        var mandatory = try Scene()
        try mandatory.addInterstitial { $0.forbidsJumping = true }
        let sentence = "An interstitial is played first; the film continues at \(second(8).clock)."
        #expect(text(mandatory.plan.seek(to: second(8), exact: true)) == [sentence, "open part"])
        #expect(text(mandatory.plan.seek(by: second(4), exact: false)) == [sentence, "open part"])
        #expect(text(mandatory.plan.seek(to: second(5), exact: true)) == ["seek 5.0 exact", "seeking 5.0"])
    }

    @Test func commandsDuringAnInterstitialReferToItsItem() throws {
        var scene = try Scene()
        try scene.addInterstitial()
        try scene.enterInterstitial()
        scene.moment = second(1)
        #expect(scene.plan.commandTime == second(6))
        #expect(text(scene.plan.seek(by: second(-2), exact: true)) == ["open 1 at 4.0"])
        #expect(text(scene.plan.seek(by: second(2), exact: true)) == ["open 1 at 8.0"])
        #expect(text(scene.plan.skipInterstitial()) == ["open 1"])
        #expect(!scene.plan.forbidsSkipping)
    }

    @Test func anInterstitialThatMayNotBeSkippedRefusesSeeksForward() throws {
        var scene = try Scene()
        try scene.addInterstitial { $0.forbidsSkipping = true }
        #expect(!scene.plan.forbidsSkipping)
        #expect(scene.plan.skipInterstitial() == nil)
        try scene.enterInterstitial()
        let sentence = "This interstitial cannot be skipped; the film continues after it."
        #expect(scene.plan.forbidsSkipping)
        #expect(text(scene.plan.seek(by: second(2), exact: true)) == [sentence])
        #expect(text(scene.plan.skipInterstitial()) == [sentence])
        #expect(text(scene.plan.seek(by: second(-2), exact: true)) == ["open 1 at 4.0"])
    }

    // MARK: The end

    @Test func theEndOfAnEntryLeadsToWhatTheListSays() throws {
        var scene = try Scene()
        #expect(words(scene.list.actionsAtEnd) == ["stop", "end"])
        _ = scene.list.apply(.loop(item: .forever, list: .times(0)))
        #expect(words(scene.list.actionsAtEnd) == ["again 1"])
        let listPosition = try #require(scene.list.entries.first).listPosition
        scene.list.markPlayed(listPosition)
        scene.list.markUnplayable(listPosition.item.id)
        #expect(words(scene.list.actionsAtEnd) == ["stop", "wait"], "lost media of a loop")

        var live = try Scene(2, isLive: true)
        #expect(words(live.list.actionsAtEnd) == ["open 2"])
        _ = live.list.apply(.loop(item: .times(1), list: .times(0)))
        #expect(words(live.list.actionsAtEnd) == ["This film is not seekable; it is played once.", "open 2"])
    }

    private func words(_ actions: [PlaybackAction]) -> [String] {
        actions.map { action in
            switch action {
            case .stop: "stop"
            case .end: "end"
            case .waitForReturn: "wait"
            case .startAgain(let listPosition): "again \(listPosition.itemPass)"
            case .open(let listPosition, nil): "open \(listPosition.item.address)"
            case .report(.message(let sentence)): sentence
            default: "other"
            }
        }
    }
}

extension SeekAim {
    fileprivate var word: String {
        switch self {
        case .exact: "exact"
        case .exactAlone: "exact alone"
        case .anySyncBefore: "anySyncBefore"
        case .syncBefore(let distance): "syncBefore \(distance.seconds)"
        case .syncAfter(let distance): "syncAfter \(distance.seconds)"
        }
    }
}
