import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// A timeline source other than the outputs.
@Suite struct TimelineSourceTests {
    /// A fixed timeline, and the outcomes that were reported.
    private final class Source: TimelineSource {
        let line: TimebaseSegment?
        let outcomes = Lock<[TimelineOutcome]>([])
        init(_ line: TimebaseSegment?) { self.line = line }
        func replacement(of segment: TimebaseSegment, at now: HostInstant) -> TimebaseSegment? { line }
        func recordOutcome(_ outcome: TimelineOutcome, at now: HostInstant) { outcomes.withLock { $0.append(outcome) } }
        var last: TimelineOutcome? { outcomes.withLock { $0.last } }
    }

    private func running() throws -> VirtualStage {
        let stage = try VirtualStage()
        stage.feed(from: stage.sound)
        stage.synchronizer.setRate(1, time: .zero)
        stage.run(for: .seconds(1))
        try #require(stage.synchronizer.effectiveRate == 1)
        return stage
    }

    private func line(_ stage: VirtualStage, _ rate: Double, late: Duration = .zero) -> TimebaseSegment {
        TimebaseSegment(
            mediaAnchor: stage.synchronizer.currentTime(), hostAnchor: stage.clock.now.advanced(by: late), rate: rate,
            speed: 1)
    }

    @Test func theLineIsBentToTheSourceAndGoesItsOwnWayWithoutIt() throws {
        let stage = try running()
        let source = Source(line(stage, 1.00004))
        stage.synchronizer.setTimelineSource(source)
        stage.run(for: .seconds(40))
        let apart = stage.synchronizer.currentTime() - source.line!.mediaTime(at: stage.clock.now)
        #expect(abs(apart.seconds) < 50e-6)
        guard case .followed? = source.last else { return #expect(Bool(false), "\(String(describing: source.last))") }
        stage.synchronizer.setTimelineSource(nil)
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.timebase.rate == 1 && !stage.synchronizer.timebase.isLed)
    }

    @Test func audioInASpeakerTakesPrecedenceAndTheSourceReceivesTheDeviation() throws {
        let stage = try running()
        let held = line(stage, 0.99996)
        stage.card.held = { held }
        let source = Source(line(stage, 1.00004, late: .milliseconds(-5)))
        stage.synchronizer.setTimelineSource(source)
        stage.run(for: .seconds(60))
        let apart = (stage.synchronizer.currentTime() - held.mediaTime(at: stage.clock.now)).seconds
        #expect(abs(apart) < 50e-6, "the speaker is followed")
        guard case .outvoted(let late)? = source.last else { return #expect(Bool(false)) }
        #expect(abs(late.inSeconds + 0.005 + 60 * 80e-6) < 2e-4, "\(late)")
    }

    @Test func aSpeakerWhoseClockIsServedFollowsTheSource() throws {
        let stage = try running()
        let (held, clock) = (Lock(line(stage, 0.99996)), stage.clock)
        stage.card.held = { held.withLock { $0 } }
        stage.card.adjustHeld = { offset in
            held.withLock { line in
                line.mediaAnchor = line.mediaTime(at: clock.now)
                (line.hostAnchor, line.rate) = (clock.now, 1 + max(-100e-6, min(100e-6, offset)))
            }
            return true
        }
        let source = Source(line(stage, 1.00004, late: .milliseconds(-5)))
        stage.synchronizer.setTimelineSource(source)
        stage.run(for: .seconds(300))
        let now = clock.now
        let (film, audio) = (stage.synchronizer.currentTime(), held.withLock { $0.mediaTime(at: now) })
        #expect(abs((audio - source.line!.mediaTime(at: now)).seconds) < 50e-6)
        #expect(abs((film - audio).seconds) < 50e-6)
        guard case .followed? = source.last else { return #expect(Bool(false), "\(String(describing: source.last))") }
    }

    @Test func aSourceTooFarAwayIsNotifiedAndTheRateUnchanged() throws {
        let stage = try running()
        let source = Source(line(stage, 1, late: .milliseconds(-300)))
        stage.synchronizer.setTimelineSource(source)
        stage.run(for: .seconds(5))
        #expect(stage.synchronizer.timebase.rate == 1)
        guard case .beyond(let late)? = source.last else { return #expect(Bool(false)) }
        #expect(abs(late.inSeconds + 0.3) < 1e-3)
    }

    @Test func aSourceThatKnowsNothingBendsNothingAndASourceThatIsGoneIsForgotten() throws {
        let stage = try running()
        var source: Source? = Source(nil)
        stage.synchronizer.setTimelineSource(source)
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.timebase.rate == 1 && source?.last == nil)
        source = Source(line(stage, 1.00005))
        stage.synchronizer.setTimelineSource(source)
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.timebase.rate > 1)
        source = nil
        stage.run(for: .seconds(2))
        #expect(stage.synchronizer.timebase.rate == 1)
    }
}
