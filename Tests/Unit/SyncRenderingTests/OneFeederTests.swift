import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

/// A renderer with a group, without threads: which feeder feeds its members, and that no audio is lost when that
/// changes.
@Suite struct OneFeederTests {
    /// A renderer, its feeder, and the feeders of members that would have separate threads.
    private final class OneFeederFixture {
        let clock = ManualClock()
        let synchronizer: RenderSynchronizer
        let renderer: AudioRenderer
        let group: OutputGroup
        let source: any SampleSource
        private var feeder: AudioFeeder
        private let standing = Lock<[OutputFeed]>([])
        let outcomes = Lock<[RouteChange]>([])

        init(_ members: RecordingOutput...) {
            synchronizer = RenderSynchronizer(clock: clock)
            renderer = AudioRenderer(codecs: SyntheticCodecs(), events: EventLog(clock: clock))
            synchronizer.addRenderer(renderer)
            let standing = standing
            group = OutputGroup(
                members: members, codecs: SyntheticCodecs(),
                work: .byHand { feeder in standing.withLock { $0.append(feeder) } })
            let film = SyntheticFilm(duration: MediaTime(value: 600, timescale: 1))
            source = film.source(for: film.summary.tracks[1])
            feeder = renderer.startWithoutThread { _ in }
            renderer.setOutput(group)
        }

        /// The number of feeders that would have a thread.
        var threads: Int {
            standing.withLock { $0.filter { !$0.isShared && !$0.state.withLock { $0.isStopping } }.count }
        }

