import Testing

@testable import Playback

@Suite struct FilmsToComeTests {
    private func queue(_ names: String..., loop: PlayerOptions.Loop = .times(0)) -> PlayQueue {
        var queue = PlayQueue(names.map { PlaylistLoader.Item(address: $0) }, loop: loop)
        queue.noteBegun()
        return queue
    }

    @Test func theRestOfTheListComesAndThenAsManyPassesAsWereAskedFor() {
        var films = FilmsToCome()
        films.fill(behind: queue("a", "b", "c", loop: .times(1)))
        #expect(films.items.map(\.address) == ["b", "c", "a", "b", "c"])
        var endless = FilmsToCome()
        endless.fill(behind: queue("a", loop: .forever))
        #expect(endless.items.count > 8 && endless.items.allSatisfy { $0.address == "a" })
    }

    @Test func aFilmThatBeginsLeavesTheListBehindItAndKeepsTheItemsOfTheOthers() {
        var films = FilmsToCome()
        films.fill(behind: queue("a", "b", "c", loop: .times(1)))
        let before = films.items
        let now = films.began(before[1])
        #expect(now?.current.address == "c" && now?.number == 3 && now?.hasBegun == true)
        films.fill(behind: now ?? queue("x"))
        #expect(films.items == Array(before.dropFirst(2)))
        let gone = films.began(before[0])
        #expect(gone == nil)
    }

    @Test func aFilmThatFailedAheadIsNotTriedAgainInThisPass() {
        var films = FilmsToCome()
        let list = queue("a", "bad")
        films.fill(behind: list)
        let failed = films.failed(films.items[0], behind: list)
        #expect(failed)
        films.fill(behind: list)
        #expect(films.items.isEmpty)
        #expect(films.rest(of: list).next == nil)
        // It is in a further pass.
        var again = FilmsToCome()
        let round = queue("a", "bad", loop: .times(1))
        again.fill(behind: round)
        let fails = again.failed(again.items[0], behind: round)
        #expect(fails)
        again.fill(behind: round)
        #expect(again.items.map(\.address) == ["a", "bad"])
    }

    @Test func aFilmFurtherAheadThatFailedIsNotTriedAgainWhenTheOneBeforeItHasBegun() {
        var films = FilmsToCome()
        let list = queue("a", "b", "bad")
        films.fill(behind: list)
        let (two, bad) = (films.items[0], films.items[1])
        let fails = films.failed(bad, behind: list)
        #expect(fails)
        films.fill(behind: list)
        #expect(films.items == [two])
        let now = films.began(two) ?? list
        films.fill(behind: now)
        #expect(films.items.isEmpty)
        #expect(films.rest(of: now).next == nil)
    }

    @Test func aPassOfWhichNothingCanBePlayedIsFollowedByPausesThatGrowAndByNoFurtherPass() {
        var films = FilmsToCome()
        var list = queue("a", "b", "c", loop: .forever)
        films.fill(behind: list)
        var tried = 0
        while let first = films.items.first, tried < 100 {
            tried += 1
            let isKnown = films.failed(first, behind: list)
            #expect(isKnown)
            films.fill(behind: list)
        }
        #expect(tried == 5, "the rest of this pass and all of the next")
        // After the playing film has ended, each pass waits longer than the one before, up to a limit.
        list = films.rest(of: list)
        var pauses: [Duration] = []
        for _ in 0..<18 {
            let goesOn = list.advance()
            #expect(goesOn)
            if list.number == 1 { pauses.append(list.pause) }
        }
        #expect(pauses.map { $0 / .milliseconds(1) } == [100, 200, 400, 700, 700, 700])
        list.noteBegun()
        #expect(list.pause == .zero && list.next?.pause == .zero)
    }

    @Test func filmsThatArePassedOverBeforeThePlayerHearsOfItAreForgotten() {
        var films = FilmsToCome()
        let list = queue("a", "b", loop: .forever)
        films.fill(behind: list)
        let laidOut = films.items
        // The rest of this pass, and all of the next: a pause follows.
        for item in laidOut[..<3] {
            let isKnown = films.failed(item, behind: list)
            #expect(isKnown)
            #expect(!films.hasForgotten(item))
        }
        #expect(films.items.isEmpty)
        // The player knows these items, and may report their failures before it is updated.
        #expect(laidOut.count > 3 && laidOut[3...].allSatisfy { films.hasForgotten($0) })
        films.removeAll()
        #expect(!laidOut.contains { films.hasForgotten($0) })
    }
}
