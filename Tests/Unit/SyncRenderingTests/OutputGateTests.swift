import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

/// Gated timelines, for outputs that join or leave during playback.
@Suite struct OutputGateTests {
    private let clock = ManualClock(HostInstant(nanoseconds: 0))
    private let synchronizer: RenderSynchronizer
    private let gated: Timebase

    init() {
        synchronizer = RenderSynchronizer(clock: clock)
        gated = Timebase(gating: synchronizer.timebase)
    }

    private func at(_ seconds: Double) -> HostInstant { HostInstant(nanoseconds: Int64(seconds * 1e9)) }
    private func film(_ seconds: Double) -> MediaTime { MediaTime(seconds: seconds) }
    /// Returns the rate and the film time of the gated timeline at an instant.
    private func seen(_ seconds: Double) -> (rate: Double, film: Double) {
        let segment = gated.snapshot.segment(at: at(seconds))
        return (segment.rate, segment.mediaTime(at: at(seconds)).seconds)
    }

    @Test func anOpenGateChangesNothing() {
        synchronizer.setRate(1, time: film(10), atHostTime: at(2))
        #expect(gated.snapshot == synchronizer.timebase.snapshot)
    }

    @Test func aClosedGateIsAtTheStartOfTheOutput() {
        synchronizer.setRate(1, time: film(10))
        gated.setGate(OutputGate(isShut: true, opens: film(15)))
        #expect(seen(1) == (0, 15))
        #expect(seen(100) == (0, 15))
        #expect(gated.snapshot.upcoming.rate == 0)
    }

    @Test func timeRunsFromTheVeryMomentAtWhichTheGateOpens() {
        synchronizer.setRate(1, time: film(10))
        gated.setGate(OutputGate(opens: film(15)))
        #expect(seen(4.999) == (0, 15))
        #expect(seen(5) == (1, 15))
        #expect(seen(7) == (1, 17))
        #expect(gated.snapshot.upcoming.hostAnchor == at(5))
    }

    @Test func timeStopsAtTheMomentTheGateCloses() {
        synchronizer.setRate(2, time: film(10))
        gated.setGate(OutputGate(closes: film(16)))
        #expect(seen(2.5) == (2, 15))
        #expect(seen(3) == (0, 16))
        #expect(seen(9) == (0, 16))
    }

    @Test func aStartThatWasAnnouncedAndHasBegunLeavesRoomForTheEnd() {
        synchronizer.setRate(1, time: film(10), atHostTime: at(1))
        clock.advance(by: .seconds(2))
        gated.setGate(OutputGate(closes: film(15)))
        #expect(seen(5.9) == (1, 14.9))
        #expect(seen(6) == (0, 15))
    }

    @Test func aPauseBeforeTheMomentIsSeenByBoth() {
        synchronizer.setRate(1, time: film(10))
        clock.advance(by: .seconds(1))
        synchronizer.setRate(0, atHostTime: at(2))
        gated.setGate(OutputGate(closes: film(15)))
        #expect(seen(1.5) == (1, 11.5))
        #expect(seen(3) == (0, 12))
        gated.setGate(OutputGate(opens: film(15)))
        #expect(seen(1.5).rate == 0)
        #expect(seen(3).rate == 0)
    }

    @Test func aFutureStartOpensTheGateWhenTheFilmReachesIt() {
        synchronizer.setRate(0, time: film(10))
        synchronizer.setRate(1, time: film(10), atHostTime: at(5))
        gated.setGate(OutputGate(opens: film(12)))
        #expect(seen(6).rate == 0)
        #expect(seen(8) == (1, 13))
        gated.setGate(OutputGate(opens: film(9)))
        #expect(seen(6) == (1, 11))
        gated.setGate(OutputGate(closes: film(9)))
        #expect(seen(6).rate == 0)
    }

    @Test func whereAThirdStretchWouldBeNeededNothingIsHeardOnTheWrongSide() {
        synchronizer.setRate(1, time: film(10))
        synchronizer.setRate(0, atHostTime: at(8))
        gated.setGate(OutputGate(opens: film(15)))
        for second in stride(from: 0.0, to: 12, by: 0.5) { #expect(seen(second).rate == 0) }
        gated.setGate(OutputGate(closes: film(15)))
        #expect(seen(4.9).rate == 1)
        for second in stride(from: 5.0, to: 12, by: 0.5) { #expect(seen(second).rate == 0) }
    }

    @Test func theDelayThatIsAskedForIsInAGatedLineToo() {
        let delayed = Timebase(following: synchronizer.timebase)
        delayed.delay = .milliseconds(250)
        synchronizer.setRate(1, time: film(10), atHostTime: at(1))
        let gated = Timebase(gating: delayed)
        gated.setGate(OutputGate(opens: film(12)))
        #expect(gated.snapshot.upcoming.hostAnchor == at(3.25))
    }
}
