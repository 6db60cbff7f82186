import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

/// A group on a computer on which no further thread can be created.
@Suite(.timeLimit(.minutes(10))) final class ExhaustedGroupTests {
    private let clock = ManualClock()
    private let film = SyntheticFilm(duration: MediaTime(value: 600, timescale: 1))
    private let synchronizer: RenderSynchronizer
    private let renderer: AudioRenderer
    private var feeder: AudioFeeder

    init() {
        synchronizer = RenderSynchronizer(clock: clock)
        renderer = AudioRenderer(codecs: SyntheticCodecs(), events: EventLog(clock: clock))
        feeder = AudioFeeder(renderer: renderer)
    }

    private static let refused: @Sendable () throws(ExhaustionError) -> WorkerThread? = { () throws(ExhaustionError) in
        throw ExhaustionError(.threads, "the system does not allow more threads")
    }

    private func enqueue(_ count: Int) throws {
        let source = film.source(for: film.summary.tracks[1])
        for _ in 0..<count { renderer.enqueue(try #require(try source.read())) }
    }

    private func runUntilIdle() { for _ in 0..<50 { feeder.performDueWork() } }

    @Test func membersWithoutThreadsOfTheirOwnAreTurnedByTheRenderersFeeder() throws {
        var work = GroupWork.byHand()
        work.startFeeder = { (_, _) throws(ExhaustionError) in try Self.refused() }
        let members = [RecordingOutput(capacity: 1_000_000), RecordingOutput(capacity: 1_000_000)]
        renderer.setOutput(OutputGroup(members: members, codecs: SyntheticCodecs(), work: work))
        synchronizer.addRenderer(renderer)
        try enqueue(20)
        runUntilIdle()
        for member in members { #expect(member.state.withLock { $0.samples.count > 10_000 }) }
        // The second one's signal wakes no thread.
        let due = feeder.performDueWork()
        #expect(due.map { $0 <= clock.now.advanced(by: .milliseconds(10)) } ?? false)
    }

    @Test func aMemberThatNoThreadCanOpenIsReportedWithTheCause() throws {
        var work = GroupWork.byHand()
        work.run = { (name, body) throws(ExhaustionError) in
            if name == "group opening" { return try Self.refused() }
            body()
            return nil
        }
        let failures = Lock<[OutputError]>([])
        renderer.onEvent { event in if case .outputFailed(let error) = event { failures.withLock { $0.append(error) } }
        }
        renderer.setOutput(OutputGroup(members: [RecordingOutput()], codecs: SyntheticCodecs(), work: work))
        synchronizer.addRenderer(renderer)
        try enqueue(1)
        runUntilIdle()
        #expect(failures.withLock { $0.count } == 1)
        #expect(failures.withLock { $0.first?.message.contains("more threads") } == true)
    }

    @Test func aChangeOfMembersWithoutAThreadIsRefusedAndNothingChanges() async throws {
        var work = GroupWork.byHand()
        work.changesByHand = false
        work.run = { (name, body) throws(ExhaustionError) in
            if name == "route change" { return try Self.refused() }
            body()
            return nil
        }
        let (first, second) = (RecordingOutput(), RecordingOutput())
        let group = OutputGroup(members: [first], codecs: SyntheticCodecs(), work: work)
        guard case .refused(let refusals) = await group.change(to: [second]) else {
            Issue.record("it was not refused")
            return
        }
        #expect(refusals.first?.error.message.contains("more threads") == true)
        #expect(group.members.count == 1 && group.members[0] === first)
    }
}
