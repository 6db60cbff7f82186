import MediaCore
import SyncRendering
import Testing

@testable import Playback
@testable import TalkieTestKit

/// The playlist as a value: the order of entries and their positions on the timeline.
@Suite struct PlaybackListTests {
    private static func seconds(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1) }

    private func film(sound: Int64 = 2, pictures: Int64 = 2) -> CountedFilm {
        CountedFilm(1, frameCount: Int(pictures * 25), audioFrameCount: Int(sound * 48_000))
    }

    private func entry(_ list: inout PlaybackList, _ listPosition: PlaylistPosition, _ film: CountedFilm? = nil)
        -> PlaybackList.ScheduledItem
    {
        let film = film ?? self.film()
        return PlaybackList.ScheduledItem(
            serial: list.newSerial(), listPosition: listPosition, media: PrefetchedMedia(film),
            audioTrack: film.summary.track(.audio), videoTrack: film.summary.track(.video))
    }

    /// Returns a playlist that has started its first item.
    private func startedList(_ items: [QueueItem]) throws -> PlaybackList {
        var list = PlaybackList()
        _ = list.apply(.append(items))
        let first = try #require(list.firstPosition())
        list.begin(with: entry(&list, first))
        return list
    }

    /// Lays out following entries, up to a number of them.
    private func extend(_ list: inout PlaybackList, to count: Int) {
        while list.entries.count < count, let last = list.entries.last, let listPosition = list.successor(of: last) {
            list.append(entry(&list, listPosition))
        }
    }

    private func end(_ list: inout PlaybackList, _ index: Int, sound: Int64, pictures: Int64) {
        let serial = list.entries[index].serial
        list.setTrackEnd(.at(Self.seconds(sound)), .audio, of: serial)
        list.setTrackEnd(.at(Self.seconds(pictures)), .video, of: serial)
    }

    @Test func anEditIsRefusedThatMeansNothing() {
        var list = PlaybackList()
        func changes(_ edit: QueueEdit) -> Bool { list.apply(edit) }
        let (one, two) = (QueueItem("a"), QueueItem("b"))
        #expect(changes(.append([one])))
        #expect(!changes(.append([one])))
        #expect(!changes(.append([])))
        #expect(!changes(.append([two, two])))
        #expect(!changes(.remove(two.id)))
        #expect(!changes(.move(one.id, after: two.id)))
        #expect(!changes(.replace(one.id, with: one)))
        #expect(!changes(.insert([two], after: two.id)))
        #expect(list.items == [one])
        #expect(changes(.insert([two], after: nil)))
        #expect(list.items == [one, two], "behind nothing is last, as in AVFoundation's queue player")
        #expect(changes(.move(one.id, after: nil)))
        #expect(list.items == [two, one])
        #expect(changes(.removeAll))
        #expect(!changes(.removeAll))
    }

    /// Outputs with deep buffers decode several items at once. The priming packets of an item precede its beginning.
    @Test func undecodableAudioIsDividedAmongTheItemsThatLackIt() throws {
        var list = try startedList(["a", "b", "c"].map { QueueItem($0) })
        extend(&list, to: 3)
        for index in 0..<3 { end(&list, index, sound: 2, pictures: 2) }
        func time(_ milliseconds: Int64) -> MediaTime { MediaTime(value: milliseconds, timescale: 1000) }
        list.record(undecodable: UndecodableAudio(start: time(1979), duration: time(1521)))
        #expect(list.entries[0].losses.undecodable == nil)
        #expect(list.entries[1].losses.undecodable?.end == time(1500))
        #expect(list.entries[1].audioLosses == [MediaTimeRange(start: time(1979), end: time(3500))])
        list.record(undecodable: UndecodableAudio(start: time(3500), duration: time(1000)))
        #expect(list.entries[1].losses.undecodable?.end == time(2000))
        #expect(list.entries[2].losses.undecodable == UndecodableAudio(start: .zero, duration: time(500)))
        #expect(list.entries[1].losses.silences.count == 1, "contiguous")
        // An output that joins decodes it again.
        list.record(undecodable: UndecodableAudio(start: time(2500), duration: time(1000)))
        #expect(list.entries[1].losses.silences.count == 1 && list.entries[2].losses.silences.count == 1)
        #expect(list.entries[1].losses.undecodable?.duration.seconds == 2.021, "counted once")
        #expect(list.entries[2].losses.undecodable?.duration == time(500))
        var scattered = UndecodableAudio(start: time(4600), duration: time(20))
        scattered.end = time(5000)
        list.record(undecodable: scattered)
        #expect(list.entries[2].losses.silences.count == 1)
        list.record(undecodable: UndecodableAudio(start: time(5000), duration: time(100)))
        #expect(list.entries[2].losses.silences.count == 2)
        #expect(list.entries[2].losses.undecodable?.duration == time(620))
        // Partly new.
        list.record(undecodable: UndecodableAudio(start: time(5000), duration: time(200)))
        #expect(abs((list.entries[2].losses.undecodable?.duration.seconds ?? 0) - 0.72) < 0.001)
    }

    @Test func anItemThatHasBeenPlayedIsNotInTheListAndAnEditThatNamesItIsRefused() throws {
        let all = ["a", "b", "c"].map { QueueItem($0) }
        var list = try startedList(all)
        extend(&list, to: 2)
        list.advance()
        #expect(list.items == [all[1], all[2]])
        func changes(_ edit: QueueEdit) -> Bool { list.apply(edit) }
        #expect(!changes(.insert([QueueItem("d")], after: all[0].id)))
        #expect(!changes(.remove(all[0].id)))
        // A removed item may be added again.
        #expect(changes(.append([all[0]])))
        #expect(list.items == [all[1], all[2], all[0]])
    }

    @Test func aListThatIsPlayedAgainKeepsWhatHasBeenPlayedUntilItsLastPass() throws {
        let all = ["a", "b"].map { QueueItem($0) }
        var list = try startedList(all)
        _ = list.apply(.loop(item: .times(0), list: .times(1)))
        extend(&list, to: 10)
        #expect(list.entries.map(\.item) == [all[0], all[1], all[0], all[1]])
        list.advance()
        #expect(list.items == all)
        list.advance()
        list.advance()
        #expect(list.items == [all[1]])
    }

    @Test func anEntryBeginsWhereTheLaterOfBothTracksEndsAndAsSoonAsBothAreKnown() throws {
        var list = try startedList([QueueItem("a"), QueueItem("b"), QueueItem("c")])
        extend(&list, to: 3)
        #expect(list.entries[1].begin == nil)
        list.setTrackEnd(.at(Self.seconds(2)), .audio, of: list.entries[0].serial)
        #expect(list.entries[1].begin == nil)
        list.setTrackEnd(.at(Self.seconds(3)), .video, of: list.entries[0].serial)
        #expect(list.entries[1].begin == Self.seconds(3))
        // A settled position is final, because it was already reported.
        list.setTrackEnd(.at(Self.seconds(5)), .video, of: list.entries[0].serial)
        #expect(list.entries[1].begin == Self.seconds(3))
        end(&list, 1, sound: 4, pictures: 2)
        #expect(list.entries[2].begin == Self.seconds(7))
        list.advance()
        #expect(list.entries[0].offset == Self.seconds(3))
        // A seek moves the entry to the item's own timeline, and what follows is laid out again.
        list.rebase()
        #expect(list.entries.map(\.offset) == [.zero])
    }

    @Test func aLoopIsTheSameFilmOnceMoreAndItsPassesAreCountedFromWhenItWasAskedFor() throws {
        let item = QueueItem("a")
        var list = try startedList([item, QueueItem("b")])
        _ = list.apply(.loop(item: .forever, list: .times(0)))
        extend(&list, to: 4)
        #expect(list.entries.map(\.listPosition.itemPass) == [0, 1, 2, 3])
        list.advance()
        list.advance()
        _ = list.apply(.loop(item: .times(1), list: .times(0)))
        #expect(list.firstMismatch == nil)
        extend(&list, to: 4)
        #expect(list.entries.map(\.item.address) == ["a", "a", "b", "b"])
        _ = list.apply(.loop(item: .times(0), list: .times(0)))
        #expect(list.firstMismatch == 1)
    }

    @Test func theFirstEntryIsFoundToWhichTheListDoesNotLeadAnyMore() throws {
        let all = ["a", "b", "c", "d"].map { QueueItem($0) }
        let before = try startedList(all)
        func mismatch(_ edit: QueueEdit) -> Int? {
            var list = before
            extend(&list, to: 3)
            _ = list.apply(edit)
            return list.firstMismatch
        }
        #expect(mismatch(.remove(all[0].id)) == 0)
        #expect(mismatch(.remove(all[1].id)) == 1)
        #expect(mismatch(.insert([QueueItem("x")], after: all[1].id)) == 2)
        #expect(mismatch(.remove(all[3].id)) == nil)
        #expect(mismatch(.move(all[3].id, after: all[0].id)) == 1)
        #expect(mismatch(.replace(all[2].id, with: QueueItem("x"))) == 2)
    }

    @Test func anEntryThatIsCutEndsThereAndIsFollowedByWhatTheListSaysBehindTheOneBefore() throws {
        let all = ["a", "b", "c"].map { QueueItem($0) }
        var list = try startedList(all)
        extend(&list, to: 3)
        end(&list, 0, sound: 2, pictures: 2)
        _ = list.apply(.move(all[1].id, after: all[2].id))
        let serial = list.entries[1].serial
        list.cut(serial, at: MediaTime(value: 5, timescale: 2))
        #expect(list.firstMismatch == nil)
        extend(&list, to: 4)
        #expect(list.entries.map(\.item) == [all[0], all[1], all[2], all[1]])
        #expect(list.entries[2].begin == MediaTime(value: 5, timescale: 2))
    }

    @Test func anotherFollowingKeepsThePresentItemAndWhatHasBegunMeanwhile() throws {
        let all = ["a", "b", "c"].map { QueueItem($0) }
        var list = try startedList([all[0]])
        list.setFollowing([all[1], all[2]])
        #expect(list.items == all)
        extend(&list, to: 2)
        list.advance()
        list.markUnplayable(all[2].id)
        list.setFollowing([all[1], all[2]])
        #expect(list.items == [all[1], all[2]])
        #expect(list.successor(of: list.entries[0]) == nil, "what failed is not tried again")
        // The same before the first item is open.
        var waiting = PlaybackList()
        _ = waiting.apply(.append([all[0]]))
        waiting.await(waiting.firstPosition())
        waiting.setFollowing([all[1]])
        #expect(waiting.items == [all[0], all[1]])
    }

    @Test func whatHoldsNothingIsNotTriedForEver() throws {
        let all = ["a", "b"].map { QueueItem($0) }
        var list = PlaybackList()
        _ = list.apply(.append(all))
        _ = list.apply(.loop(item: .forever, list: .forever))
        list.markUnplayable(all[0].id)
        list.markUnplayable(all[1].id)
        #expect(list.firstPosition() == nil)
        #expect(list.successor(of: PlaylistPosition(item: all[0])) == nil)
    }

    /// After any sequence of edits and playback, the laid out entries match the playlist and have no gaps.
    @Test(arguments: 0..<40 as Range<UInt64>) func editsInAnyOrderLeaveALineWithoutAHole(seed: UInt64) throws {
        var dice = Dice(seed: seed)
        var list = try startedList((0..<4).map { QueueItem("\($0)") })
        for step in 0..<60 {
            let all = list.items
            let one = all.isEmpty ? nil : all[dice.roll(all.count)].id
            let other = all.isEmpty ? nil : all[dice.roll(all.count)].id
            switch dice.roll(8) {
            case 0: if all.count > 2, let one { _ = list.apply(.remove(one)) }
            case 1: if let one { _ = list.apply(.move(one, after: other)) }
            case 2: if let one { _ = list.apply(.replace(one, with: QueueItem("r\(step)"))) }
            case 3: _ = list.apply(.loop(item: .times(dice.roll(2)), list: .times(dice.roll(2))))
            case 4: list.setFollowing([QueueItem("f\(step)"), QueueItem("g\(step)")])
            case 5, 6: _ = list.apply(.insert([QueueItem("i\(step)")], after: other))
            default: list.advance()
            }
            // As the engine does.
            while let index = list.firstMismatch {
                let entry = list.entries[index]
                if index > 0, dice.roll(2) == 0 || entry.begin == nil {
                    list.truncate(after: list.entries[index - 1].serial)
                } else if let begin = entry.begin {
                    list.cut(entry.serial, at: begin + MediaTime(value: 1, timescale: 2))
                }
            }
            extend(&list, to: 4)
            for index in list.entries.indices { end(&list, index, sound: 1 + Int64(dice.roll(3)), pictures: 2) }
            #expect(list.firstMismatch == nil)
            for (before, entry) in zip(list.entries, list.entries.dropFirst()) {
                #expect(entry.begin == before.gaplessBoundary)
                #expect(entry.serial > before.serial)
            }
            let ids = list.items.map(\.id)
            #expect(Set(ids).count == ids.count)
        }
    }
}
