import MediaCore
import Testing

@testable import Playback
@testable import TalkieTestKit

extension PlaybackList {
    /// A list of items with these addresses, at its first one, which plays.
    init(
        _ items: [QueueItem], loop: PlayerOptions.Loop, order: PlayerOptions.PlaylistOrder = .listed,
        retry: PlayerOptions.Retry = .eachPass
    ) throws {
        self.init()
        _ = apply(.retry(retry))
        _ = apply(.loop(item: .times(0), list: loop))
        _ = apply(.order(order))
        let first = reset(to: items)
        self.await(first)
    }

    /// Makes the position that follows the current one current.
    fileprivate mutating func advanceToNext() throws {
        let now = try #require(present)
        let next = try #require(successor(of: now, plays: true))
        self.await(next)
    }

    /// Makes the current position an entry of the schedule.
    fileprivate mutating func begin() throws {
        let listPosition = try #require(present)
        begin(with: entry(of: listPosition))
        markPlayed(listPosition)
    }

    private mutating func entry(of listPosition: PlaylistPosition) -> ScheduledItem {
        let film = CountedFilm(1, frameCount: 50, audioFrameCount: 96_000)
        return ScheduledItem(
            serial: newSerial(), listPosition: listPosition, media: PrefetchedMedia(film),
            audioTrack: film.summary.track(.audio),
            videoTrack: film.summary.track(.video))
    }

    /// Schedules what follows without a pause, at most so many entries.
    fileprivate mutating func layOut(atMost count: Int = 16) {
        while entries.count <= count, let last = entries.last, let listPosition = successor(of: last),
            pause(between: last.listPosition, and: listPosition, plays: true) == .zero
        { append(entry(of: listPosition)) }
    }

    fileprivate var toCome: [String] { entries.dropFirst().map(\.item.address) }
}

private func items(_ names: String...) -> [QueueItem] { names.map { QueueItem($0) } }

/// The order of playback, passes, and unplayable items.
@Suite struct PlaybackOrderTests {
    /// The addresses that are played if all items can be.
    private func play(_ list: PlaybackList, atMost limit: Int = 100) -> [String] {
        var list = list
        var played: [String] = []
        var listPosition = list.present
        while let now = listPosition, played.count < limit {
            list.await(now)
            list.markPlayed(now)
            played.append(now.item.address)
            listPosition = list.successor(of: now)
        }
        return played
    }

    /// As where a kiosk finds other files while it plays.
    @Test func anItemThatFailedInAPassIsNotTriedAgainInItWhenTheListIsReplaced() throws {
        let all = items("a", "bad", "c")
        var list = try PlaybackList(all, loop: .forever)
        try list.begin()
        list.markUnplayable(all[1].id, in: 0)
        let isReplaced = list.apply(.replaceAll(items("a", "bad", "c", "d"), order: nil))
        #expect(isReplaced)
        list.layOut(atMost: 7)
        #expect(Array(list.toCome.prefix(6)) == ["c", "d", "a", "bad", "c", "d"])
    }

    @Test func theListIsPlayedInOrderAndAsOftenAsItWasAskedFor() throws {
        #expect(play(try PlaybackList(items("a", "b"), loop: .times(0))) == ["a", "b"])
        #expect(play(try PlaybackList(items("a", "b"), loop: .times(2))) == ["a", "b", "a", "b", "a", "b"])
        #expect(play(try PlaybackList(items("a"), loop: .forever), atMost: 50).count == 50)
    }

    @Test func aListOfNothingButFailuresIsNotRepeated() throws {
        /// What follows the first and the second item when both fail, or the second only.
        func following(firstPlays: Bool) throws -> [String?] {
            let all = items("a", "b")
            var list = try PlaybackList(all, loop: .forever)
            let first = try #require(list.present)
            if firstPlays { list.markPlayed(first) } else { list.markUnplayable(all[0].id, in: 0) }
            let second = try #require(list.successor(of: first))
            list.markUnplayable(all[1].id, in: 0)
            return [second.item.address, list.successor(of: second)?.item.address]
        }
        #expect(try following(firstPlays: false) == ["b", nil])
        // One that plays among them is reason enough.
        #expect(try following(firstPlays: true) == ["b", "a"])
    }

    @Test func itemsAreSteppedToWithinTheList() throws {
        var list = try PlaybackList(items("a", "b"), loop: .times(0))
        var answers: [String?] = []
        for distance in [-1, 1, 1] {
            let listPosition = list.step(by: distance)
            if let listPosition { list.await(listPosition) }
            answers.append(listPosition?.item.address)
        }
        #expect(answers == [nil, "b", nil])
        #expect(list.present?.item.address == "b")
        #expect(list.ordinal == (2, 2))
    }

