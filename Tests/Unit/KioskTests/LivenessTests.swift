import MediaCore
import Testing

@testable import Kiosk

/// When a kiosk counts as alive, and what is done when it does not.
@Suite struct LivenessTests {
    private let start = HostInstant(nanoseconds: 1_000_000_000_000)

    /// Tells the same beat every second; the verdict at the end.
    private func verdict(
        after seconds: Int, of liveness: Liveness = Liveness(), _ change: (inout Liveness.Beat, Int) -> Void
    ) -> Liveness.Verdict {
        var liveness = liveness
        for second in 0...seconds {
            var beat = Liveness.Beat()
            (beat.isExpected, beat.turns, beat.shown) = (true, second * 4, second * 24)
            (beat.hasPicture, beat.hasSound, beat.soundAhead) = (true, true, .seconds(1))
            change(&beat, second)
            liveness.note(beat, at: start.advanced(by: .seconds(second)))
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
            if second >= 2 { beat.pictureOverdue = .seconds(second - 1) }
        }
        #expect(verdict == .stalled(.picture, since: start.advanced(by: .seconds(3))))
    }

    @Test func soundThatNobodyAcceptsIsNoLifeAlthoughPicturesMove() {
        let verdict = verdict(after: 10) { beat, second in beat.soundAhead = .seconds(1 - second) }
        #expect(verdict == .stalled(.sound, since: start.advanced(by: .seconds(2))))
    }

    @Test func soundThatHasEndedBeforeThePictureIsNoStall() {
        #expect(verdict(after: 60) { beat, _ in beat.soundAhead = nil } == .alive)
    }

    @Test func aDecoderThatGivesNothingIsNoLife() {
        let verdict = verdict(after: 10) { beat, _ in beat.isStarved = true }
        #expect(verdict == .stalled(.decoder, since: start))
    }

    @Test func aPlayerWhoseThreadStandsStillIsNoLife() {
        let verdict = verdict(after: 10) { beat, second in beat.turns = min(second, 3) }
        #expect(verdict == .stalled(.engine, since: start.advanced(by: .seconds(4))))
    }

    @Test func aFilmIsGivenTimeToBegin() {
        #expect(verdict(after: 29) { beat, _ in beat.isCollecting = true } == .alive)
        #expect(verdict(after: 31) { beat, _ in beat.isCollecting = true } == .stalled(.collecting, since: start))
    }

    @Test func aShortHoleIsNoStall() {
        let verdict = verdict(after: 10) { beat, second in beat.isStarved = second % 4 != 0 }
        #expect(verdict == .alive)
    }

    @Test func repairsGoFromTheOneThatIsHardlySeenToTheOneThatEndsTheProgram() {
        var ladder = RepairLadder()
        var stages: [RepairLadder.Stage] = []
        for second in 0..<60 {
            if let stage = ladder.next(for: .picture, at: start.advanced(by: .seconds(second))) { stages.append(stage) }
        }
        #expect(stages.prefix(4) == [.anchor, .route, .window, .exit])
    }

    @Test func whoeverWasWellForTwoMinutesBeginsFromBelow() {
        var ladder = RepairLadder()
        #expect(ladder.next(for: .picture, at: start) == .anchor)
        #expect(ladder.next(for: .picture, at: start.advanced(by: .seconds(5))) == nil)
        #expect(ladder.next(for: .picture, at: start.advanced(by: .seconds(121))) == .anchor)
    }

    @Test func noOtherWindowIsMadeForSoundThatIsNotAccepted() {
        var ladder = RepairLadder()
        let stages = (0..<4).compactMap { ladder.next(for: .sound, at: start.advanced(by: .seconds($0 * 10))) }
        #expect(stages == [.anchor, .route, .exit, .exit])
    }

    @Test func aThreadThatStandsStillIsNotAskedForAnything() {
        var ladder = RepairLadder()
        #expect(ladder.next(for: .engine, at: start) == .exit)
    }

    /// What is told second by second, of so many pictures left out by then.
    private func told(_ totals: [Int], isExpected: Bool = true) -> [Int?] {
        var leftOut = LeftOutPictures()
        return totals.enumerated().map { second, total in
            leftOut.note(total: total, isExpected: isExpected, at: start.advanced(by: .seconds(second)))
        }
    }

    @Test func picturesThatWereLeftOutAreToldOnceTheyComeInTimeAgain() {
        #expect(told([0, 0, 18, 18, 18]) == [nil, nil, nil, 18, nil])
        #expect(told([0, 18, 30, 30]) == [nil, nil, nil, 30])
    }

    @Test func aPictureNowAndThenIsNoFaultAndNorIsWhatNobodyIsToSee() {
        #expect(told([0, 1, 5, 6, 6]).allSatisfy { $0 == nil })
        #expect(told([0, 18, 18], isExpected: false).allSatisfy { $0 == nil })
    }

    @Test func aComputerThatIsTooSlowSaysSoOnceAMinuteAndLeavesNothingOut() {
        let totals = (0..<150).map { $0 / 2 * 10 }
        let answers = told(totals).compactMap { $0 }
        #expect(answers.count == 3)
        #expect(answers.reduce(0, +) >= 600)
    }
}
