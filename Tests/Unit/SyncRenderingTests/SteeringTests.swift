import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

@Suite struct SteeringTests {
    private let clock = ManualClock()
    private let second = MediaTime(value: 1, timescale: 1)

    /// Returns a segment that passes through a film time now, with another rate.
    private func line(_ film: MediaTime, _ rate: Double, speed: Double = 1, late: Duration = .zero) -> TimebaseSegment {
        TimebaseSegment(mediaAnchor: film, hostAnchor: clock.now.advanced(by: late), rate: rate, speed: speed)
    }

    @Test func theLineIsBentWithoutAStepAndIsStillTheSameCommand() {
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.setRate(1, time: .zero)
        clock.advance(by: .seconds(10))
        let before = synchronizer.timebase.snapshot
        #expect(synchronizer.steer(toward: line(synchronizer.currentTime(), 1.00005)) == .zero)
        let after = synchronizer.timebase.snapshot
        #expect(after.generation == before.generation)
        #expect(after.mediaTime(at: clock.now) == before.mediaTime(at: clock.now))
        #expect(abs(after.current.rate - 1.00005) < 1e-12)
        #expect(after.current.speed == 1 && synchronizer.effectiveRate == 1)
    }

    @Test func aLineThatIsLateIsWaitedForAndMetWithoutOvershoot() {
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.setRate(1, time: .zero)
        let held = line(.zero, 1, late: .milliseconds(1))
        var last = Duration.seconds(1)
        for _ in 0..<240 {
            clock.advance(by: .milliseconds(500))
            guard let late = synchronizer.steer(toward: held) else { return #expect(Bool(false)) }
            #expect(late >= .microseconds(-1) && late <= last + .nanoseconds(2))
            last = late
            #expect(abs(synchronizer.timebase.snapshot.current.rate - 1) <= 100.001e-6)
        }
        #expect(last < .microseconds(2))
    }

    @Test func whatIsNoDriftOfThisLineBendsNothing() {
        let synchronizer = RenderSynchronizer(clock: clock)
        #expect(synchronizer.steer(toward: line(.zero, 1)) == nil, "time stands still")
        synchronizer.setRate(1, time: .zero)
        #expect(synchronizer.steer(toward: line(second, 1)) == nil, "a second away")
        #expect(synchronizer.steer(toward: line(.zero, 2, speed: 2)) == nil, "another speed")
        #expect(synchronizer.timebase.snapshot.current.rate == 1)
        synchronizer.setRate(0, atHostTime: clock.now.advanced(by: .seconds(1)))
        #expect(synchronizer.steer(toward: line(.zero, 1.00005)) == nil, "a stop is about to come")
        #expect(synchronizer.timebase.snapshot.scheduled?.rate == 0)
    }

    @Test func anAbsurdRateBendsByNoMoreThanIsAllowed() {
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.setRate(1.5, time: .zero)
        synchronizer.steer(toward: line(.zero, 1.8, speed: 1.5))
        #expect(abs(synchronizer.timebase.snapshot.current.rate - 1.5 * 1.0001) < 1e-9)
    }
}
