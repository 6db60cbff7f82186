import MediaCore
import Testing

@testable import Kiosk
@testable import Playback

/// Which repairs follow from a series of observations, one per second.
@Suite struct PlaybackWatchTests {
    private let start = HostInstant(nanoseconds: 1_000_000_000_000)

    private func at(_ second: Int) -> HostInstant { start.advanced(by: .seconds(second)) }

    /// A film that advances until `last`.
    private func beat(_ second: Int, until last: Int = .max) -> Liveness.Beat {
        var beat = Liveness.Beat()
        (beat.isExpected, beat.turns) = (true, second)
        beat.position = MediaTime(value: Int64(min(second, last)), timescale: 1)
        return beat
    }

    private func outcomes(
        _ watch: inout PlaybackWatch, seconds: Range<Int>, until last: Int = .max, dropped: (Int) -> Int = { _ in 0 }
    ) -> [Int: PlaybackWatch.Outcome] {
        var outcomes: [Int: PlaybackWatch.Outcome] = [:]
        for second in seconds {
            outcomes[second] = watch.observe(
                beat(second, until: last), droppedFrames: dropped(second), item: RepairLadder.Item("a.mp4"),
                at: at(second))
        }
        return outcomes
    }

    @Test func aFilmThatStopsIsRepairedInStagesAndEachRepairIsCounted() {
        var watch = PlaybackWatch()
        let outcomes = outcomes(&watch, seconds: 0..<24, until: 10)
        let repairs = outcomes.compactMapValues(\.repair)
        #expect(repairs.mapValues(\.stage) == [15: .anchor, 19: .route, 23: .next])
        #expect(
            repairs[15] == .init(stage: .anchor, cause: .frozen, item: "a.mp4", duration: .seconds(5)))
        #expect(watch.repairs == [.anchor: 1, .route: 1, .next: 1])
        #expect(watch.fault?.cause == .frozen && watch.fault?.since == at(10))
    }

    @Test func aFaultIsOverOnceTheFilmHasAdvancedForAWhile() {
        var watch = PlaybackWatch()
        #expect(outcomes(&watch, seconds: 0..<10)[9]?.isHealthy == true)
        #expect(outcomes(&watch, seconds: 10..<17, until: 10)[16]?.isHealthy == false)
        #expect(outcomes(&watch, seconds: 17..<18)[17]?.isHealthy == false, "the repair may have moved it only")
        #expect(outcomes(&watch, seconds: 18..<25)[24]?.isHealthy == true && watch.fault == nil)
    }

    /// Observes a film that is decoded in vain after second 2. The first repair shows its last frames again.
    @Test func aFilmThatStopsIsPassedOverWithinFifteenSecondsAfterItsLastProgress() {
        var watch = PlaybackWatch()
        var stages: [Int: RepairLadder.Stage] = [:]
        for second in 0..<16 {
            var beat = Liveness.Beat()
            (beat.isExpected, beat.turns, beat.hasVideo) = (true, second, true)
            beat.position = MediaTime(value: Int64(second), timescale: 1)
            beat.shown = min(second, 2) * 24 + (second > 8 ? 20 : 0)
            beat.isWaiting = second == 8
            beat.isStarved = second > 2 && second != 9
            let outcome = watch.observe(
                beat, droppedFrames: 0, item: RepairLadder.Item("a.mp4"), at: at(second))
            stages[second] = outcome.repair?.stage
        }
        #expect(stages == [7: .anchor, 13: .route, 15: .next], "13 s after second 2")
    }

    @Test func theFaultOfAFilmThatWasLeftRemainsUntilTheNextOneAdvances() {
        var watch = PlaybackWatch()
        _ = outcomes(&watch, seconds: 0..<24, until: 10)
        watch.startOver()
        var seen: [Int: Bool] = [:]
        for second in 24..<32 {
            let outcome = watch.observe(
                beat(second, until: second < 27 ? 0 : .max), droppedFrames: 0, item: RepairLadder.Item("b.mp4"),
                at: at(second))
            seen[second] = watch.fault == nil
            #expect(outcome.isProved == (watch.fault == nil) && outcome.isHealthy == outcome.isProved)
        }
        #expect(seen.filter(\.value).keys.min() == 29)
        _ = outcomes(&watch, seconds: 32..<56, until: 32)
        watch.startOver()
        _ = watch.observe(Liveness.Beat(), droppedFrames: 0, item: nil, at: at(56))
        #expect(watch.fault == nil, "quiet hours begin")
    }

    /// An output that is slow to join has decoded minutes ahead of what it has accepted.
    @Test func soundIsUndecodableOnlyIfTheOutputsLackTheSoundThatIsLost() {
        func time(_ milliseconds: Int64) -> MediaTime { MediaTime(value: milliseconds, timescale: 1000) }
        var state = PlayerState()
        state.handedUntil = time(5000)
        state.audioLosses = [MediaTimeRange(start: time(8000), end: time(9000))]
        #expect(!state.isAudioUndecodable(at: time(6000)) && state.isAudioUndecodable(at: time(8500)))
        state.audioLosses = [MediaTimeRange(start: time(5020), end: time(9000))]
        #expect(state.isAudioUndecodable(at: time(6000)))
        state.handedUntil = time(60_000)
        #expect(state.isAudioUndecodable(at: time(6000)), "what follows the item was accepted")
        #expect(!state.isAudioUndecodable(at: time(4000)))
    }

    @Test func aRepairThatHelpsLateIsNotTakenBack() {
        var watch = PlaybackWatch()
        _ = outcomes(&watch, seconds: 0..<22, until: 10)
        var stages: [RepairLadder.Stage] = []
        for second in 22..<40 {
            let outcome = watch.observe(
                beat(second), droppedFrames: 0, item: RepairLadder.Item("a.mp4"), at: at(second))
            if let stage = outcome.repair?.stage { stages.append(stage) }
        }
        #expect(stages == [] && watch.fault == nil)
    }

    @Test func aFilmOfWhichNothingCanBeDecodedIsPassedOverAtOnceUnlessEachOneIs() {
        var watch = PlaybackWatch()
        _ = outcomes(&watch, seconds: 0..<3, until: 3)
        var stages: [RepairLadder.Stage] = []
        for second in 3..<6 {
            var item = RepairLadder.Item("\(second).mp4", otherCount: 2)
            item.isUnplayable = true
            let outcome = watch.observe(beat(second), droppedFrames: 0, item: item, at: at(second))
            if let stage = outcome.repair?.stage { stages.append(stage) }
        }
        #expect(stages == [.next, .next])
    }

    @Test func eachRepairOfTheOnlyFilmHasItsTime() {
        var watch = PlaybackWatch()
        var stages: [Int: RepairLadder.Stage] = [:]
        for second in 0..<24 {
            stages[second] =
                watch.observe(
                    beat(second, until: 0), droppedFrames: 0, item: RepairLadder.Item("a.mp4", hasOther: false),
                    at: at(second)
                ).repair?.stage
        }
        #expect(stages == [5: .anchor, 9: .route, 13: .window, 17: .exit, 21: .exit])
    }

    @Test func aFileThatFailedBeforeIsWaitedForLessAndAServerIsNot() {
        func stages(_ item: RepairLadder.Item) -> [Int: RepairLadder.Stage] {
            var watch = PlaybackWatch()
            var stages: [Int: RepairLadder.Stage] = [:]
            for second in 0..<14 {
                var beat = beat(second, until: 0)
                beat.isWaiting = true
                stages[second] = watch.observe(beat, droppedFrames: 0, item: item, at: at(second)).repair?.stage
            }
            return stages
        }
        #expect(stages(RepairLadder.Item("a.mp4")) == [13: .next])
        #expect(stages(RepairLadder.Item("a.mp4", hasFailed: true))[5] == .next)
        #expect(stages(RepairLadder.Item("http://a", isRemote: true, hasFailed: true)) == [13: .next])
    }

    /// The player leaves a read that blocks in the kernel only after some seconds.
    @Test func aFileWhoseReadBlocksIsPassedOverEarlierThanOneThatArrivesSlowly() {
        /// Returns the second in which the film is passed over; nil if another repair comes first.
        func end(_ item: RepairLadder.Item, readUntil: (Int) -> Int64?) -> Int? {
            var watch = PlaybackWatch()
            for second in 0..<20 {
                var beat = beat(second, until: 2)
                beat.isWaiting = second > 2
                beat.readUntil = readUntil(second).map { MediaTime(value: $0, timescale: 100) }
                let outcome = watch.observe(beat, droppedFrames: 0, item: item, at: at(second))
                if let stage = outcome.repair?.stage { return stage == .next ? second : nil }
            }
            return nil
        }
        let file = RepairLadder.Item("a.mp4")
        #expect(end(file) { _ in 300 } == 12, "10 s after second 2")
        #expect(end(file) { 300 + Int64($0) } == 15)
        #expect(end(file) { _ in nil } == 15, "it is being opened")
        #expect(end(RepairLadder.Item("http://a", isRemote: true)) { _ in 300 } == 15)
        #expect(
            Liveness.silenceTimeout + TrackPipeline.usualStopTimeout + KioskDirector.beat < .seconds(15),
            "no item holds the screen longer")
    }

    @Test func aRestartDoesNotHelpAFilmThatDoesNotArrive() {
        var watch = PlaybackWatch()
        for second in 0..<16 {
            var beat = beat(second, until: 0)
            beat.isWaiting = true
            _ = watch.observe(beat, droppedFrames: 0, item: nil, at: at(second))
        }
        #expect(watch.fault?.cause == .waiting && watch.isAlive)
        #expect(watch.waitingSince == start)
    }

    @Test func aBurstOfDroppedFramesIsReportedWhenItIsOver() {
        var watch = PlaybackWatch()
        let outcomes = outcomes(&watch, seconds: 0..<6) { $0 < 2 ? 0 : 12 }
        #expect(outcomes.compactMapValues(\.droppedFrames) == [3: 12])
    }

    @Test func withoutAnItemNothingIsRepaired() {
        var watch = PlaybackWatch()
        for second in 0..<10 {
            let outcome = watch.observe(beat(second, until: 0), droppedFrames: 0, item: nil, at: at(second))
            #expect(outcome.repair == nil)
        }
        #expect(!watch.isAlive)
    }
}
