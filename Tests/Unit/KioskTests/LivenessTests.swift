import MediaCore
import Testing

@testable import Kiosk

/// When a kiosk counts as alive, and how faults are repaired.
@Suite struct LivenessTests {
    private let start = HostInstant(nanoseconds: 1_000_000_000_000)

    /// Reports a beat every second; returns the verdict at the end.
    private func verdict(
        after seconds: Int, of liveness: Liveness = Liveness(), _ change: (inout Liveness.Beat, Int) -> Void
    ) -> Liveness.Verdict {
        var liveness = liveness
        for second in 0...seconds {
            var beat = Liveness.Beat()
            (beat.isExpected, beat.turns, beat.shown) = (true, second * 4, second * 24)
            beat.position = MediaTime(value: Int64(second), timescale: 1)
            beat.audioRead = MediaTime(value: Int64(second + 2), timescale: 1)
            (beat.hasVideo, beat.hasAudio, beat.audioAhead) = (true, true, .seconds(1))
            change(&beat, second)
            liveness.observe(beat, at: start.advanced(by: .seconds(second)))
        }
        return liveness.verdict
    }

    @Test func picturesAndSoundThatGetThereAreAlive() {
        #expect(verdict(after: 60) { _, _ in } == .alive)
    }

    @Test func pausesAndQuietHoursAreOffOnPurpose() {
        #expect(verdict(after: 60) { beat, _ in beat.isExpected = false } == .offOnPurpose)
    }

    @Test func aPictureThatIsDueAndNotPresentedIsNoLife() {
        let verdict = verdict(after: 10) { beat, second in
            if second >= 2 { beat.frameOverdue = .seconds(second - 1) }
        }
        #expect(verdict == .stalled(.video, since: start.advanced(by: .seconds(2))))
    }

    @Test func aScreenThatTakesNoPicturesIsNoHoleInTheFilm() {
        let verdict = verdict(after: 9) { beat, second in
            guard second > 3 else { return }
            (beat.shown, beat.audioRead, beat.frameOverdue) = (72, nil, .seconds(second - 3))
        }
        #expect(verdict == .stalled(.video, since: start.advanced(by: .seconds(4))))
    }

    @Test func audioThatNoOutputAcceptsIsNoLifeAlthoughPicturesMove() {
        let verdict = verdict(after: 10) { beat, second in beat.audioAhead = .seconds(1 - second) }
        #expect(verdict == .stalled(.audio, since: start.advanced(by: .seconds(2))))
    }

    @Test func soundThatIsNotReadIsAFaultOfTheFilmAlthoughPicturesMove() {
        let verdict = verdict(after: 10) { beat, second in
            (beat.audioAhead, beat.isAudioMissing) = (.seconds(1 - second), second > 1)
        }
        #expect(verdict == .stalled(.silence, since: start.advanced(by: .seconds(2))))
        #expect(ItemExclusions.Reason(of: .silence) == .slow)
        #expect(ItemExclusions.Reason(of: .audio) == nil)
    }

    @Test func soundThatHasEndedBeforeThePictureIsNoStall() {
        #expect(verdict(after: 60) { beat, _ in beat.audioAhead = nil } == .alive)
    }

    @Test func aDecoderThatGivesNothingIsNoLife() {
        let verdict = verdict(after: 10) { beat, _ in beat.isStarved = true }
        #expect(verdict == .stalled(.decoder, since: start))
    }

    @Test func aPlayerWithABlockedThreadIsNotAlive() {
        let verdict = verdict(after: 10) { beat, second in beat.turns = min(second, 3) }
        #expect(verdict == .stalled(.engine, since: start.advanced(by: .seconds(3))))
    }

    @Test func aFilmIsGivenTimeToBegin() {
        #expect(verdict(after: 12) { beat, _ in beat.isWaiting = true } == .alive)
        #expect(verdict(after: 13) { beat, _ in beat.isWaiting = true } == .stalled(.waiting, since: start))
    }