        func enqueue(_ count: Int) throws { for _ in 0..<count { renderer.enqueue(try #require(try source.read())) } }

        /// Enqueues as much as the renderer requests for its outputs.
        func fill() throws {
            while renderer.isReadyForMoreMediaData, let buffer = try source.read() { renderer.enqueue(buffer) }
        }

        /// Runs the renderer's own feeder.
        func runIteration() { feeder.performDueWork() }

        /// Runs the feeders that would have threads.
        func turnMembers() { for feeder in standing.withLock({ $0 }) where !feeder.isShared { feeder.runIteration() } }

        func runUntilIdle() {
            for _ in 0..<4 {
                runIteration()
                turnMembers()
                _ = group.advanceChange()
            }
        }

        func change(to members: RecordingOutput...) {
            group.change(to: members) { [outcomes] outcome in outcomes.withLock { $0.append(outcome) } }
        }

        /// Advances film time: each output plays what it has.
        func run(_ outputs: [RecordingOutput], for steps: Int) throws {
            for _ in 0..<steps {
                clock.advance(by: .milliseconds(20))
                for output in outputs { output.play(frames: 960) }
                try fill()
                runUntilIdle()
            }
        }
    }

    private func numbers(_ output: RecordingOutput) -> [Int64] {
        output.state.withLock { $0.samples }.compactMap { SyntheticFilm.frame(ofValue: $0) }
    }

    private func follows(_ numbers: [Int64]) -> Bool { zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 } }

    @Test func soundForTheOnlyMemberPassesOneFeederOnTheRenderersThread() throws {
        let output = RecordingOutput(capacity: 10_000)
        let rig = OneFeederFixture(output)
        try rig.enqueue(24)
        rig.runIteration()
        #expect(rig.threads == 0)
        #expect(numbers(output) == Array(0..<10_000))
        let cursor = try #require(rig.group.feeds.first?.state.withLock { $0.cursor })
        #expect(cursor.number == 3, "what the output has no space for stays in the store")
        #expect(!rig.renderer.store.level.isAllRead)
        output.play(frames: 10_000)
        rig.runIteration()
        #expect(numbers(output) == Array(0..<20_000))
        #expect(rig.renderer.progress.acceptedUntil == output.acceptedUntil)
    }

    @Test(arguments: [false, true]) func severalMembersHaveIndependentFeeders(isFirstStuck: Bool) throws {
        let (quick, stuck) = (RecordingOutput(capacity: 1_000_000), RecordingOutput(capacity: 1_000))
        let rig = isFirstStuck ? OneFeederFixture(stuck, quick) : OneFeederFixture(quick, stuck)
        try rig.enqueue(24)
        rig.runUntilIdle()
        #expect(rig.threads == 1, "one shares the renderer's thread")
        #expect(numbers(quick).count == 24 * 4_096)
        #expect(numbers(stuck).count == 1_000)
    }

    @Test func feedersFollowTheMembersAndNoSampleIsLostOrDouble() throws {
        let (first, second) = (RecordingOutput(capacity: 20_000), RecordingOutput(capacity: 20_000))
        let rig = OneFeederFixture(first)
        try rig.fill()
        rig.runUntilIdle()
        rig.synchronizer.setRate(1)
        try rig.run([first], for: 50)
        #expect(rig.threads == 0)
        rig.change(to: second)
        rig.runUntilIdle()
        #expect(rig.threads == 1, "while both are fed neither waits for the other")
        try rig.run([first, second], for: 100)
        guard case .changed(let moment?, _)? = rig.outcomes.withLock({ $0.last }) else {
            Issue.record("the outputs did not change")
            return
        }
        #expect(first.state.withLock { $0.isClosed })
        #expect(rig.threads == 1, "an output keeps its thread")
        try rig.run([second], for: 50)
        #expect(follows(numbers(first)) && numbers(first).first == 0)
        #expect(follows(numbers(second)))
        let begins = try #require(numbers(second).first)
        #expect(begins <= moment.rescaled(to: 48_000) && begins > 0)
        #expect(Double(try #require(numbers(first).last)) > moment.seconds * 48_000, "the old one had sound until then")
        #expect(Double(try #require(numbers(second).last)) > 48_000 * 3.9)
        #expect(second.acceptedUntil == rig.renderer.progress.acceptedUntil)
        let third = RecordingOutput(capacity: 20_000)
        rig.change(to: third)
        try rig.run([second, third], for: 150)
        #expect(rig.threads == 0, "the renderer's thread is free for the next one")
        #expect(follows(numbers(third)))
        #expect(Double(try #require(numbers(third).last)) > 48_000 * 6.9)
    }

    @Test func theEndOfTheAcceptedAudioIsLoggedOncePerSecondAndAtASeek() throws {
        let rig = OneFeederFixture(RecordingOutput(capacity: 1_000_000))
        func logged() -> [Int64] {
            var times: [Int64] = []
            while let entry = rig.renderer.events.removeFirst() {
                if case .audioAccepted(let until, _, _) = entry.event { times.append(until.rescaled(to: 1000)) }
            }
            return times
        }
        try rig.enqueue(20)
        rig.runIteration()
        let first = logged()
        #expect(first.count == 2 && (1000..<1100).contains(first[1] - first[0]), "\(first)")
        rig.renderer.flush()
        let film = SyntheticFilm(duration: MediaTime(value: 600, timescale: 1))
        rig.renderer.enqueue(try #require(try film.source(for: film.summary.tracks[1]).read()))
        rig.runIteration()
        #expect(logged() == [first[0]])
    }

    /// Outputs that are notified of changes, such as network speakers, do not poll the timeline.
    @Test func aLeavingOutputReceivesItsStopOnceTheStartBeforeItIsPerceived() throws {
        let (first, second) = (RecordingOutput(capacity: 50_000), RecordingOutput(capacity: 50_000))
        let rig = OneFeederFixture(first)
        try rig.fill()
        rig.runUntilIdle()
        rig.synchronizer.setRate(1, atHostTime: rig.clock.now.advanced(by: .milliseconds(100)))
        rig.change(to: second)
        rig.runUntilIdle()
        guard case .changing? = rig.group.changeProgress else {
            Issue.record("the change is not decided")
            return
        }
        try rig.run([first], for: 6)
        let published = try #require(first.state.withLock { $0.timeline })
        #expect(published.upcoming.rate == 0 && published.upcoming.mediaAnchor > .zero)
        #expect(published.upcoming.hostAnchor > rig.clock.now, "\(published)")
        #expect(rig.outcomes.withLock { $0.isEmpty })
        try rig.run([first, second], for: 20)
        #expect(rig.outcomes.withLock { $0.count } == 1)
    }

    /// On a busy machine the renderer's feeder may be late by the duration of a change of outputs.
    @Test func aJoiningMemberStartsWithAudioNotYetFed() throws {
        let (first, second) = (RecordingOutput(capacity: 5_000), RecordingOutput(capacity: 50_000))
        let rig = OneFeederFixture(first)
        try rig.fill()
        rig.runIteration()
        rig.change(to: second)
        // The renderer's feeder does not run during the change.
        for _ in 0..<6 {
            _ = rig.group.advanceChange()
            rig.turnMembers()
        }
        #expect(numbers(second).count == 50_000)
        #expect(
            numbers(second) == Array(0..<50_000),
            "what was accepted and not heard, and what waited behind it")
        #expect(rig.outcomes.withLock { $0.count } == 1)
    }

    @Test func aMemberThatJoinsDuringAPartialFlushReceivesNoAudioThatIsFlushed() throws {
        let (first, second) = (RecordingOutput(capacity: 10_000), RecordingOutput(capacity: 10_000))
        let third = RecordingOutput(capacity: 200_000)
        let rig = OneFeederFixture(first, second)
        try rig.enqueue(24)
        rig.runUntilIdle()
        let result = Lock<PartialFlushResult?>(nil)
        rig.renderer.requestFlush(fromSourceTime: MediaTime(value: 1, timescale: 1)) { item in
            result.withLock { $0 = item }
        }
        rig.runIteration()
        rig.change(to: first, second, third)
        // The members' feeders do not run, so the flush is not decided.
        for _ in 0..<6 { _ = rig.group.advanceChange() }
        #expect(result.withLock { $0 } == nil)
        #expect(rig.group.feeds.map(\.isFed) == [true, true, false])
        rig.runUntilIdle()
        rig.runUntilIdle()
        #expect(result.withLock { $0 } == .flushed(from: MediaTime(value: 1, timescale: 1)))
        #expect(numbers(third) == Array(0..<48_000))
        #expect(rig.outcomes.withLock { $0.count } == 1)
    }

    @Test func theFinalProgressIsReportedNoLaterThanTheEnd() throws {
        let output = RecordingOutput(capacity: 1_000_000)
        let rig = OneFeederFixture(output)
        let isReportedInTime = Lock(true)
        let renderer = rig.renderer
        rig.renderer.onEvent { _ in
            let status = renderer.progress
            if status.isDrained, status.acceptedUntil != status.enqueuedUntil {
                isReportedInTime.withLock { $0 = false }
            }
        }
        for round in 1...3 {
            // Audio after an end has a separate end.
            try rig.enqueue(5)
            rig.renderer.finish()
            rig.runIteration()
            #expect(rig.renderer.progress.isDrained)
            #expect(
                rig.renderer.progress.acceptedUntil == MediaTime(value: Int64(round) * 5 * 4_096, timescale: 48_000))
            #expect(numbers(output).count == round * 5 * 4_096)
        }
        #expect(isReportedInTime.withLock { $0 })
    }