    @Test func whatAPageListsIsPutBehindItOnce() throws {
        var list = try PlaybackList(items("a", "page", "z"), loop: .times(0))
        let answers = ["page", "page", "gone"].map { list.insert(items("b", "c"), after: $0) }
        #expect(answers == [true, false, false], "a second playing lists them again")
        #expect(list.items.map(\.address) == ["a", "page", "b", "c", "z"])
    }

    @Test func theRestOfTheListComesAndThenAsManyPassesAsWereAskedFor() throws {
        var list = try PlaybackList(items("a", "b", "c"), loop: .times(1))
        try list.begin()
        list.layOut()
        #expect(list.toCome == ["b", "c", "a", "b", "c"])
        var endless = try PlaybackList(items("a"), loop: .forever)
        try endless.begin()
        endless.layOut()
        #expect(endless.toCome.count > 8 && endless.toCome.allSatisfy { $0 == "a" })
    }

    @Test func anItemThatBeginsLeavesTheListBehindItAndKeepsTheEntriesOfTheOthers() throws {
        var list = try PlaybackList(items("a", "b", "c"), loop: .times(1))
        try list.begin()
        list.layOut()
        let before = list.entries.map(\.serial)
        list.advance()
        list.advance()
        #expect(list.present?.item.address == "c" && list.ordinal == (3, 3))
        list.layOut()
        #expect(list.entries.map(\.serial) == Array(before.dropFirst(2)))
        #expect(list.entry(before[1]) == nil)
    }

    @Test func anItemThatFailedAheadIsNotTriedAgainInThisPass() throws {
        let all = items("a", "bad")
        var list = try PlaybackList(all, loop: .times(0))
        try list.begin()
        list.markUnplayable(all[1].id, in: 0)
        list.layOut()
        #expect(list.toCome.isEmpty)
        #expect(list.successor(of: list.entries[0]) == nil)
        // In a further pass it is.
        var again = try PlaybackList(all, loop: .times(1))
        try again.begin()
        again.markUnplayable(all[1].id, in: 0)
        again.layOut()
        #expect(again.toCome == ["a", "bad"])
    }

    @Test func anItemFurtherAheadThatFailedIsNotTriedAgainWhenTheOneBeforeItHasBegun() throws {
        let all = items("a", "b", "bad")
        var list = try PlaybackList(all, loop: .times(0))
        try list.begin()
        list.layOut(atMost: 1)
        list.markUnplayable(all[2].id, in: 0)
        list.layOut()
        #expect(list.toCome == ["b"])
        list.advance()
        list.markPlayed(list.entries[0].listPosition)
        list.layOut()
        #expect(list.toCome.isEmpty)
        #expect(list.successor(of: list.entries[0]) == nil)
    }

    @Test func aPassOfWhichNothingCanBePlayedIsFollowedByPausesThatGrowAndByNoFurtherPass() throws {
        var list = try PlaybackList(items("a", "b", "c"), loop: .forever)
        try list.begin()
        let playing = list.entries[0]
        var tried = 0
        while let next = list.successor(of: playing), tried < 100,
            list.pause(between: playing.listPosition, and: next, plays: true) == .zero
        {
            tried += 1
            list.markUnplayable(next.item.id, in: next.listPass)
        }
        #expect(tried == 5, "the rest of this pass and all of the next")
        // The item that plays has ended: each pass from here on waits longer than the one before, up to a limit.
        var pauses: [Duration] = []
        var listPosition = playing.listPosition
        for _ in 0..<18 {
            let next = try #require(list.successor(of: listPosition))
            let pause = list.pause(between: listPosition, and: next, plays: false)
            if next.item.address == "a" { pauses.append(pause) } else { #expect(pause == .zero) }
            list.await(next)
            list.markUnplayable(next.item.id, in: next.listPass)
            listPosition = next
        }
        #expect(pauses.map { $0 / .milliseconds(1) } == [100, 200, 400, 700, 700, 700])
        list.markPlayed(listPosition)
        let next = try #require(list.successor(of: listPosition))
        #expect(list.pause(between: listPosition, and: next, plays: true) == .zero)
    }

    @Test func whatWasScheduledBehindItemsThatFailIsDropped() throws {
        let all = items("a", "b")
        var list = try PlaybackList(all, loop: .forever)
        try list.begin()
        list.layOut(atMost: 5)
        #expect(list.firstMismatch == nil)
        // The rest of this pass, and all of the next: a pause follows.
        for (item, pass) in [(all[1], 0), (all[0], 1), (all[1], 1)] { list.markUnplayable(item.id, in: pass) }
        #expect(list.firstMismatch == 1)
        list.truncate(after: list.entries[0].serial)
        list.layOut()
        #expect(list.toCome.isEmpty)
    }

    @Test func whatPlaysAgainAfterEmptyPassesIsFollowedWithoutAPause() throws {
        let all = items("a", "b")
        var list = try PlaybackList(all, loop: .times(3))
        try list.begin()
        for item in all { list.markUnplayable(item.id, in: 1) }
        list.markUnplayable(all[1].id, in: 0)
        let later = try #require(list.successor(of: list.entries[0]))
        #expect(later.listPass == 2)
        list.await(later)
        try list.begin()
        list.layOut()
        #expect(list.toCome == ["b", "a", "b"], "empty passes are counted")
    }
}

/// Lists that change while they are played.
@Suite struct PlaybackListReplacingTests {
    /// What comes from here on, so many.
    private func coming(_ list: PlaybackList, _ count: Int) throws -> [String] {
        var (list, names) = (list, [String]())
        while names.count < count {
            try list.advanceToNext()
            let listPosition = try #require(list.present)
            list.markPlayed(listPosition)
            names.append(listPosition.item.address)
        }
        return names
    }