    @Test func aWaitCountsFromTheLastProgressUntilTheNext() {
        var liveness = Liveness()
        for second in 0..<6 {
            var beat = Liveness.Beat()
            (beat.isExpected, beat.turns, beat.isWaiting) = (true, second, (2...4).contains(second))
            beat.position = MediaTime(value: Int64(second), timescale: 1)
            liveness.observe(beat, at: start.advanced(by: .seconds(second)))
            #expect(liveness.waitingSince == (beat.isWaiting ? start.advanced(by: .seconds(1)) : nil))
        }
    }

    @Test func waitingCountsFromTheLastProgressAndNotFromWhenReadingStopped() {
        // The frames run out at second 2; playback waits for more from second 5 on.
        let change = { (beat: inout Liveness.Beat, second: Int) in
            guard second > 2 else { return }
            (beat.shown, beat.audioRead, beat.isStarved) = (48, MediaTime(value: 4, timescale: 1), second < 5)
            beat.isWaiting = second >= 5
        }
        #expect(verdict(after: 14, change) == .alive)
        #expect(verdict(after: 15, change) == .stalled(.waiting, since: start.advanced(by: .seconds(2))))
    }

    /// A demuxer that returns the same packets again and again: some are decoded, too late to be presented.
    private func repeatBeginning(_ beat: inout Liveness.Beat, _ second: Int) {
        guard second > 3 else { return }
        (beat.shown, beat.audioRead) = (72, MediaTime(value: 8, timescale: 10))
    }

    @Test func framesThatAreDecodedInVainDoNotEndALackOfThem() {
        let change = { (beat: inout Liveness.Beat, second: Int) in
            self.repeatBeginning(&beat, second)
            guard second > 3 else { return }
            beat.isStarved = second % 2 == 0
            beat.frameOverdue = second % 2 == 0 ? nil : .seconds(second - 3)
        }
        #expect(verdict(after: 8, change) == .alive)
        #expect(verdict(after: 9, change) == .stalled(.decoder, since: start.advanced(by: .seconds(4))))
    }

    @Test func aHoldThatEndsWithoutProgressIsNoEndOfTheWait() {
        var liveness = Liveness()
        for second in 0...16 {
            var beat = Liveness.Beat()
            (beat.isExpected, beat.hasVideo, beat.turns, beat.shown) = (true, true, second, min(second, 3))
            beat.position = MediaTime(value: Int64(second), timescale: 1)
            beat.audioRead = beat.position
            repeatBeginning(&beat, second)
            (beat.isWaiting, beat.isStarved) = (second > 3 && second % 2 == 0, second > 3)
            liveness.observe(beat, at: start.advanced(by: .seconds(second)))
            #expect(liveness.waitingSince == (second > 3 ? start.advanced(by: .seconds(3)) : nil))
            #expect((liveness.fault == nil) == (second < 16))
        }
        #expect(liveness.verdict == .stalled(.waiting, since: start.advanced(by: .seconds(3))))
    }

    @Test func aFilmOfFewPicturesIsGivenTheWholeTimeWhenItWaits() {
        let change = { (beat: inout Liveness.Beat, second: Int) in
            (beat.shown, beat.audioRead, beat.framePeriod) = (min(second, 50) / 10, nil, .seconds(10))
            beat.isWaiting = second > 19
        }
        #expect(verdict(after: 31, change) == .alive)
        #expect(verdict(after: 32, change) == .stalled(.waiting, since: start.advanced(by: .seconds(19))))
    }

    /// Observes a player whose thread has not run since the last observation either.
    @Test func timeInWhichTheProcessDidNotRunIsNoStall() {
        var liveness = Liveness()
        func observe(_ turns: Int, isWaiting: Bool = false, at second: Int) {
            var beat = Liveness.Beat()
            (beat.isExpected, beat.turns, beat.isWaiting) = (true, turns, isWaiting)
            beat.position = MediaTime(value: Int64(turns), timescale: 1)
            liveness.observe(beat, at: start.advanced(by: .seconds(second)))
        }
        for second in 0...3 { observe(second, at: second) }
        observe(3, at: 63)
        #expect(liveness.verdict == .alive && liveness.fault == nil)
        observe(4, at: 64)
        #expect(liveness.verdict == .alive)
        // Five seconds of this process without an iteration of the player, in two parts.
        for second in 65...67 { observe(4, at: second) }
        observe(4, at: 100)
        #expect(liveness.verdict == .alive)
        observe(4, at: 101)
        #expect(liveness.verdict == .stalled(.engine, since: start.advanced(by: .seconds(96))))
    }

