import Testing

@testable import Telemetry

/// When the films of a playlist are recorded.
@Suite struct FilmRemarksTests {
    /// What a player reports, in its order.
    private enum Event {
        case opening(String, isCommanded: Bool = false, isSeparate: Bool = false)
        case phase(String, of: String)
        case began(String)
        case skipped(String)
        case lost
    }

    private func record(_ events: Event...) -> [String] {
        var remarks = FilmRemarks<String>()
        return events.flatMap { event in
            let all =
                switch event {
                case .opening(let name, let isCommanded, let isSeparate):
                    remarks.open(name, name, isCommanded: isCommanded, isSeparate: isSeparate) + [.phase("opening")]
                case .phase(let phase, let name): remarks.enter(phase, of: name, name)
                case .began(let name): remarks.begin(name, name)
                case .skipped(let name): remarks.skip(name, name)
                case .lost: remarks.interrupt()
                }
            return all.map { remark in
                switch remark {
                case .film(let name): "film \(name)"
                case .phase(let phase): phase
                default: "other"
                }
            }
        }
    }

    @Test func theFirstFilmIsRecordedWhenItIsOpened() {
        #expect(
            record(
                .opening("a", isCommanded: true), .phase("buffering", of: "a"), .phase("playing", of: "a"), .began("a"))
                == ["film a", "opening", "buffering", "playing"])
    }

    @Test func aFilmThatFollowsIsRecordedAndAnnouncedWhenItStarts() {
        #expect(
            record(
                .opening("a", isCommanded: true), .began("a"), .opening("b"), .phase("buffering", of: "b"),
                .phase("playing", of: "b"), .began("b"))
                == ["film a", "opening", "opening", "buffering", "playing", "film b"])
        var remarks = FilmRemarks<String>()
        var awaits: [Bool] = []
        _ = remarks.open("a", "a", isCommanded: true, isSeparate: false)
        awaits.append(remarks.isAwaitingStart)
        _ = remarks.begin("a", "a")
        _ = remarks.open("b", "b", isCommanded: false, isSeparate: false)
        awaits.append(remarks.isAwaitingStart)
        _ = remarks.enter("buffering", of: "b", "b")
        awaits.append(remarks.isAwaitingStart)
        _ = remarks.begin("b", "b")
        awaits.append(remarks.isAwaitingStart)
        #expect(awaits == [false, true, true, false])
    }

    @Test func aFilmWithAPositionOfItsOwnIsOpenedAfterTheEndOfTheOneBefore() {
        #expect(
            record(
                .opening("a", isCommanded: true), .began("a"), .opening("b", isSeparate: true),
                .phase("buffering", of: "b"), .phase("playing", of: "b"), .began("b"))
                == ["film a", "opening", "ended", "film b", "opening", "buffering", "playing"])
    }

    @Test func aFilmThatIsRequestedDoesNotEndTheOneBefore() {
        #expect(
            record(.opening("a", isCommanded: true), .began("a"), .opening("b", isCommanded: true), .began("b"))
                == ["film a", "opening", "film b", "opening"])
    }

    /// The caller may see the item that the player opens now instead of the one that it has skipped.
    @Test(arguments: [["b", "c"], ["c", "c"]]) func itemsThatCannotBeOpenedAreRecordedWithTheirFailure(_ seen: [String])
    {
        #expect(
            record(
                .opening("a", isCommanded: true), .skipped("a"), .opening(seen[0]), .skipped("b"), .opening(seen[1]),
                .phase("buffering", of: "c"), .phase("playing", of: "c"), .began("c"))
                == [
                    "film a", "opening", "failed", "opening", "film b", "failed", "opening", "film c", "buffering",
                    "playing",
                ])
    }

    @Test func anItemThatWasToFollowAndFailsIsRecordedWithItsFailure() {
        #expect(
            record(.opening("a", isCommanded: true), .began("a"), .opening("b"), .phase("failed", of: "b"))
                == ["film a", "opening", "opening", "film b", "failed"])
    }

    @Test func anItemThatFailsInAdvanceIsNotRecorded() {
        #expect(
            record(
                .opening("a", isCommanded: true), .phase("buffering", of: "a"), .skipped("b"),
                .phase("playing", of: "a"),
                .began("a"), .skipped("c"), .opening("d"), .began("d"))
                == ["film a", "opening", "buffering", "playing", "opening", "film d"])
    }

    @Test func aListOfWhichNothingIsPlayableAnyMoreHasEnded() {
        #expect(
            record(.opening("a", isCommanded: true), .began("a"), .lost, .lost, .opening("a"), .opening("a"))
                == ["film a", "opening", "ended", "film a", "opening", "opening"])
    }

    @Test func aFailureWhileAFilmPlaysIsItsOwn() {
        #expect(
            record(.opening("a", isCommanded: true), .began("a"), .phase("failed", of: "a"))
                == ["film a", "opening", "failed"])
    }
}
