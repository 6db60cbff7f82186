import Foundation
import MediaCore
import TalkieTestKit
import Testing

@testable import Kiosk
@testable import Playback
@testable import Storage

/// Which items of a playlist are currently excluded.
@Suite struct ItemExclusionsTests {
    private let folder = TemporaryFolder()
    private let start = HostInstant(nanoseconds: 1_000_000_000_000)
    private let items = ["a", "b", "c"].map { PlaylistLoader.Item(address: "/\($0).mp4") }

    /// - Parameter crashed: items during which the program has crashed twice.
    private func exclusions(crashed: [PlaylistLoader.Item] = []) -> ItemExclusions {
        let crashes = CrashRecord(StateFolder(path: folder.path), configuration: "a.toml")
        for item in crashed {
            crashes.update { history in
                for _ in 0..<2 {
                    history.recordOpening(CrashHistory.key(of: item.address), edition: "")
                    _ = history.begin(at: WallTime(seconds: 1_700_000_000), afterCrash: true)
                }
            }
        }
        return ItemExclusions(crashes)
    }

    @Test func aSkippedItemIsNamedWithTheReasonAndWithoutItsPassword() {
        let skipped = "is skipped for a day, or until its file changes: "
        let film = ItemExclusions.Item(address: "https://me:secret@host/a.mp4?token=hidden")
        #expect(
            ItemExclusions.sentence(film, .crashed)
                == "'https://…@host/a.mp4?token=…' \(skipped)it ended the program twice in a row")
        let titled = ItemExclusions.Item(address: "/films/a.mp4", title: "Welcome")
        #expect(
            ItemExclusions.sentence(titled, .stuck) == "'Welcome' \(skipped)it showed neither picture nor sound")
        #expect(ItemExclusions.sentence(titled, .slow) == "'Welcome' is played later: it arrives too slowly")
    }

    @Test func aSlowItemComesBackAfterAMinuteAndThenLater() {
        var exclusions = exclusions()
        exclusions.exclude(items[1], for: .slow, at: start)
        let (admitted, new) = exclusions.admit(items, at: start)
        #expect(admitted == [items[0], items[2]] && new.map(\.item) == [items[1]])
        #expect(exclusions.sentences == ["'/b.mp4' is played later: it arrives too slowly"])
        let wall = WallTime(seconds: 1_700_000_000)
        let soon = exclusions.expire(at: start.advanced(by: .seconds(59)), wall: wall)
        let later = exclusions.expire(at: start.advanced(by: .seconds(60)), wall: wall)
        #expect(!soon && later)
        let again = exclusions.admit(items, at: start.advanced(by: .seconds(60)))
        #expect(again.items == items && again.new.isEmpty)
        let second = start.advanced(by: .seconds(90))
        exclusions.exclude(items[1], for: .slow, at: second)
        #expect(exclusions.admit(items, at: second.advanced(by: .seconds(119))).items.count == 2)
        #expect(exclusions.admit(items, at: second.advanced(by: .seconds(120))).items.count == 3)
    }

    @Test func anItemThatPlaysAgainBeginsWithTheShortPause() {
        var exclusions = exclusions()
        for number in 0..<5 { exclusions.exclude(items[0], for: .slow, at: start.advanced(by: .seconds(number))) }
        let late = start.advanced(by: .seconds(10_000))
        exclusions.recordPlaying(items[0], at: late.advanced(by: .seconds(-15)))
        exclusions.recordProgress(of: items[0], at: late.advanced(by: .seconds(-1)))
        #expect(exclusions.hasFailed(items[0]), "it may stop again")
        exclusions.recordProgress(of: items[0], at: late)
        #expect(!exclusions.hasFailed(items[0]))
        exclusions.exclude(items[0], for: .slow, at: late)
        #expect(exclusions.admit(items, at: late.advanced(by: .seconds(60))).items.count == 3)
    }

    @Test func aShortItemThatPlayedToItsEndHasNotFailed() {
        var exclusions = exclusions()
        exclusions.exclude(items[0], for: .slow, at: start)
        exclusions.recordPlaying(items[0], at: start)
        exclusions.recordEnded(at: start.advanced(by: .seconds(59)))
        #expect(exclusions.hasFailed(items[0]), "an item that was passed over has not ended")
        exclusions.recordPlaying(items[0], at: start.advanced(by: .seconds(60)))
        exclusions.recordEnded(at: start.advanced(by: .seconds(65)))
        #expect(!exclusions.hasFailed(items[0]))
    }

    @Test func anItemThatGotStuckIsSkippedForADayOrUntilItsFileChanges() {
        var exclusions = exclusions()
        let path = folder.write("one", to: "a.mp4")
        var item = PlaylistLoader.Item(address: path)
        item.edition = FileEdition(of: path)
        exclusions.exclude(item, for: .stuck, at: start)
        #expect(exclusions.admit([item] + items, at: start.advanced(by: .seconds(86_399))).items == items)
        #expect(exclusions.admit([item] + items, at: start.advanced(by: .seconds(86_400))).items.count == 4)
        exclusions.exclude(item, for: .stuck, at: start)
        folder.write("two two", to: "a.mp4")
        item.edition = FileEdition(of: path)
        #expect(exclusions.admit([item] + items, at: start).items.count == 4)
    }

    @Test func whereNothingElseIsLeftSlowItemsArePlayed() {
        var exclusions = exclusions()
        exclusions.exclude(items[0], for: .slow, at: start)
        exclusions.exclude(items[1], for: .stuck, at: start)
        #expect(exclusions.admit(Array(items.prefix(2)), at: start).items == [items[0]])
        #expect(exclusions.sentences.count == 1)
    }

    @Test func whereNothingElseIsLeftStuckItemsArePlayedAfterAQuarterOfAnHourEachTime() {
        var exclusions = exclusions()
        var now = start
        for _ in 0..<2 {
            exclusions.exclude(items[0], for: .stuck, at: now)
            let (admitted, new) = exclusions.admit([items[0]], at: now)
            #expect(admitted.isEmpty && new.count == 1 && exclusions.retryText == "after a quarter of an hour")
            let soon = exclusions.admit([items[0]], at: now.advanced(by: .seconds(899)))
            now = now.advanced(by: .seconds(900))
            let isDue = exclusions.expire(at: now, wall: WallTime(seconds: 1_700_000_000))
            let later = exclusions.admit([items[0]], at: now)
            #expect(soon.items.isEmpty && isDue && later.items == [items[0]])
            #expect(exclusions.hasFailed(items[0]))
        }
    }

    @Test func whereNothingElseIsLeftItemsThatEndedTheProgramArePlayedAfterAMinute() {
        var exclusions = exclusions(crashed: Array(items.prefix(2)))
        let wall = WallTime(seconds: 1_700_000_100)
        let list = Array(items.prefix(2))
        let (admitted, new) = exclusions.admit(list, at: start)
        #expect(admitted.isEmpty && new.count == 2)
        let soon = exclusions.expire(at: start.advanced(by: .seconds(59)), wall: wall)
        let due = exclusions.expire(at: start.advanced(by: .seconds(60)), wall: wall)
        #expect(!soon && due)
        #expect(exclusions.admit(list, at: start.advanced(by: .seconds(60))).items == list)
        #expect(exclusions.sentences.isEmpty && exclusions.isSuspect("/a.mp4"))
        let isDueAgain = exclusions.expire(at: start.advanced(by: .seconds(61)), wall: wall)
        #expect(!isDueAgain)
        // As soon as another item is available, they are skipped again.
        #expect(exclusions.admit(items, at: start.advanced(by: .seconds(70))).items == [items[2]])
        #expect(exclusions.admit(list, at: start.advanced(by: .seconds(80))).items.isEmpty)
    }

    @Test func aFaultThatIsNotInTheItemsBringsThemBack() {
        var exclusions = exclusions()
        exclusions.exclude(items[0], for: .stuck, at: start)
        exclusions.exclude(items[1], for: .slow, at: start)
        exclusions.forgiveStuck()
        #expect(exclusions.admit(items, at: start).items == [items[0], items[2]])
    }

    /// Its media could not be decoded, so that playback waited before it began; the display was dead before and after.
    @Test func anUndecodableItemIsStuckAndTheItemsThatNoDisplayShowedAreNot() {
        var exclusions = exclusions()
        exclusions.recordStalled(items[0], for: .video, isDamaged: false)
        exclusions.recordStalled(items[1], for: .waiting, isDamaged: true)
        exclusions.recordStalled(items[2], for: .video, isDamaged: false)
        #expect(excluded(&exclusions) == [], "no other one has played")
        let isExcluding = exclusions.recordAdvancing(items[0], hasAudio: true, at: start)
        #expect(isExcluding && excluded(&exclusions) == [items[1]])
        #expect(exclusions.sentences.first?.contains("is skipped for a day") == true)
    }

    @Test func aFaultThatIsNotInTheItemsIsChargedToNoneThatWasLeft() {
        var exclusions = exclusions()
        exclusions.recordStalled(items[0], for: .video, isDamaged: false)
        let isCounted = exclusions.recordAdvancing(items[2], hasAudio: true, at: start)
        exclusions.recordStalled(items[1], for: .decoder, isDamaged: false)
        exclusions.forgiveStuck()
        let isExcluding = exclusions.recordAdvancing(items[2], hasAudio: true, at: start)
        #expect(!isCounted && !isExcluding && excluded(&exclusions) == [])
        #expect(!exclusions.hasFailed(items[0]) && !exclusions.hasFailed(items[1]))
    }

    /// Calls `body` with exclusions in whose history "/a.mp4" was open when the program ended.
    private func withSuspect(_ body: (inout ItemExclusions) -> Void) {
        let state = StateFolder(path: folder.path)
        let before = CrashRecord(state, configuration: "a.toml")
        before.recordOpening("/a.mp4")
        before.recordFault()
        let crashes = CrashRecord(state, configuration: "a.toml")
        crashes.begin(at: WallTime(seconds: 1_700_000_000))
        var exclusions = ItemExclusions(crashes)
        body(&exclusions)
    }

    /// A web address is read ahead at the speed of its server.
    @Test(arguments: ["/next.mp4", "http://a/next.mp4"])
    func aFileThatWasOnlyOpenedAheadIsNoSuspectOnceItHasPlayedForFiveSeconds(address: String) {
        let state = StateFolder(path: folder.path)
        let before = CrashRecord(state, configuration: "a.toml")
        for opened in ["/a.mp4", address] { before.recordOpening(opened) }
        before.recordFault()
        let crashes = CrashRecord(state, configuration: "a.toml")
        crashes.begin(at: WallTime(seconds: 1_700_000_000))
        var exclusions = ItemExclusions(crashes)
        for item in [items[0], ItemExclusions.Item(address: address)] {
            exclusions.recordLeft()
            exclusions.recordPlaying(item, at: start)
            let isEarly = exclusions.recordProgress(of: item, at: start.advanced(by: .milliseconds(4900)))
            let isProved = exclusions.recordProgress(of: item, at: start.advanced(by: .seconds(5)))
            #expect(!isEarly && isProved == (item.address == "/next.mp4"))
            #expect(exclusions.isSuspect(item.address) == !isProved)
        }
    }

    @Test func onlyAnItemThatPlayedToItsEndIsNoSuspectAnyMore() {
        withSuspect { exclusions in
            exclusions.recordPlaying(items[0], at: start)
            exclusions.recordLeft()
            exclusions.recordBegan(items[1], at: start.advanced(by: .seconds(10)))
            #expect(exclusions.isSuspect("/a.mp4"))
            exclusions.recordBegan(items[0], at: start.advanced(by: .seconds(20)))
            exclusions.recordBegan(items[1], at: start.advanced(by: .seconds(30)))
            #expect(!exclusions.isSuspect("/a.mp4"))
        }
    }

    @Test func anItemThatPlaysForTenMinutesIsNoSuspectAnyMore() {
        withSuspect { exclusions in
            exclusions.recordPlaying(items[0], at: start)
            exclusions.recordProgress(of: items[0], at: start.advanced(by: .seconds(599)))
            #expect(exclusions.isSuspect("/a.mp4"))
            exclusions.recordProgress(of: items[0], at: start.advanced(by: .seconds(600)))
            #expect(!exclusions.isSuspect("/a.mp4"))
        }
    }

    // MARK: Items without progress

    /// Returns what `admit` excludes.
    private func excluded(_ exclusions: inout ItemExclusions) -> [PlaylistLoader.Item] {
        let admitted = exclusions.admit(items, at: start).items
        return items.filter { !admitted.contains($0) }
    }

    @Test func anItemWithoutProgressIsExcludedOnceAnotherOneHasPlayed() {
        var exclusions = exclusions()
        exclusions.recordStalled(items[0], for: .hole, isDamaged: false)
        exclusions.recordStalled(items[1], for: .silence, isDamaged: true)
        #expect(excluded(&exclusions) == [])
        // Only sound shows that the outputs accept some.
        let isPicture = exclusions.recordAdvancing(items[2], hasAudio: false, at: start)
        #expect(isPicture && excluded(&exclusions) == [items[0]])
        let isSound = exclusions.recordAdvancing(items[2], hasAudio: true, at: start)
        #expect(isSound && excluded(&exclusions) == [items[0], items[1]])
        #expect(exclusions.sentences.allSatisfy { $0.contains("showed neither picture nor sound") })
    }

    @Test func anItemThatAdvancesAfterAllIsNotExcluded() {
        var exclusions = exclusions()
        exclusions.recordStalled(items[0], for: .frozen, isDamaged: false)
        let isOwn = exclusions.recordAdvancing(items[0], hasAudio: true, at: start)
        let isOther = exclusions.recordAdvancing(items[1], hasAudio: true, at: start)
        #expect(!isOwn && !isOther && excluded(&exclusions) == [])
    }

    /// A dead sound server, or a dead display.
    @Test(arguments: [Liveness.Cause.audio, .video])
    func ifTwoItemsInARowLackOutputTheOutputIsTheFault(_ cause: Liveness.Cause) {
        var exclusions = exclusions()
        for item in [items[0], items[1], items[0], items[2], items[0]] {
            exclusions.recordStalled(item, for: cause, isDamaged: false)
        }
        let isExcluding = exclusions.recordAdvancing(items[1], hasAudio: true, at: start)
        #expect(!isExcluding && excluded(&exclusions) == [])
        // A film without media is at fault all the same.
        exclusions.recordStalled(items[0], for: .decoder, isDamaged: false)
        exclusions.recordStalled(items[1], for: cause, isDamaged: false)
        exclusions.recordStalled(items[2], for: cause, isDamaged: false)
        let isDead = exclusions.recordAdvancing(items[1], hasAudio: true, at: start)
        #expect(isDead && excluded(&exclusions) == [items[0]])
    }

    /// The decoder or the clock, which all items share, may be the cause.
    @Test func itemsThatAreLeftInARowAreTriedAgainBeforeTheyAreExcluded() {
        var exclusions = exclusions()
        for pass in 1...2 {
            exclusions.recordStalled(items[0], for: .frozen, isDamaged: false)
            exclusions.recordStalled(items[1], for: .decoder, isDamaged: false)
            let isExcluding = exclusions.recordAdvancing(items[2], hasAudio: true, at: start)
            #expect(isExcluding == (pass == 2))
            #expect(excluded(&exclusions) == (pass == 2 ? [items[0], items[1]] : []))
        }
    }

    /// Silence advances without a picture, whatever is wrong with the decoder.
    @Test func theTestSoundDoesNotProveThatFilmsInARowAreDamaged() {
        var exclusions = exclusions()
        exclusions.recordStalled(items[0], for: .frozen, isDamaged: false)
        #expect(!exclusions.suspectsSharedDecoder)
        exclusions.recordStalled(items[1], for: .decoder, isDamaged: false)
        let test = ItemExclusions.Item(address: "/test")
        let isExcluding = exclusions.recordAdvancing(test, hasAudio: true, at: start)
        #expect(!isExcluding)
        exclusions.recordStalled(items[0], for: .frozen, isDamaged: false)
        #expect(exclusions.suspectsSharedDecoder)
    }

    @Test func whatIsExcludedIsAdmittedOnceWhereNothingElseIsLeft() {
        var exclusions = exclusions(crashed: [items[1]])
        exclusions.recordStalled(items[0], for: .hole, isDamaged: false)
        _ = exclusions.recordAdvancing(ItemExclusions.Item(address: "/test"), hasAudio: true, at: start)
        let none = exclusions.admit(Array(items.prefix(2)), at: start).items
        #expect(none.isEmpty)
        let later = start.advanced(by: .seconds(901))
        let wall = WallTime(seconds: 1_700_000_901)
        let isDue = exclusions.expire(at: later, wall: wall)
        #expect(isDue)
        let admitted = exclusions.admit(Array(items.prefix(2)), at: later).items
        #expect(admitted == [items[0]])
        let isDueAgain = exclusions.expire(at: later.advanced(by: .seconds(1)), wall: wall)
        #expect(!isDueAgain)
    }

    /// Opened alone, nothing of it is decoded, and it is passed at once.
    @Test func anItemThatHasStalledAndThenCannotBePlayedIsExcluded() {
        var exclusions = exclusions()
        for item in items.prefix(2) { exclusions.recordStalled(item, for: .hole, isDamaged: false) }
        let isExcluding = exclusions.recordAdvancing(items[2], hasAudio: true, at: start)
        #expect(!isExcluding)
        exclusions.recordFailed(items[0], isPresent: false)
        let isExcludingMissing = exclusions.recordAdvancing(items[2], hasAudio: true, at: start)
        #expect(!isExcludingMissing, "its file may be back in the next pass")
        exclusions.recordPlaying(items[0], at: start)
        exclusions.recordFailed(items[0])
        // The phase of the item that follows comes before its beginning.
        exclusions.recordPlaying(items[0], at: start)
        exclusions.recordEnded(at: start)
        let isExcludingNow = exclusions.recordAdvancing(items[2], hasAudio: true, at: start)
        #expect(isExcludingNow && excluded(&exclusions) == [items[0]])
        exclusions.recordFailed(items[2])
        #expect(!exclusions.hasFailed(items[2]), "it may be opened later")
    }

    @Test func whereNoItemHasSoundAFaultOfTheDisplayEndsWithAnItemThatIsSeen() {
        var exclusions = exclusions()
        for item in items.prefix(2) { exclusions.recordStalled(item, for: .video, isDamaged: false) }
        for pass in 0...2 {
            let isExcluding = exclusions.recordAdvancing(items[2], hasAudio: false, at: start)
            #expect(isExcluding == (pass == 2))
            exclusions.recordStalled(items[0], for: .video, isDamaged: false)
        }
        #expect(excluded(&exclusions) == [items[0]])
    }

    @Test func anItemThatIsOnlySeenDoesNotEndAFaultOfTheSound() {
        var exclusions = exclusions()
        for item in items.prefix(2) { exclusions.recordStalled(item, for: .audio, isDamaged: false) }
        for _ in 0...2 {
            _ = exclusions.recordAdvancing(items[2], hasAudio: false, at: start)
            exclusions.recordStalled(items[0], for: .audio, isDamaged: false)
        }
        let isExcluding = exclusions.recordAdvancing(items[2], hasAudio: true, at: start)
        #expect(!isExcluding && !exclusions.hasFailed(items[0]))
    }

    @Test func anItemThatAloneLacksOutputIsExcludedTheSecondTime() {
        var exclusions = exclusions()
        for pass in 1...2 {
            exclusions.recordStalled(items[0], for: .audio, isDamaged: false)
            let isExcluding = exclusions.recordAdvancing(items[1], hasAudio: true, at: start)
            #expect(isExcluding == (pass == 2))
            #expect(exclusions.hasFailed(items[0]))
        }
        #expect(excluded(&exclusions) == [items[0]])
    }
}