    @Test func aPositionThatDoesNotAdvanceIsNoLifeAlthoughPicturesComeAndSoundIsAccepted() {
        let verdict = verdict(after: 9) { beat, second in
            if second > 3 { beat.position = MediaTime(value: 3, timescale: 1) }
        }
        #expect(verdict == .stalled(.frozen, since: start.advanced(by: .seconds(3))))
    }

    @Test func aHoleInWhichNothingIsShownOrReadIsNoLifeAlthoughTheClockRuns() {
        let verdict = verdict(after: 9) { beat, second in
            if second > 3 { (beat.shown, beat.audioRead) = (72, MediaTime(value: 3600, timescale: 1)) }
            // The feeder fills the gap with silence, which outputs accept.
            beat.audioAhead = .seconds(2)
        }
        #expect(verdict == .stalled(.hole, since: start.advanced(by: .seconds(4))))
    }

    @Test func aFilmWithEndedVideoIsAliveWhileAudioContinues() {
        #expect(verdict(after: 60) { beat, _ in beat.shown = 72 } == .alive)
        let isHeard = verdict(after: 60) { beat, _ in
            (beat.shown, beat.audioRead, beat.audioAhead) = (72, nil, nil)
            beat.isAudioPlayingOut = true
        }
        #expect(isHeard == .alive, "a speaker may hold minutes of sound that was read to its end")
    }

    @Test func stillsAndMusicAreExceptedByTheirKind() {
        let still = verdict(after: 60) { beat, _ in
            (beat.isStill, beat.hasVideo, beat.shown) = (true, false, 1)
            (beat.audioRead, beat.audioAhead, beat.hasAudio) = (nil, nil, false)
        }
        #expect(still == .alive)
        let music = verdict(after: 60) { beat, _ in (beat.hasVideo, beat.shown) = (false, 0) }
        #expect(music == .alive)
    }

    @Test func aFilmOfFewPicturesIsGivenTheTimeBetweenThem() {
        let slow = verdict(after: 60) { beat, second in
            (beat.shown, beat.audioRead, beat.framePeriod) = (second / 10, nil, .seconds(10))
        }
        #expect(slow == .alive)
        #expect(verdict(after: 8) { beat, _ in (beat.shown, beat.audioRead) = (1, nil) } != .alive)
        // A file may state any frame rate; the check is not disabled for weeks.
        let stated = { (beat: inout Liveness.Beat, _: Int) in
            (beat.shown, beat.audioRead, beat.framePeriod) = (1, nil, .seconds(1_000_000))
        }
        #expect(verdict(after: 119, stated) == .alive)
        #expect(verdict(after: 120, stated) == .stalled(.hole, since: start))
        let starved = verdict(after: 120) { beat, _ in
            (beat.isStarved, beat.framePeriod) = (true, .seconds(1_000_000))
        }
        #expect(starved == .stalled(.decoder, since: start))
    }

    @Test func healthIsGoodAgainOnceARepairHasProvedThatItHelped() {
        var liveness = Liveness()
        var faults: [Bool] = []
        for second in 0..<16 {
            var beat = Liveness.Beat()
            (beat.isExpected, beat.turns, beat.hasVideo) = (true, second, true)
            // Frozen from second 2 to second 9; a repair at second 8 shows one frame.
            let isFrozen = (2...9).contains(second)
            beat.position = MediaTime(value: Int64(isFrozen ? 2 : second), timescale: 1)
            beat.shown = isFrozen ? (second < 8 ? 2 : 3) : second + 10
            liveness.observe(beat, at: start.advanced(by: .seconds(second)))
            if second == 8 { liveness.forgive(at: start.advanced(by: .seconds(second))) }
            faults.append(liveness.fault != nil)
        }
        #expect(faults.firstIndex(of: true) == 7)
        #expect(faults.lastIndex(of: true) == 11, "three seconds of progress from second 10 on")
    }

