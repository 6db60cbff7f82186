import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Drives a presenter in virtual time, feeding the layer as a decoder would.
@Suite struct FramePresenterTests {
    let clock = ManualClock()
    let layer = DisplayLayer(depth: 8)
    let frame = MediaTime(value: 1001, timescale: 24000)

    func run(_ screen: VirtualScreen, frames: Int, synchronizer: RenderSynchronizer, events: EventLog) -> FramePresenter
    {
        let presenter = FramePresenter(
            layer: layer, timebase: synchronizer.timebase, output: screen, events: events)
        var next = 0
        func feed() {
            while next < frames, layer.isReadyForMoreMediaData {
                layer.enqueue(NumberedFrame.buffer(next, every: frame))
                next += 1
            }
            if next == frames { layer.finish() }
        }
        feed()
        for _ in 0..<(frames * 10) {
            if layer.isDrained { break }
            switch presenter.step() {
            case .at(let instant): clock.advance(to: instant)
            case .whenSomethingArrives: clock.advance(by: .milliseconds(1))
            }
            feed()
        }
        return presenter
    }

    @Test func everyPictureOfTwoHoursIsShownAtItsOwnInstantWhereThereIsNoRefresh() throws {
        let events = EventLog(clock: clock)
        let synchronizer = RenderSynchronizer(clock: clock)
        let start = clock.now.advanced(by: .milliseconds(100))
        synchronizer.setRate(1, time: .zero, atHostTime: start)
        let screen = VirtualScreen(clock: clock)
        screen.presenting = .milliseconds(2)
        screen.presentCost = .milliseconds(2)
        let frames = 2 * 3600 * 24
        let presenter = run(screen, frames: frames, synchronizer: synchronizer, events: events)
        #expect(presenter.shownCount == frames)
        #expect(presenter.droppedCount == 0)
        for shown in screen.shown.dropFirst() {
            let due = start.advanced(by: (frame * Int64(shown.number)).duration)
            try #require(abs((shown.at - due).wholeNanoseconds) <= 1)
        }
    }

