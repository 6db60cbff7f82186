import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Observers of the timeline; film and host time are advanced manually.
@Suite struct TimeObserverTests {
    let clock = ManualClock()
    let synchronizer: RenderSynchronizer
    let observed = Lock<[Double]>([])

    init() { synchronizer = RenderSynchronizer(clock: clock) }

    private var log: [Double] { observed.withLock { $0 } }

    private func periodic(_ interval: MediaTime) -> TimeObserver {
        let observed = observed
        return synchronizer.addPeriodicTimeObserver(forInterval: interval) { time in
            observed.withLock { $0.append(time.seconds) }
        }
    }

    private func boundary(_ times: [MediaTime]) -> TimeObserver {
        let observed = observed
        let timebase = synchronizer.timebase
        return synchronizer.addBoundaryTimeObserver(forTimes: times) {
            observed.withLock { $0.append(timebase.currentTime.seconds) }
        }
    }

    /// Advances host time like the observer's thread: from one due event to the next.
    private func run(for duration: Duration) {
        let end = clock.now.advanced(by: duration)
        while clock.now < end {
            let next = synchronizer.performDueWork() ?? end
            clock.advance(to: max(min(next, end), clock.now.advanced(by: .nanoseconds(1))))
        }
        synchronizer.performDueWork()
    }

