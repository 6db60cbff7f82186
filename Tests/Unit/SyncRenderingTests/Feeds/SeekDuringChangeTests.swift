import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

/// A seek in each phase of a change of outputs: what every output receives, sample by sample.
@Suite struct SeekDuringChangeTests {
    enum Phase: CaseIterable { case beginning, opening, settling, filling, decided }

    private let rate = Int64(GroupRig.rate)

    @Test func anOutputThatAcceptsNoAudioEndsTheChangeWithoutIt() {
        let (plays, healthy, stalled) = (TapeOutput.rig("plays"), TapeOutput.rig("healthy"), TapeOutput.rig("stalled"))
        stalled.isStalled = true
        let rig = GroupRig(plays)
        rig.play()
        rig.run(for: .seconds(5))
        rig.change(to: stalled)
        rig.run(for: .seconds(20))
        guard case .refused? = rig.outcomes.withLock({ $0.last }) else {
            Issue.record("\(rig.outcomes.withLock { $0 })")
            return
        }
        #expect(rig.group.members.map(\.name) == ["plays"] && stalled.closings == 1)
        rig.change(to: healthy, stalled)
        rig.run(for: .seconds(30))
        guard case .changed(_, let refused)? = rig.outcomes.withLock({ $0.last }) else {
            Issue.record("\(rig.outcomes.withLock { $0 })")
            return
        }
        #expect(refused.map(\.output) == ["stalled"] && rig.group.members.map(\.name) == ["healthy"])
    }

    /// - Parameter target: Frames; the seek occurs at about 40,000.
    @Test(arguments: Phase.allCases, [16_000, 160_000] as [Int64])
    func theNewOutputPlaysFromTheTargetAndNothingIsLostOrDoubled(_ phase: Phase, target: Int64) throws {
        let (stays, leaves, joins) = (TapeOutput.rig("stays"), TapeOutput.rig("leaves"), TapeOutput.rig("joins"))
        let rig = GroupRig(stays, leaves)
        rig.play()
        rig.run(for: .seconds(5))
        switch phase {
        case .beginning, .decided: break
        case .opening: rig.holdOpenings()
        case .settling: joins.clockIsReady = rig.clock.now.advanced(by: .seconds(3600))
        case .filling: joins.isStalled = true
        }
        rig.change(to: stays, joins)
        if phase != .beginning { rig.runUntilIdle() }
        try #require(isReached(phase, rig), "\(String(describing: rig.group.changeProgress))")
        rig.seek(to: target)
        rig.runUntilIdle()
        rig.releaseOpenings()
        joins.clockIsReady = nil
        joins.isStalled = false
        rig.run(for: .seconds(3))
        let moment = try #require(rig.changedAt)
        #expect(rig.outcomes.withLock { $0.count } == 1 && rig.group.members.map(\.name) == ["stays", "joins"])
        #expect(leaves.closings == 1 && stays.closings == 0 && joins.closings == 0)
        #expect(stays.flushes == 1 && stays.deviation(from: (1, target..<rig.next), until: rig.playhead) == nil)
        // A change that was decided before the seek is complete with it.
        let start = phase == .decided ? target : moment
        #expect(start >= target && start < target + rate * 2 && (start - target) % GroupRig.packet == 0)
        #expect(joins.deviation(from: (1, start..<rig.next), until: rig.playhead) == nil)
    }

    /// At the new position both play on from the same frame, and the change happens in the pause.
    @Test(arguments: Phase.allCases) func aSeekInAPauseStartsAllOutputsAtItsFrame(_ phase: Phase) throws {
        let (stays, leaves, joins) = (TapeOutput.rig("stays"), TapeOutput.rig("leaves"), TapeOutput.rig("joins"))
        let rig = GroupRig(stays, leaves)
        rig.play()
        rig.run(for: .seconds(5))
        switch phase {
        case .beginning, .decided: break
        case .opening: rig.holdOpenings()
        case .settling: joins.clockIsReady = rig.clock.now.advanced(by: .seconds(3600))
        case .filling: joins.isStalled = true
        }
        rig.change(to: stays, joins)
        if phase != .beginning { rig.runUntilIdle() }
        try #require(isReached(phase, rig))
        rig.synchronizer.setRate(0)
        rig.runUntilIdle()
        rig.seek(to: 100_003)
        rig.runUntilIdle()
        rig.releaseOpenings()
        joins.clockIsReady = nil
        joins.isStalled = false
        rig.run(for: .seconds(1))
        #expect(rig.outcomes.withLock { $0.count } == 1 && leaves.closings == 1)
        rig.synchronizer.setRate(1, time: rig.time(100_003), atHostTime: rig.clock.now)
        rig.run(for: .seconds(2))
        for output in [stays, joins] {
            #expect(output.deviation(from: (1, 100_003..<rig.next), until: rig.playhead) == nil)
        }
    }

    private func isReached(_ phase: Phase, _ rig: GroupRig) -> Bool {
        switch (phase, rig.group.changeProgress) {
        case (.beginning, nil): true
        case (.opening, .waiting(let wait)?): wait.cause == .opening
        case (.settling, .waiting(let wait)?): wait.cause == .clock
        case (.filling, .filling?): true
        case (.decided, .changing?): true
        default: false
        }
    }
}