    @Test func aShortHoleIsNoStall() {
        let verdict = verdict(after: 10) { beat, second in beat.isStarved = second % 4 != 0 }
        #expect(verdict == .alive)
    }

    /// Its pictures move, and each repair ends the silence for a moment only.
    @Test func aFaultIsNotOverWhilePicturesMoveWithoutSound() {
        var liveness = Liveness()
        var faults: [Bool] = []
        for second in 0..<30 {
            let now = start.advanced(by: .seconds(second))
            var beat = Liveness.Beat()
            (beat.isExpected, beat.turns, beat.shown) = (true, second, second * 24)
            beat.position = MediaTime(value: Int64(second), timescale: 1)
            beat.audioRead = beat.position
            (beat.hasVideo, beat.hasAudio, beat.audioAhead, beat.isAudioMissing) = (true, true, .seconds(-1), true)
            liveness.observe(beat, at: now)
            if case .stalled = liveness.verdict { liveness.forgive(at: now) }
            faults.append(liveness.fault != nil)
        }
        #expect(faults.firstIndex(of: true).map { !faults[$0...].contains(false) } == true)
    }

    @Test func filmsWithoutMediaAreAllPassedOverAndNotTheOutputsRepaired() {
        let dead = stages(for: .silence, seconds: Array(stride(from: 5, through: 80, by: 5))) {
            RepairLadder.Item("\(($0 - 5) / 15).mp4", otherCount: 5)
        }
        #expect(dead.filter { $0 == .next }.count == 5 && !dead.contains(.window) && !dead.contains(.exit))
    }

    private let film = RepairLadder.Item("a.mp4")
    private let onlyFilm = RepairLadder.Item("a.mp4", hasOther: false)

    /// Returns the repair stages of a permanent fault at the given seconds.
    private func stages(
        for cause: Liveness.Cause, seconds: [Int], _ item: (Int) -> RepairLadder.Item
    ) -> [RepairLadder.Stage] {
        var ladder = RepairLadder()
        return seconds.compactMap {
            ladder.next(for: cause, of: item($0), at: start.advanced(by: .seconds($0)))
        }
    }

    @Test func theOnlyFilmIsRepairedFromWhatIsHardlySeenToTheEndOfTheProgram() {
        let stages = stages(for: .video, seconds: [5, 10, 15, 20, 25]) { _ in onlyFilm }
        #expect(stages == [.anchor, .route, .window, .exit, .exit])
    }

    @Test func theOnlyFilmIsLeftForTheTestSoundUnlessTheScreenIsAtFault() {
        let only = RepairLadder.Item("a.mp4", hasOther: false, isTestable: true)
        for cause in [Liveness.Cause.hole, .silence, .audio] {
            #expect(stages(for: cause, seconds: [5, 10, 14, 25]) { _ in only } == [.anchor, .route, .test, .test])
        }
        #expect(stages(for: .video, seconds: [5, 10, 14]) { _ in only } == [.anchor, .route, .window])
        #expect(stages(for: .waiting, seconds: [13]) { _ in only } == [.test])
        var ladder = RepairLadder()
        #expect(ladder.next(for: .silence, of: only, isOverdue: true, at: start) == .test)
        var failed = only
        failed.hasFailed = true
        #expect(stages(for: .hole, seconds: [5]) { _ in failed } == [.test])
        // A decoder that hangs is healed by another process only.
        failed.wasExcluded = true
        #expect(stages(for: .hole, seconds: [5]) { _ in failed } == [.exit])
    }

    @Test func aFilmIsPassedOverAfterTheSecondRepairThatDidNotHelp() {
        #expect(stages(for: .hole, seconds: [5, 10, 14]) { _ in film } == [.anchor, .route, .next])
    }

    @Test func aFilmThatHasHeldTheScreenForLongEnoughIsPassedOverAtOnce() {
        var ladder = RepairLadder()
        #expect(ladder.next(for: .frozen, of: film, isOverdue: true, at: start) == .next)
    }