    @Test func aPeriodicObserverIsCalledAtEveryMultipleOfItsInterval() {
        let observer = periodic(millisecond(500))
        synchronizer.setRate(1, time: .zero)
        run(for: .milliseconds(2600))
        #expect(log.map { ($0 * 2).rounded() } == [0, 1, 2, 3, 4, 5])
        for (moment, number) in zip(log.dropFirst(), 1...) { #expect(abs(moment - Double(number) / 2) < 0.001) }
        synchronizer.removeTimeObserver(observer)
        run(for: .seconds(2))
        #expect(log.count == 6)
    }

    @Test func anEndlessIntervalBeforeTheStartOfTheFilmTrapsNowhere() {
        let observer = periodic(MediaTime(seconds: .infinity))
        synchronizer.setRate(1, time: MediaTime(value: -3, timescale: 1))
        run(for: .seconds(2))
        #expect(log == [-3])
        withExtendedLifetime(observer) {}
    }

    /// Two hours of film, with an interval of one second.
    @Test func inTwoHoursNoSecondIsMissedOrReportedTwice() {
        let observer = periodic(second(1))
        synchronizer.setRate(1, time: .zero)
        run(for: .seconds(7200))
        #expect(log.count == 7201)
        #expect(zip(log, 0...).allSatisfy { abs($0 - Double($1)) < 0.001 })
        withExtendedLifetime(observer) {}
    }

    @Test func intervalsAreFilmTimeAtEverySpeed() {
        let observer = periodic(second(1))
        synchronizer.setRate(2, time: .zero)
        run(for: .milliseconds(2100))
        #expect(log.map { $0.rounded() } == [0, 1, 2, 3, 4])
        withExtendedLifetime(observer) {}
    }

    @Test func seeksStartsAndStopsAreReportedAndSpeedChangesAreNot() {
        let observer = periodic(second(100))
        synchronizer.setRate(0, time: second(42))
        synchronizer.performDueWork()
        #expect(log == [42])
        run(for: .seconds(5))
        #expect(log == [42])
        synchronizer.setRate(1)
        synchronizer.performDueWork()
        #expect(log == [42, 42])
        run(for: .seconds(3))
        synchronizer.setRate(1.5)
        run(for: .seconds(2))
        #expect(log.count == 2)
        synchronizer.setRate(0)
        synchronizer.performDueWork()
        #expect(log == [42, 42, 48])
        withExtendedLifetime(observer) {}
    }

    @Test func aScheduledStartIsReportedWhenItHappens() {
        let observer = periodic(second(100))
        synchronizer.setRate(1, time: second(10), atHostTime: clock.now.advanced(by: .seconds(2)))
        run(for: .milliseconds(1990))
        #expect(log.isEmpty)
        run(for: .milliseconds(20))
        #expect(log.count == 1)
        #expect(abs(log[0] - 10) < 0.02)
        withExtendedLifetime(observer) {}
    }

    @Test func aVeryShortIntervalIsThrottled() {
        let observer = periodic(.zero)
        synchronizer.setRate(1, time: .zero)
        run(for: .seconds(1))
        #expect((50...202).contains(log.count))
        withExtendedLifetime(observer) {}
    }

    @Test func callsThatPileUpAreMadeAsOne() {
        let queue = ManualQueue(clock: clock)
        let observed = observed
        let observer = synchronizer.addPeriodicTimeObserver(forInterval: second(1), queue: queue) { time in
            observed.withLock { $0.append(time.seconds) }
        }
        synchronizer.setRate(1, time: .zero)
        run(for: .milliseconds(5500))
        #expect(queue.count == 1)
        queue.runIteration()
        #expect(log == [5.5])
        withExtendedLifetime(observer) {}
    }

    @Test func aBoundaryIsReportedOnEachPassAndNotOnASeekOverIt() {
        let observer = boundary([second(1), second(3), millisecond(3100)])
        synchronizer.setRate(1, time: .zero)
        run(for: .milliseconds(2500))
        #expect(log.map { $0.rounded() } == [1])
        synchronizer.setRate(1, time: millisecond(3050))
        run(for: .seconds(1))
        #expect(log.count == 2)
        #expect(abs(log[1] - 3.1) < 0.001)
        synchronizer.setRate(1, time: .zero)
        run(for: .seconds(4))
        #expect(log.count == 5)
        withExtendedLifetime(observer) {}
    }

    @Test func aBoundaryAtTheStartIsReportedOnceAndNotAgainAfterAPauseThere() {
        let observer = boundary([second(5)])
        synchronizer.setRate(0, time: second(5))
        run(for: .seconds(1))
        #expect(log.isEmpty)
        synchronizer.setRate(1)
        run(for: .milliseconds(500))
        #expect(log.count == 1)
        // Runs up to exactly the boundary, pauses there, and resumes.
        synchronizer.setRate(1, time: second(4))
        clock.advance(by: .seconds(1))
        synchronizer.setRate(0)
        synchronizer.performDueWork()
        #expect(log.count == 2)
        synchronizer.setRate(1)
        run(for: .seconds(1))
        #expect(log.count == 2)
        withExtendedLifetime(observer) {}
    }

    /// If the observer's thread is late, every missed boundary is reported once.
    @Test func latenessLosesNoBoundary() {
        let observer = boundary((1...50).map { millisecond($0 * 10) })
        synchronizer.setRate(1, time: .zero)
        clock.advance(by: .seconds(3))
        synchronizer.performDueWork()
        #expect(log.count == 50)
        withExtendedLifetime(observer) {}
    }

    @Test func aReleasedObserverIsNotCalled() {
        var observer: TimeObserver? = periodic(second(1))
        withExtendedLifetime(observer) {}
        observer = nil
        synchronizer.setRate(1, time: .zero)
        run(for: .seconds(3))
        #expect(log.isEmpty)
        observer = periodic(second(1))
        // It is due, and was accessed by the command.
        synchronizer.setRate(1, time: second(7))
        withExtendedLifetime(observer) {}
        observer = nil
        run(for: .seconds(3))
        #expect(log.isEmpty)
    }

    // MARK: Misbehaving observers

    private struct Mishap: Error {}

    @Test func aThrowingObserverIsRemovedAndPlaybackContinues() {
        let calls = Lock(0)
        let bad = synchronizer.addPeriodicTimeObserver(forInterval: second(1)) { _ in
            calls.withLock { $0 += 1 }
            throw Mishap()
        }
        let good = periodic(second(1))
        synchronizer.setRate(1, time: .zero)
        run(for: .milliseconds(3500))
        #expect(calls.withLock { $0 } == 1)
        #expect(bad.failure is Mishap)
        #expect(log.count == 4)
        #expect(good.failure == nil)
        #expect(synchronizer.currentTime() == millisecond(3500))
    }

    @Test func anObserverMayCommandAddAndRemoveFromInsideItsCall() {
        let synchronizer = synchronizer
        let observed = observed
        let added = Lock<TimeObserver?>(nil)
        let own = Lock<TimeObserver?>(nil)
        let observer = synchronizer.addBoundaryTimeObserver(forTimes: [second(2)]) {
            synchronizer.setRate(1, time: second(50))
            let fresh = synchronizer.addPeriodicTimeObserver(forInterval: second(1)) { time in
                observed.withLock { $0.append(time.seconds) }
            }
            added.withLock { $0 = fresh }
            if let me = own.withLock({ $0 }) { synchronizer.removeTimeObserver(me) }
        }
        own.withLock { $0 = observer }
        synchronizer.setRate(1, time: .zero)
        run(for: .milliseconds(4500))
        #expect(log.map { $0.rounded() } == [51, 52])
    }

    /// The observer seeks on every seek, without end; other observers and playback still progress.
    @Test func anObserverThatSeeksOnEverySeekBlocksNothing() {
        let synchronizer = synchronizer
        let calls = Lock(0)
        let restless = synchronizer.addPeriodicTimeObserver(forInterval: second(1)) { _ in
            calls.withLock { $0 += 1 }
            synchronizer.setRate(1, time: .zero)
            synchronizer.setRate(1, time: second(9))
        }
        let other = boundary([second(9)])
        synchronizer.setRate(1, time: .zero)
        for _ in 0..<100 {
            clock.advance(by: .milliseconds(10))
            synchronizer.performDueWork()
        }
        #expect((50...101).contains(calls.withLock { $0 }))
        #expect(log.count > 50)
        withExtendedLifetime((restless, other)) {}
    }

    @Test func noTimesAtAllAreNoMistake() {
        let observer = boundary([])
        synchronizer.setRate(1, time: .zero)
        run(for: .seconds(5))
        #expect(log.isEmpty)
        withExtendedLifetime(observer) {}
    }

    // MARK: Real time

    /// With the host clock, observers have a separate thread that ends with the synchronizer.
    @Test(.timeLimit(.minutes(10))) func onTheMachinesClockObserversAreCalledByThemselves() async {
        let synchronizer = RenderSynchronizer()
        let arrived = Signal()
        let observer = synchronizer.addBoundaryTimeObserver(forTimes: [millisecond(20)]) { arrived.raise() }
        synchronizer.setRate(1, time: .zero)
        #expect(arrived.wait(until: .now.advanced(by: .seconds(20))))
        withExtendedLifetime(observer) {}
    }
}
