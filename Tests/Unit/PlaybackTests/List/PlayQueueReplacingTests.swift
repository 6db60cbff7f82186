import TalkieTestKit
import Testing

@testable import Playback

/// Playlists that change during playback.
@Suite struct PlayQueueReplacingTests {
    private func items(_ names: String...) -> [PlayQueue.Item] { names.map { PlaylistLoader.Item(address: $0) } }

    /// Returns the addresses of a number of items from here on.
    private func coming(_ queue: PlayQueue, _ count: Int) -> [String] {
        var (queue, names) = (queue, [String]())
        queue.noteBegun()
        while names.count < count, let next = queue.next {
            queue = next
            queue.noteBegun()
            names.append(queue.current.address)
        }
        return names
    }

    private func playing(_ name: String, of all: [PlayQueue.Item]) -> PlayQueue {
        var queue = PlayQueue(all, loop: .forever)
        while queue.current.address != name {
            queue.noteBegun()
            _ = queue.advance()
        }
        queue.noteBegun()
        return queue
    }

    @Test func aNewFilmComesWhereTheListHasIt() {
        var queue = playing("b", of: items("a", "b", "d"))
        queue.replace(with: items("a", "b", "c", "d"))
        #expect(queue.current.address == "b")
        #expect(coming(queue, 4) == ["c", "d", "a", "b"])
    }

    @Test func theFilmThatPlaysIsSeenToItsEndWhenItLeavesTheList() {
        var queue = playing("b", of: items("a", "b", "c", "d"))
        queue.replace(with: items("a", "c", "d"))
        #expect(queue.current.address == "b")
        #expect(coming(queue, 4) == ["c", "d", "a", "c"])
    }

    @Test func theLastFilmIsFollowedByTheFirstWhenItLeavesTheList() {
        var queue = playing("c", of: items("a", "b", "c"))
        queue.replace(with: items("a", "b"))
        #expect(coming(queue, 3) == ["a", "b", "a"])
    }

    @Test func besideAFilmThatLeavesTheListAreItsNeighboursInTheNewOne() {
        for (distance, neighbour) in [(-1, "a"), (1, "c")] {
            var queue = playing("b", of: items("a", "b", "c", "d"))
            queue.replace(with: items("a", "c", "d"))
            let isThere = queue.step(by: distance)
            #expect(isThere && queue.current.address == neighbour)
        }
    }

    @Test func aFilmThatWasChangedIsFollowedByItsNewEdition() throws {
        let folder = TemporaryFolder()
        let path = folder.write("1", to: "film")
        let old = try #require(FileEdition(of: path))
        folder.write("12", to: "film")
        let new = try #require(FileEdition(of: path))
        #expect(old != new)
        var item = PlaylistLoader.Item(address: path)
        item.edition = old
        var queue = PlayQueue([item], loop: .forever)
        queue.noteBegun()
        item.edition = new
        queue.replace(with: [item])
        #expect(queue.current.edition == old)
        let next = try #require(queue.next)
        #expect(next.current.edition == new)
    }

    @Test func ofAFilmThatIsListedTwiceTheOneThatPlaysIsKept() {
        var queue = PlayQueue(items("a", "x", "b", "x", "c"), loop: .forever)
        for _ in 0..<3 {
            queue.noteBegun()
            _ = queue.advance()
        }
        queue.noteBegun()
        queue.replace(with: items("a", "x", "b", "x", "d"))
        #expect(coming(queue, 2) == ["d", "a"])
    }

    @Test func anotherListFollowsTheFilmThatPlays() {
        var queue = playing("b", of: items("a", "b"))
        queue.replace(with: items("x", "y"))
        #expect(queue.current.address == "b")
        #expect(coming(queue, 3) == ["x", "y", "x"])
    }

    @Test func aShuffledListPlaysEveryFilmOnceInEachPassAndNoneTwiceInARow() {
        var queue = PlayQueue(items("a", "b", "c", "d"), loop: .forever, order: .shuffled(seed: 7))
        queue.noteBegun()
        let names = [queue.current.address] + coming(queue, 39)
        var orders: Set<[String]> = []
        for pass in 0..<10 {
            let order = Array(names[(pass * 4)..<(pass * 4 + 4)])
            #expect(Set(order) == ["a", "b", "c", "d"])
            orders.insert(order)
        }
        #expect(orders.count > 1)
        #expect(zip(names, names.dropFirst()).allSatisfy { $0 != $1 })
    }

    @Test func aNewFilmFallsAmongThoseToComeOfAShuffledList() {
        var queue = PlayQueue(items("a", "b", "c", "d"), loop: .forever, order: .shuffled(seed: 7))
        queue.noteBegun()
        _ = queue.advance()
        queue.noteBegun()
        let before = coming(queue, 2)
        queue.replace(with: items("a", "b", "c", "d", "e"))
        let after = coming(queue, 3)
        #expect(after.contains("e"))
        #expect(after.filter { $0 != "e" } == before)
    }

    @Test func whatWasOpenedAheadStaysWhereTheListAgreesWithIt() {
        let queue = playing("a", of: items("a", "b", "c"))
        var toCome = FilmsToCome()
        toCome.fill(behind: queue)
        let first = toCome.items[0]
        var changed = queue
        changed.replace(with: items("a", "b", "x", "c"))
        toCome.renew(behind: changed)
        toCome.fill(behind: changed)
        #expect(toCome.items[0] == first)
        #expect(toCome.items.prefix(4).map(\.address) == ["b", "x", "c", "a"])
    }
}
