import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

@Suite struct CueStoreTests {
    private func time(_ seconds: Double) -> MediaTime { MediaTime(seconds: seconds, preferredTimescale: 1000) }

    private func insert(_ line: CountedSubtitle, into store: inout CueStore, at moment: Double = 0) -> Bool {
        guard case .subtitle(let cue) = line.cue.payload else { return false }
        return store.insert(cue, start: line.start, duration: line.duration, at: time(moment))
    }

    private func store(_ lines: CountedSubtitle...) -> CueStore {
        var store = CueStore()
        for line in lines { #expect(insert(line, into: &store)) }
        return store
    }

    private func numbers(_ store: CueStore, _ moment: Double) -> [Int] {
        var store = store
        return store.active(at: time(moment)).compactMap { cue in
            guard case .script(let bytes, _) = cue.cue.content else { return nil }
            return Int(String(decoding: bytes, as: UTF8.self))
        }
    }

    @Test func aCueIsSeenFromItsBeginningUntilJustBeforeItsEnd() {
        let store = store(CountedSubtitle(1, at: 1, for: 2))
        #expect(numbers(store, 0.999) == [])
        #expect(numbers(store, 1) == [1])
        #expect(numbers(store, 2.999) == [1])
        #expect(numbers(store, 3) == [])
    }

    @Test func cuesThatOverlapAreSeenTogetherInTheOrderOfTheirBeginnings() {
        let store = store(
            CountedSubtitle(1, at: 0, for: 60), CountedSubtitle(3, at: 20, for: 1), CountedSubtitle(2, at: 10, for: 20))
        #expect(numbers(store, 20.5) == [1, 2, 3])
        #expect(numbers(store, 25) == [1, 2])
        #expect(numbers(store, 59) == [1])
    }

    @Test func aCueWithoutALengthLastsUntilTheNextOneBegins() {
        let store = store(CountedSubtitle(1, at: 1, for: 0), CountedSubtitle(2, at: 5, for: 0))
        #expect(numbers(store, 4.9) == [1])
        #expect(numbers(store, 5) == [2])
        #expect(numbers(store, 500) == [2])
    }

    @Test func aCueWithoutContentTakesAwayWhatWasThere() {
        var store = store(CountedSubtitle(1, at: 1, for: 0))
        let nothing = SubtitleCue(.images([], canvas: PixelSize(width: 1, height: 1)))
        store.insert(nothing, start: time(3), duration: .zero, at: .zero)
        #expect(numbers(store, 2.9) == [1])
        #expect(numbers(store, 3) == [])
    }

    /// DVB states a time-out of half a minute, and clears its bitmaps earlier.
    @Test func bitmapsEndWhereTheNextOnesBeginInWhateverOrderTheyCome() {
        func bitmap(_ width: Int) -> SubtitleCue {
            let rect = PixelRect(x: 0, y: 0, width: width, height: 1)
            return SubtitleCue(
                .images(
                    width == 0 ? [] : [OverlayImage(rect: rect, pixels: Array(repeating: 255, count: width * 4))],
                    canvas: PixelSize(width: 9, height: 9)))
        }
        for order in [[5, 7, 9], [9, 5, 7]] {
            var store = store(CountedSubtitle(1, at: 0, for: 60))
            for start in order {
                store.insert(bitmap(start == 7 ? 0 : start), start: time(Double(start)), duration: time(30), at: .zero)
            }
            let counts = [4, 6, 8, 10, 38, 40].map { store.active(at: time($0)).count }
            #expect(counts == [1, 2, 1, 2, 2, 1], "\(order)")
        }
    }

    @Test func theNextChangeIsTheNearestBeginningOrEnd() {
        let store = store(CountedSubtitle(1, at: 1, for: 9), CountedSubtitle(2, at: 4, for: 2))
        #expect(store.nextChange(after: .zero) == time(1))
        #expect(store.nextChange(after: time(1)) == time(4))
        #expect(store.nextChange(after: time(4)) == time(6))
        #expect(store.nextChange(after: time(6)) == time(10))
        #expect(store.nextChange(after: time(10)) == nil)
    }

    @Test func aCutTakesBackWhatBeginsBehindItAndEndsWhatIsSeenThere() {
        var store = store(CountedSubtitle(1, at: 1, for: 9), CountedSubtitle(2, at: 4, for: 2))
        store.cut(at: time(3))
        #expect(numbers(store, 2.9) == [1])
        #expect(numbers(store, 3) == [])
        #expect(numbers(store, 5) == [])
    }

    @Test func whatHasEndedGivesItsRoomAndWhatIsStillToComeDoesNot() {
        var store = CueStore()
        for number in 0..<CueStore.Limit.cues {
            #expect(insert(CountedSubtitle(number, at: Double(number), for: 1), into: &store))
        }
        #expect(!insert(CountedSubtitle(1, at: 20_000, for: 1), into: &store, at: 0))
        #expect(insert(CountedSubtitle(1, at: 20_000, for: 1), into: &store, at: 1))
        #expect(store.leftOut == 1)
    }

    @Test func tenThousandCuesOfOneSecondShowTheNewestHundred() {
        var store = CueStore()
        for number in 0..<CueStore.Limit.cues {
            #expect(insert(CountedSubtitle(number, at: Double(number) / 10_000, for: 2), into: &store))
        }
        #expect(numbers(store, 1) == Array((CueStore.Limit.cues - CueStore.Limit.active)..<CueStore.Limit.cues))
    }

    @Test func subtitlesAreFoundByTheirOrder() {
        let store = store(
            CountedSubtitle(1, at: 10, for: 2), CountedSubtitle(2, at: 10, for: 3), CountedSubtitle(3, at: 20, for: 2),
            CountedSubtitle(4, at: 30, for: 5))
        func start(_ count: Int, from seconds: Double) -> Double? { store.start(count, from: time(seconds))?.seconds }
        #expect(start(1, from: 0) == 10 && start(1, from: 10) == 20 && start(1, from: 15) == 20)
        #expect(start(-1, from: 21) == 10 && start(0, from: 21) == 20)
        #expect(start(-1, from: 25) == 20, "the one that has ended")
        #expect(start(1, from: 31) == nil && start(-1, from: 5) == nil && start(2, from: 10) == 30)
    }
}
