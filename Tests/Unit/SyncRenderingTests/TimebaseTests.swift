import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

@Suite struct TimebaseTests {
    let clock = ManualClock()

    @Test func timeIsStoppedBeforeTheFirstRate() {
        let synchronizer = RenderSynchronizer(clock: clock)
        clock.advance(by: .seconds(10))
        #expect(synchronizer.currentTime() == .zero)
        #expect(synchronizer.effectiveRate == 0)
    }

    @Test func aScheduledStartTakesOverExactlyAtItsInstant() {
        let synchronizer = RenderSynchronizer(clock: clock)
        let start = clock.now.advanced(by: .milliseconds(500))
        synchronizer.setRate(1, time: MediaTime(value: 7, timescale: 1), atHostTime: start)
        clock.advance(by: .milliseconds(499))
        #expect(synchronizer.currentTime() == .zero)
        clock.advance(by: .milliseconds(1))
        #expect(synchronizer.currentTime() == MediaTime(value: 7, timescale: 1))
        clock.advance(by: .seconds(2))
        #expect(synchronizer.currentTime() == MediaTime(value: 9, timescale: 1))
    }

    @Test func aDelayOfAnyLengthTrapsNowhere() {
        let synchronizer = RenderSynchronizer(clock: clock)
        let delayed = Timebase(following: synchronizer.timebase)
        for delay in [Duration.seconds(Int64.max), .seconds(Int64.min), .seconds(1)] {
            delayed.delay = delay
            let later = Timebase(following: delayed)
            later.delay = delay
            synchronizer.setRate(1, time: .zero, atHostTime: clock.now.advanced(by: .seconds(Int64.max)))
            #expect(later.snapshot.scheduled != nil)
            _ = (later.currentTime, later.rate, delayed.currentTime)
        }
    }

    @Test func aPauseKeepsTheMomentItFell() {
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.setRate(2, time: .zero)
        clock.advance(by: .milliseconds(1500))
        synchronizer.setRate(0)
        clock.advance(by: .seconds(60))
        #expect(synchronizer.currentTime() == MediaTime(value: 3, timescale: 1))
    }

    @Test func aNewCommandReplacesAScheduledOneThatHasNotBegun() {
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.setRate(1, time: .zero)
        synchronizer.setRate(0, atHostTime: clock.now.advanced(by: .seconds(1)))
        synchronizer.setRate(1, atHostTime: nil)
        clock.advance(by: .seconds(5))
        #expect(synchronizer.currentTime() == MediaTime(value: 5, timescale: 1))
    }

    @Test func hostInstantAndMediaTimeAreInverse() {
        let segment = TimebaseSegment(
            mediaAnchor: MediaTime(value: 1001, timescale: 24000), hostAnchor: clock.now, rate: 1)
        let moment = MediaTime(value: 1001 * 500, timescale: 24000)
        let instant = segment.hostInstant(of: moment)
        #expect(instant.map { abs((segment.mediaTime(at: $0) - moment).nanoseconds) <= 1 } == true)
    }

    @Test(arguments: [.max, .min + 1, 1 << 62, -(1 << 62), 6_000_000_000_000_000] as [Int64])
    func noMediaTimeTraps(_ value: Int64) {
        for rate in [0.25, 0.5, 1, 4] {
            for timescale: Int32 in [1, 1000, 1_000_000_000] {
                let time = MediaTime(value: value, timescale: timescale)
                for anchor in [MediaTime.zero, time, -time] {
                    let segment = TimebaseSegment(mediaAnchor: anchor, hostAnchor: clock.now, rate: rate)
                    let instant = segment.hostInstant(of: time)
                    #expect(
                        instant.map {
                            anchor < time ? $0 >= clock.now : anchor > time ? $0 <= clock.now : $0 == clock.now
                        } == true)
                    _ = segment.mediaTime(at: HostInstant(nanoseconds: value))
                }
            }
        }
    }

    @Test func aMomentIsPerceivedOnTheSegmentThatReachesIt() {
        let synchronizer = RenderSynchronizer(clock: clock)
        let start = clock.now.advanced(by: .seconds(2))
        func instant(_ seconds: Int64) -> Duration? {
            synchronizer.timebase.snapshot.hostInstant(of: MediaTime(value: seconds, timescale: 1), at: clock.now)
                .map { $0 - start }
        }
        #expect(instant(5) == nil)
        synchronizer.setRate(2, time: MediaTime(value: 1, timescale: 1), atHostTime: start)
        #expect(instant(5) == .seconds(2))
        // A film time before a scheduled start is due at the start.
        #expect(instant(0) == .zero)
        clock.advance(by: .seconds(3))
        #expect(instant(5) == .seconds(2) && instant(0) == .milliseconds(-500))
        // A change of speed at film time 7, a stop at 9.
        synchronizer.setRate(1, atHostTime: start.advanced(by: .seconds(3)))
        #expect(instant(5) == .seconds(2) && instant(9) == .seconds(5))
        clock.advance(by: .seconds(3))
        synchronizer.setRate(0, atHostTime: start.advanced(by: .seconds(5)))
        #expect(instant(8) == .seconds(4))
        #expect(instant(10) == nil)
    }

    @Test func readersNeverSeeHalfAnAnchor() async {
        let timebase = Timebase(clock: clock)
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for index in 1...200_000 {
                    let segment = TimebaseSegment(
                        mediaAnchor: MediaTime(nanoseconds: Int64(index)),
                        hostAnchor: HostInstant(nanoseconds: Int64(index)), rate: 1)
                    timebase.publish(
                        TimebaseSnapshot(current: segment, scheduled: segment, generation: UInt64(index)))
                }
                return true
            }
            group.addTask {
                while true {
                    let snapshot = timebase.snapshot
                    guard snapshot.generation > 0 else { continue }
                    let number = Int64(snapshot.generation)
                    if snapshot.current.hostAnchor.nanoseconds != number { return false }
                    if snapshot.scheduled?.mediaAnchor.value != number { return false }
                    if number == 200_000 { return true }
                }
            }
            for await whole in group { #expect(whole) }
        }
    }

    @Test func eventsFromManyThreadsArriveOnceEachAndOverflowIsCounted() async {
        let log = EventLog(clock: clock, minimumCapacity: 1024)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    for _ in 0..<500 { log.append(.outputLost(output: OutputID(thread))) }
                }
            }
        }
        var perThread = [0, 0, 0, 0]
        while let entry = log.removeFirst() {
            if case .outputLost(let output) = entry.event { perThread[output.index] += 1 }
        }
        #expect(perThread.reduce(0, +) == 1024)
        #expect(log.lostCount == 2000 - 1024)
    }
}