    @Test func aFilmThatFailedBeforeIsPassedOverWithoutRepairs() {
        let failed = RepairLadder.Item("a.mp4", hasFailed: true)
        #expect(stages(for: .decoder, seconds: [5]) { _ in failed } == [.next])
        #expect(stages(for: .video, seconds: [5]) { _ in failed } == [.anchor], "a fault of the screen")
        let only = RepairLadder.Item("a.mp4", hasOther: false, hasFailed: true)
        #expect(stages(for: .decoder, seconds: [5]) { _ in only } == [.anchor])
    }

    @Test func theFaultIsLookedForElsewhereOnceTwoFilmsInARowWerePassedOver() {
        let stages = stages(for: .frozen, seconds: Array(stride(from: 5, through: 55, by: 5))) {
            RepairLadder.Item("\(($0 - 5) / 15).mp4")
        }
        #expect(
            stages == [.anchor, .route, .next, .anchor, .route, .next, .anchor, .route, .window, .exit, .exit])
    }

    @Test func playbackThatRunsForTenSecondsAfterARepairBeginsFromBelow() {
        var ladder = RepairLadder()
        #expect(ladder.next(for: .video, of: film, at: start) == .anchor)
        ladder.recordAlive(at: start.advanced(by: .seconds(9)))
        #expect(ladder.next(for: .video, of: film, at: start.advanced(by: .seconds(9))) == .route)
        ladder.recordAlive(at: start.advanced(by: .seconds(19)))
        #expect(ladder.next(for: .video, of: film, at: start.advanced(by: .seconds(20))) == .anchor)
    }

    @Test func aFilmThatDoesNotArriveIsPlayedLater() {
        #expect(stages(for: .waiting, seconds: [15, 30]) { RepairLadder.Item("\($0).mp4") } == [.next, .next])
        let remote = stages(for: .waiting, seconds: [15, 30, 45, 60]) {
            RepairLadder.Item("http://a/\($0).mp4", isRemote: true)
        }
        #expect(remote == [.next, .next, .next, .next], "no repair of this computer makes a server faster")
    }

    @Test func theOnlyFilmOfASlowServerIsOpenedAgainOnceAMinute() {
        let only = RepairLadder.Item("http://a/b.mp4", isRemote: true, hasOther: false)
        #expect(stages(for: .waiting, seconds: [15, 30, 45, 60, 75, 90]) { _ in only } == [.anchor, .anchor])
    }

    @Test func noOtherWindowIsMadeForSoundThatIsNotAccepted() {
        #expect(stages(for: .audio, seconds: [0, 10, 20, 30]) { _ in onlyFilm } == [.anchor, .route, .exit, .exit])
    }

    @Test func aBlockedThreadIsNotQueried() {
        var ladder = RepairLadder()
        #expect(ladder.next(for: .engine, of: film, at: start) == .exit)
    }

    /// Returns the reports for each second, given the totals of dropped frames.
    private func reports(of totals: [Int], isExpected: Bool = true) -> [Int?] {
        var leftOut = DroppedFrameMonitor()
        return totals.enumerated().map { second, total in
            leftOut.observe(total: total, isExpected: isExpected, at: start.advanced(by: .seconds(second)))
        }
    }

    @Test func droppedFramesAreReportedAfterTheBurst() {
        #expect(reports(of: [0, 0, 18, 18, 18]) == [nil, nil, nil, 18, nil])
        #expect(reports(of: [0, 18, 30, 30]) == [nil, nil, nil, 30])
        #expect(reports(of: [0, 4, 8, 8]) == [nil, nil, nil, 8], "a burst during an observation")
        #expect(reports(of: [0, 18, 22, 22]) == [nil, nil, 18, nil], "fewer frames later are no part of it")
    }

    @Test func fewDroppedFramesAndUnseenOnesAreNoFault() {
        #expect(reports(of: [0, 1, 5, 6, 6]).allSatisfy { $0 == nil })
        #expect(reports(of: [0, 18, 18], isExpected: false).allSatisfy { $0 == nil })
    }

    @Test func aComputerThatIsTooSlowSaysSoOnceAMinuteAndLeavesNothingOut() {
        let totals = (0..<150).map { $0 / 2 * 10 }
        let answers = reports(of: totals).compactMap { $0 }
        #expect(answers.count == 3)
        #expect(answers.reduce(0, +) >= 600)
    }
}