    @Test func aFlushReachesTheOnlyMemberAndLaterAudioRestarts() throws {
        let output = RecordingOutput(capacity: 10_000)
        let rig = OneFeederFixture(output)
        try rig.enqueue(10)
        rig.runIteration()
        rig.renderer.flush()
        try rig.enqueue(10)
        rig.runIteration()
        #expect(output.state.withLock { $0.flushes } == 1)
        #expect(numbers(output) == Array(0..<10_000) + Array(40_960..<50_960))
    }

    @Test func aStalledOnlyMemberContinuesNearThePlayhead() throws {
        let output = RecordingOutput(capacity: 1_000)
        let rig = OneFeederFixture(output)
        try rig.fill()
        rig.runIteration()
        rig.synchronizer.setRate(1, atHostTime: rig.clock.now)
        for _ in 0..<20 {
            rig.clock.advance(by: .milliseconds(500))
            try rig.fill()
            rig.runIteration()
        }
        output.play(frames: 10_000)
        for _ in 0..<20 {
            rig.runIteration()
            output.play(frames: 10_000)
        }
        let late = try #require(numbers(output).firstIndex { $0 > 48_000 * 7 })
        #expect(late < 12_000, "what lies two seconds behind is not converted any more")
    }

    @Test func whatTheOnlyMemberHadGoesAlongToAnotherOutput() throws {
        let (first, second) = (RecordingOutput(capacity: 100_000), RecordingOutput(capacity: 100_000))
        let rig = OneFeederFixture(first)
        try rig.fill()
        rig.runIteration()
        // With a new output, accepted but not yet audible audio is moved to it.
        rig.renderer.setOutput(second)
        rig.runIteration()
        #expect(first.state.withLock { $0.isClosed })
        #expect(numbers(second) == numbers(first))
    }
}