    /// - Parameter index: The item that plays.
    private func playing(_ index: Int, of all: [QueueItem]) throws -> PlaybackList {
        var list = try PlaybackList(all, loop: .forever)
        for _ in 0..<index { try list.advanceToNext() }
        let listPosition = try #require(list.present)
        list.markPlayed(listPosition)
        return list
    }

    private func replace(_ list: inout PlaybackList, with items: [QueueItem]) {
        let isChanged = list.apply(.replaceAll(items, order: nil))
        #expect(isChanged)
    }

    @Test func aNewFilmComesWhereTheListHasIt() throws {
        var list = try playing(1, of: items("a", "b", "d"))
        replace(&list, with: items("a", "b", "c", "d"))
        #expect(list.present?.item.address == "b" && list.ordinal == (2, 4))
        #expect(try coming(list, 4) == ["c", "d", "a", "b"])
    }

    @Test func theFilmThatPlaysIsSeenToItsEndWhenItLeavesTheList() throws {
        var list = try playing(1, of: items("a", "b", "c", "d"))
        let present = try #require(list.present?.item)
        replace(&list, with: items("a", "c", "d"))
        #expect(list.present?.item == present && list.contains(present.id))
        #expect(list.ordinal == (1, 3))
        #expect(try coming(list, 4) == ["c", "d", "a", "c"])
    }

    @Test func theLastFilmIsFollowedByTheFirstWhenItLeavesTheList() throws {
        var list = try playing(2, of: items("a", "b", "c"))
        replace(&list, with: items("a", "b"))
        #expect(try coming(list, 3) == ["a", "b", "a"])
    }

    @Test func besideAFilmThatLeavesTheListAreItsNeighboursInTheNewOne() throws {
        for (distance, neighbour) in [(-1, "a"), (1, "c")] {
            var list = try playing(1, of: items("a", "b", "c", "d"))
            replace(&list, with: items("a", "c", "d"))
            let listPosition = list.step(by: distance)
            #expect(listPosition?.item.address == neighbour)
        }
        var first = try playing(0, of: items("a", "b"))
        replace(&first, with: items("x", "y"))
        let answers = [-1, 1].map { first.step(by: $0)?.item.address }
        #expect(answers == [nil, "x"])
    }

    @Test func aFilmThatWasChangedIsFollowedByItsNewEdition() throws {
        let folder = TemporaryFolder()
        let path = folder.write("1", to: "film")
        let old = try #require(FileEdition(of: path))
        folder.write("12", to: "film")
        let new = try #require(FileEdition(of: path))
        #expect(old != new)
        func item(_ edition: FileEdition) -> QueueItem {
            var item = PlaylistLoader.Item(address: path)
            item.edition = edition
            return QueueItem(item)
        }
        var list = try playing(0, of: [item(old)])
        replace(&list, with: [item(new)])
        #expect(list.present?.item.edition == old)
        try list.advanceToNext()
        #expect(list.present?.item.edition == new)
    }

