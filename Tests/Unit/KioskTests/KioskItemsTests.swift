import MediaCore
import Testing

@testable import Kiosk
@testable import Playback

/// The items of a kiosk's playlist.
@Suite struct KioskItemsTests {
    private func list(_ names: String...) -> [KioskItems.Item] { names.map { KioskItems.Item(address: $0) } }

    private func item(_ name: String) -> KioskItems.Item { KioskItems.Item(address: name) }

    /// All found items but the excluded ones.
    private func items(_ names: String..., excluding excluded: Set<String> = []) -> KioskItems {
        var items = KioskItems()
        let found = names.map { KioskItems.Item(address: $0) }
        items.setFound(found)
        items.setAdmitted(found.filter { !excluded.contains($0.address) })
        return items
    }

    @Test func theStartIsWhereTheLastRunWasOrTheItemAfterAnExcludedOne() {
        let place = KioskResumePositions.Position(address: "b", position: MediaTime(value: 30, timescale: 1))
        func start(_ items: KioskItems) -> String {
            let start = items.start(from: place)
            return "\(start.address ?? "-") \(start.position?.seconds ?? -1)"
        }
        #expect(start(items("a", "b", "c")) == "b 30.0")
        #expect(start(items("a", "b", "c", excluding: ["b"])) == "c -1.0")
        #expect(start(items("a", "b", excluding: ["b"])) == "- -1.0", "nothing follows it")
        #expect(start(items("a", "c")) == "- -1.0")
        let none = items("a").start(from: nil)
        #expect(none.address == nil && none.position == nil)
    }

    @Test func aListThatBecomesEmptyIsSaidToBeButKeepsItsItems() {
        var items = items("a", "b")
        #expect(!items.isEmpty)
        items.setAdmitted([])
        #expect(items.isEmpty && items.contains("b") && !items.contains("c"))
    }

    @Test func suspectsArePlayedAlone() {
        var items = items("a", "b")
        let first = items.playlist { $0 == "b" }
        #expect(first.map(\.address) == ["a", "b"] && first.map(\.isAlone) == [false, true])
        #expect(items.isAlone("b") && !items.isAlone("a"))
        let same = items.changedPlaylist { $0 == "b" }
        #expect(same == nil)
        let changed = items.changedPlaylist { _ in false }
        #expect(changed?.map(\.isAlone) == [false, false] && !items.isAlone("b"))
    }

    @Test func aListIsOpenedOnceFromItsItem() {
        var items = items("a", "b")
        let second = items.load(startingWith: "b") { _ in false }
        #expect(second.address == "b" && items.isUnopened)
        let taken = items.consumeUnopened()
        #expect(taken?.first == taken?.items[1].id && !items.isUnopened)
        // In a shuffled order the first item is another one.
        let first = items.load(startingWith: nil) { _ in false }
        let whole = items.consumeUnopened()
        #expect(first.address == "a" && whole?.items.count == 2 && whole?.first == nil)
    }

    @Test func aPositionBelongsToItsItem() {
        var items = items("a", "b")
        let position = MediaTime(value: 30, timescale: 1)
        _ = items.load(startingWith: "b", at: position) { _ in false }
        #expect(items.unopenedPosition == position)
        _ = items.load(startingWith: "elsewhere", at: position) { _ in false }
        #expect(items.unopenedPosition == nil)
    }

    @Test func aProblemIsLoggedOnceForEachEditionAndPass() {
        var items = items("a", "b", "c")
        func isLogged(_ address: String) -> Bool {
            items.recordProblem(of: item(address), "no \(address)", isSkipped: true)
        }
        let answers = ["a", "a", "b", "elsewhere", "elsewhere"].map(isLogged)
        #expect(answers == [true, false, true, true, true])
        items.setFound(list("b", "c"))
        items.setFound(list("a", "b", "c"))
        #expect([isLogged("a"), isLogged("b")] == [true, false])
        // The next pass: another item plays.
        items.recordOpened(item("c"))
        items.recordEnded(item("c"))
        #expect([isLogged("a"), isLogged("b"), isLogged("b")] == [true, true, false])
        #expect(items.problemCount == 7)
    }

    @Test func aProblemIsOverOnceTheItemHasPlayedToItsEnd() {
        var items = items("a", "b")
        _ = items.recordProblem(of: item("a"), "a is damaged", isSkipped: false)
        _ = items.recordProblem(of: item("b"), "b is no film", isSkipped: true)
        #expect(items.sentences(isSkipped: false) == ["a is damaged"])
        #expect(items.sentences(isSkipped: true) == ["b is no film"])
        items.recordEnded(item("a"))
        #expect(items.sentences(isSkipped: false) == ["a is damaged"], "the end of the same playback")
        items.recordOpened(item("a"))
        _ = items.recordProblem(of: item("a"), "a is still damaged", isSkipped: false)
        items.recordEnded(item("a"))
        #expect(items.sentences(isSkipped: false) == ["a is still damaged"])
        items.recordOpened(item("a"))
        items.recordEnded(item("a"))
        #expect(items.sentences(isSkipped: false) == [])
        items.setFound(list("a"))
        #expect(items.sentences(isSkipped: true) == [])
    }
    @Test func aProblemIsOverOnceTheFileIsReplaced() {
        // The first file was truncated, the second one replaces it.
        let editions = ["/bin/sh", "/bin/ls"].map { FileEdition(of: $0) }
        func edition(_ number: Int) -> KioskItems.Item {
            var item = item("a")
            item.edition = editions[number - 1]
            return item
        }
        #expect(edition(1) != edition(2))
        var items = items("b")
        func find(_ item: PlaylistLoader.Item) {
            items.setFound([item])
            items.setAdmitted([item])
        }
        find(edition(1))
        _ = items.recordProblem(of: edition(1), "a breaks off", isSkipped: false)
        #expect(items.sentences(isSkipped: false) == ["a breaks off"])
        find(edition(2))
        #expect(items.sentences(isSkipped: false) == [])
        // The player still reads the file that was replaced.
        let isLogged = items.recordProblem(of: edition(1), "a breaks off", isSkipped: false)
        #expect(isLogged)
        #expect(items.sentences(isSkipped: false) == [])
        #expect(items.problemCount == 2)
    }
}