    @Test func aFrameThatCouldNotBeDrawnIsNotCountedAsShown() {
        let events = EventLog(clock: clock)
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now.advanced(by: .milliseconds(100)))
        let screen = VirtualScreen(clock: clock)
        screen.canPresent = false
        let presenter = run(screen, frames: 24, synchronizer: synchronizer, events: events)
        #expect(layer.isDrained && presenter.shownCount == 0 && presenter.droppedCount == 0)
        while let entry = events.removeFirst() {
            if case .frame = entry.event { Issue.record("a frame event at \(entry.at)") }
        }
    }

    @Test func theFirstFrameStaysOnScreenWhileTimeIsStopped() {
        let synchronizer = RenderSynchronizer(clock: clock)
        let screen = VirtualScreen(clock: clock)
        layer.enqueue(NumberedFrame.buffer(5, every: frame))
        layer.enqueue(NumberedFrame.buffer(6, every: frame))
        let presenter = FramePresenter(
            layer: layer, timebase: synchronizer.timebase, output: screen, events: EventLog(clock: clock))
        _ = presenter.step()
        #expect(screen.shown.map(\.number) == [5])
        #expect(presenter.step() == .whenSomethingArrives)
        #expect(screen.shown.count == 1)
    }

    @Test func onASixtyHertzScreenPicturesLieEvenlyAroundTheirTime() {
        let synchronizer = RenderSynchronizer(clock: clock)
        let start = clock.now.advanced(by: .milliseconds(103))
        synchronizer.setRate(1, time: .zero, atHostTime: start)
        let period = Duration.nanoseconds(16_666_667)
        let screen = VirtualScreen(clock: clock, refresh: .fixed(period: period, phase: clock.now))
        screen.presentCost = .milliseconds(3)
        screen.presenting = .milliseconds(1)
        let presenter = run(screen, frames: 24 * 600, synchronizer: synchronizer, events: EventLog(clock: clock))
        #expect(presenter.droppedCount == 0)
        var errors = screen.shown.dropFirst().map { shown in  // the first is held before the start
            (shown.at - start.advanced(by: (frame * Int64(shown.number)).duration)).inMilliseconds
        }
        errors.sort()
        #expect(errors.first! >= -8.4)
        #expect(errors.last! <= 8.4)
        #expect(abs(errors[errors.count / 2]) < 1)
    }

    @Test func onAScreenThatIsLateThePicturesAfterAStartComeEarlierByItsDelay() {
        let synchronizer = RenderSynchronizer(clock: clock)
        let start = clock.now.advanced(by: .milliseconds(303))
        synchronizer.setRate(1, time: .zero, atHostTime: start)
        let period = Duration.nanoseconds(16_666_667)
        let screen = VirtualScreen(clock: clock, refresh: .fixed(period: period, phase: clock.now))
        let delay = Duration.milliseconds(100)
        screen.latency = OutputLatency(
            startLead: .zero, shares: [LatencyShare(name: "screen", duration: delay, source: .configured)])
        let presenter = run(screen, frames: 48, synchronizer: synchronizer, events: EventLog(clock: clock))
        #expect(presenter.droppedCount == 0)
        #expect(screen.shown.map(\.number) == Array(0..<48))
        for shown in screen.shown.dropFirst() {
            let due = start.advanced(by: (frame * Int64(shown.number)).duration)
            #expect(abs((shown.at.advanced(by: delay) - due).inMilliseconds) <= 8.4, "picture \(shown.number)")
        }
    }

    @Test(arguments: [false, true]) func aFrameThatComesTooLateIsDroppedAndCountedOnce(isPaced: Bool) {
        let events = EventLog(clock: clock)
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now)
        let screen = VirtualScreen(
            clock: clock, refresh: isPaced ? .fixed(period: .nanoseconds(16_666_667), phase: clock.now) : .unpaced)
        let presenter = FramePresenter(layer: layer, timebase: synchronizer.timebase, output: screen, events: events)
        func step() {
            while case .at(let instant) = presenter.step(), layer.count > 0 {
                clock.advance(to: max(instant, clock.now))
            }
        }
        func show(_ number: Int, late delay: Duration) {
            layer.enqueue(NumberedFrame.buffer(number, every: frame))
            let due = synchronizer.timebase.snapshot.hostInstant(of: frame * Int64(number), at: clock.now)
            clock.advance(to: max(clock.now, (due ?? clock.now).advanced(by: delay)))
            step()
        }
        show(0, late: .milliseconds(1))
        show(5, late: .milliseconds(20))
        show(10, late: .milliseconds(80))
        show(15, late: .milliseconds(1))
        #expect(screen.shown.map(\.number) == [0, 5, 15])
        #expect(presenter.droppedCount == 1 && presenter.shownCount == 3)
        // A frame without an end stays until the next one.
        var still = NumberedFrame.buffer(20, every: frame)
        still.duration = .zero
        layer.enqueue(still)
        clock.advance(by: .seconds(2))
        step()
        #expect(screen.shown.last?.number == 20)
    }

    /// A decoder without skipping stays behind: every frame is late.
    @Test func aFilmThatIsAlwaysLateStillMovesOnceASecond() {
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now)
        let screen = VirtualScreen(clock: clock)
        let presenter = FramePresenter(
            layer: layer, timebase: synchronizer.timebase, output: screen, events: EventLog(clock: clock))
        for number in 0..<200 {
            layer.enqueue(NumberedFrame.buffer(number, every: frame))
            let due = synchronizer.timebase.snapshot.hostInstant(of: frame * Int64(number), at: clock.now)
            clock.advance(to: max(clock.now, (due ?? clock.now).advanced(by: .milliseconds(200))))
            while case .at(let instant) = presenter.step(), layer.count > 0 {
                clock.advance(to: max(instant, clock.now))
            }
        }
        let seconds = Int((frame * 200).seconds)
        #expect((seconds - 1...seconds + 2).contains(screen.shown.count))
        #expect(presenter.droppedCount + presenter.shownCount == 200)
    }

    @Test func aStallOfTheScreenDropsThePicturesItCostAndComesBackInTime() {
        let events = EventLog(clock: clock)
        let synchronizer = RenderSynchronizer(clock: clock)
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now)
        let start = clock.now
        let screen = VirtualScreen(clock: clock)
        let presenter = FramePresenter(layer: layer, timebase: synchronizer.timebase, output: screen, events: events)
        for number in 0..<8 { layer.enqueue(NumberedFrame.buffer(number, every: frame)) }
        while screen.shown.count < 2 {
            if case .at(let instant) = presenter.step() { clock.advance(to: instant) }
        }
        clock.advance(by: .milliseconds(130))
        _ = presenter.step()
        #expect(screen.shown.last?.number == 4)
        #expect(presenter.droppedCount == 2)
        while screen.shown.last?.number != 7 {
            if case .at(let instant) = presenter.step() { clock.advance(to: instant) }
        }
        #expect(screen.shown.last?.at == start.advanced(by: (frame * 7).duration))
    }
}