    @Test func ofAFilmThatIsListedTwiceTheOneThatPlaysIsKept() throws {
        var list = try playing(3, of: items("a", "x", "b", "x", "c"))
        replace(&list, with: items("a", "x", "b", "x", "d"))
        #expect(try coming(list, 2) == ["d", "a"])
    }

    @Test func anotherListFollowsTheFilmThatPlays() throws {
        var list = try playing(1, of: items("a", "b"))
        replace(&list, with: items("x", "y"))
        #expect(list.present?.item.address == "b")
        #expect(try coming(list, 3) == ["x", "y", "x"])
    }

    @Test func aShuffledListPlaysEveryFilmOnceInEachPassAndNoneTwiceInARow() throws {
        let list = try PlaybackList(items("a", "b", "c", "d"), loop: .forever, order: .shuffled(seed: 7))
        let first = try #require(list.present)
        let names = try [first.item.address] + coming(list, 39)
        var orders: Set<[String]> = []
        for pass in 0..<10 {
            let order = Array(names[(pass * 4)..<(pass * 4 + 4)])
            #expect(Set(order) == ["a", "b", "c", "d"])
            orders.insert(order)
        }
        #expect(orders.count > 1)
        #expect(zip(names, names.dropFirst()).allSatisfy { $0 != $1 })
    }

    @Test func aShuffledListIsScheduledInTheOrderInWhichItIsPlayed() throws {
        var list = try PlaybackList(items("a", "b", "c", "d"), loop: .forever, order: .shuffled(seed: 7))
        let names = try coming(list, 12)
        try list.begin()
        list.layOut(atMost: 12)
        #expect(Array(list.toCome.prefix(12)) == names)
        for _ in 0..<12 {
            list.advance()
            #expect(list.firstMismatch == nil)
        }
    }

    @Test func aNewFilmFallsAmongThoseToComeOfAShuffledList() throws {
        var list = try PlaybackList(items("a", "b", "c", "d"), loop: .forever, order: .shuffled(seed: 7))
        try list.advanceToNext()
        let before = try coming(list, 2)
        replace(&list, with: items("a", "b", "c", "d", "e"))
        let after = try coming(list, 3)
        #expect(after.contains("e"))
        #expect(after.filter { $0 != "e" } == before)
    }

    @Test func endingAnOrderRestoresThatOfTheList() throws {
        let all = items("a", "b", "c", "d", "e")
        var list = try PlaybackList(all, loop: .times(0))
        _ = list.apply(.order(.shuffled(seed: 3)))
        #expect(list.items.first == all[0], "the item that plays stays where it is")
        #expect(list.items != all && Set(list.items) == Set(all))
        _ = list.apply(.insert(items("x"), after: all[1].id))
        _ = list.apply(.order(.listed))
        #expect(list.items.map(\.address) == ["a", "b", "x", "c", "d", "e"])
    }

    @Test func whatWasOpenedAheadStaysWhereTheListAgreesWithIt() throws {
        var list = try PlaybackList(items("a", "b", "c"), loop: .forever)
        try list.begin()
        list.layOut()
        let first = list.entries[1].serial
        replace(&list, with: items("a", "b", "x", "c"))
        #expect(list.firstMismatch == 2)
        list.truncate(after: first)
        list.layOut()
        #expect(list.entries[1].serial == first)
        #expect(Array(list.toCome.prefix(4)) == ["b", "x", "c", "a"])
    }
}

/// The items that have passed.
@Suite struct PlaybackHistoryTests {
    private func played(_ count: Int, of all: [QueueItem], loop: PlayerOptions.Loop = .times(0)) throws -> PlaybackList
    {
        var list = try PlaybackList(all, loop: loop)
        try list.begin()
        list.layOut()
        for _ in 0..<count { list.advance() }
        return list
    }

    @Test func itemsThatHavePassedAreTheHistory() throws {
        let all = items("a", "b", "c")
        var list = try played(2, of: all)
        #expect(list.history == Array(all[..<2]) && list.items == [all[2]])
        #expect(list.ordinal == (3, 3))
        let step = list.step(by: -1)
        let back = try #require(step)
        #expect(back.item == all[1])
        list.await(back)
        #expect(list.history == [all[0]] && list.items == Array(all[1...]))
        #expect(list.ordinal == (2, 3))
    }

    @Test func anItemOfTheHistoryReturnsWithThoseThatFollowIt() throws {
        let all = items("a", "b", "c", "d")
        var list = try played(3, of: all)
        let turns = [all[1], QueueItem("a")].map { list.recall($0.id)?.item }
        #expect(turns == [all[1], nil])
        #expect(list.history == [all[0]] && list.items == Array(all[1...]))
    }

    /// As in mpv, where a jump leaves the number of remaining repetitions.
    @Test func aJumpKeepsThePassSoThatTheRepetitionsThatRemainAreTheSame() throws {
        let all = items("a", "b", "c")
        var list = try played(4, of: all, loop: .times(2))
        #expect(list.present?.listPass == 1)
        let recalled = list.recall(all[0].id)
        let listPosition = try #require(recalled)
        list.await(listPosition)
        #expect(listPosition.listPass == 1 && list.ordinal == (1, 3))
        try list.begin()
        list.layOut()
        #expect(list.toCome == ["b", "c", "a", "b", "c"])
    }

    @Test func aJumpInAShuffledListContinuesInTheOrderOfItsPass() throws {
        let all = items("a", "b", "c", "d", "e")
        var list = try PlaybackList(all, loop: .forever, order: .shuffled(seed: 7))
        try list.begin()
        list.layOut(atMost: 14)
        for _ in 0..<6 { list.advance() }
        let pass = list.items
        let coming = Array(list.toCome.dropFirst(3))
        #expect(Set(pass) == Set(all) && list.present?.item == pass[1] && list.history.isEmpty)
        for target in [pass[3], pass[0]] {
            let recalled = list.recall(target.id)
            let listPosition = try #require(recalled)
            list.await(listPosition)
            try list.begin()
            list.layOut(atMost: 14)
            #expect(listPosition.listPass == 1 && list.items == pass, "the order of the pass stays")
            let rest = pass.drop { $0 != target }.dropFirst().map(\.address)
            #expect(Array(list.toCome.prefix(rest.count)) == rest)
            #expect(Array(list.toCome.dropFirst(rest.count).prefix(coming.count)) == coming, "and the later passes")
        }
    }

    @Test func aJumpAheadLeavesTheItemsBetweenToTheHistory() throws {
        let all = items("a", "b", "c", "d")
        var list = try played(1, of: all)
        for (target, history) in [(3, 3), (1, 1)] {
            let recalled = list.recall(all[target].id)
            let listPosition = try #require(recalled)
            list.await(listPosition)
            try list.begin()
            #expect(list.history == Array(all[..<history]) && list.items == Array(all[history...]))
            #expect(list.ordinal == (target + 1, 4))
        }
    }

    @Test func anItemThatIsAddedAgainIsNotInTheHistory() throws {
        let all = items("a", "b")
        var list = try played(1, of: all)
        let isChanged = list.apply(.append([all[0]]))
        #expect(isChanged && list.history.isEmpty && list.items == [all[1], all[0]])
    }

    @Test func aListThatRepeatsHasNoHistoryBeforeItsLastPass() throws {
        let all = items("a", "b")
        #expect(try played(1, of: all, loop: .forever).history.isEmpty)
        let last = try played(3, of: all, loop: .times(1))
        #expect(last.history == [all[0]] && last.ordinal == (2, 2))
    }

    @Test func theHistoryIsBounded() throws {
        let limit = PlaybackOrder.maxHistory
        var list = PlaybackList()
        let all = (0..<(limit + 3)).map { QueueItem("\($0)") }
        let listPosition = list.reset(to: all, first: all[limit + 2].id)
        list.await(listPosition)
        #expect(list.history == Array(all[2..<(limit + 2)]))
        #expect(list.ordinal == (limit + 3, limit + 3))
    }

    @Test func aPlaceInTheMiddleLeavesTheItemsBeforeItToTheHistory() throws {
        let all = items("a", "b", "c")
        var list = PlaybackList()
        let listPosition = list.reset(to: all, first: all[1].id)
        list.await(listPosition)
        #expect(list.present?.item == all[1] && list.ordinal == (2, 3))
        #expect(list.history == [all[0]] && list.items == [all[1], all[2]])
    }

    @Test func aStartIsForgottenWhenTheItemHasPlayedToItsEnd() throws {
        var all = items("a", "b")
        all[0].start = MediaTime(value: 3, timescale: 1)
        var list = try PlaybackList(all, loop: .forever)
        let listPosition = try #require(list.present)
        #expect(list.start(of: listPosition) == all[0].start)
        let next = list.step(by: 1)
        list.await(next)
        #expect(list.start(of: listPosition) == all[0].start, "it was left, and did not end")
        list.await(listPosition)
        try list.begin()
        list.layOut(atMost: 1)
        list.advance()
        #expect(list.start(of: listPosition) == nil)
    }
}
