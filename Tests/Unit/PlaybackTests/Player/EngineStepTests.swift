import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// The order of an iteration of the engine, and what its steps declare.
@Suite struct EngineStepTests {
    /// Returns the reads of values that another step writes afterwards, and the declarations of such reads without one.
    private func faults(in steps: [EngineStep]) -> [String] {
        var faults: [String] = []
        for (index, step) in steps.enumerated() {
            let later = steps[(index + 1)...].filter { !$0.writes.isDisjoint(with: step.reads) }.map(\.name)
            faults += later.filter { !step.previous.contains($0) }.map { "\(step.name) reads before \($0) writes" }
            faults += step.previous.filter { !later.contains($0) }.map { "\(step.name) reads nothing old of \($0)" }
        }
        return faults
    }

    /// Returns the steps with one of them moved before or after another.
    private func steps(moving name: EngineStep.Name, _ isBefore: Bool, _ other: EngineStep.Name) throws -> [EngineStep]
    {
        var steps = EngineStep.all
        let moved = steps.remove(at: try #require(steps.firstIndex { $0.name == name }))
        let place = try #require(steps.firstIndex { $0.name == other })
        steps.insert(moved, at: isBefore ? place : place + 1)
        return steps
    }

    @Test func eachStepReadsWhatEarlierOnesWriteOrDeclaresThatItIsThePreviousIterations() {
        #expect(faults(in: EngineStep.all) == [])
        #expect(Set(EngineStep.all.map(\.name)).count == EngineStep.all.count)
    }

    @Test func anotherOrderIsRejected() throws {
        // The schedule would be that of the entry before.
        #expect(try !faults(in: steps(moving: .reconcile, true, .passBoundaries)).isEmpty)
        // A second removal would replace the one in progress.
        #expect(try !faults(in: steps(moving: .proceedWithRemoval, false, .removeUnreadable)).isEmpty)
        // Outputs would display the preceding item.
        #expect(try !faults(in: steps(moving: .showItem, true, .passBoundaries)).isEmpty)
        // Playback would end although its timeline was just held.
        #expect(try !faults(in: steps(moving: .reachEnd, true, .holdIfStarved)).isEmpty)
        // A step would be taken from a position that a seek in progress is about to leave.
        #expect(try !faults(in: steps(moving: .proceedWithFrameSteps, true, .proceedWithSeek)).isEmpty)
        // Steps without a common value may change places.
        #expect(try faults(in: steps(moving: .reportOutputs, true, .reopenLostMedia)) == [])
    }

    // MARK: Declarations

    /// The values of an engine, as far as they can be compared.
    private func values(of core: PlaybackEngine) -> [EngineStep.Value: String] {
        let (list, state) = (core.list, core.state)
        let seek = core.seeks.pending.map { "\($0.serial) \($0.target) \($0.isCommanded) \($0.resumes)" }
        return [
            .current: "\(String(describing: list.entries.first?.serial)) \(String(describing: list.awaited))",
            .schedule: "\(list.entries.dropFirst().map(\.serial)) \(list.entries.map(\.isCut))",
            .losses: list.entries.first.map { "\($0.serial) \($0.losses)" } ?? "none",
            .removal: "\(core.truncation.isActive)",
            .recovery: "\(core.recovery.isActive) \(core.recovery.isWaiting) \(core.recovery.hasBegun)",
            .addedAudio: "\(core.tracks.added.all.map { [$0.isLost, $0.isLate] })",
            .section: "\(String(describing: core.section.end))",
            .frameSteps: "\(core.steps)",
            .frames: "\(core.tracks.layer.count)",
            .item: "\(String(describing: state.current)) \(String(describing: state.duration)) \(state.addedTracks)",
            .seek: seek ?? "none",
            .phase: "\(state.phase)",
            .timeline: "\(core.synchronizer.timebase.snapshot.generation)",
        ]
    }

    /// Collects the changes by each step that it does not declare.
    private final class Watch {
        var undeclared: Set<String> = []
        var changed: Set<EngineStep.Name> = []
    }

    private func watch(_ player: some VirtualPlayer) -> Watch {
        let watch = Watch()
        player.engine.willRun = { core in
            for step in EngineStep.all {
                let before = values(of: core)
                step.run(core)
                let after = values(of: core)
                let changes = Set(after.keys.filter { after[$0] != before[$0] })
                if !changes.isEmpty { watch.changed.insert(step.name) }
                // A restart changes everything, the timeline first.
                if step.restarts, changes.contains(.timeline), !step.writes.contains(.timeline) { continue }
                for change in changes.subtracting(step.writes) { watch.undeclared.insert("\(step.name): \(change)") }
            }
        }
        return watch
    }

    @Test func stepsChangeOnlyWhatTheyDeclareWhileAListIsEditedSoughtAndRepeated() {
        let queue = VirtualQueue()
        let watch = watch(queue)
        queue.core.apply(
            .append(["1/16000/25:1/50", "2/16016/24000:1001/48", "gone", "3/16000"].map { QueueItem($0) }))
        queue.core.play()
        queue.run(for: .milliseconds(1500))
        queue.core.seek(to: MediaTime(value: 1, timescale: 2), exact: true)
        queue.run(for: .milliseconds(500))
        _ = queue.edit(.remove(queue.core.list.items[1].id))
        queue.core.setRepeatedSection(
            MediaTimeRange(start: MediaTime(value: 1, timescale: 2), end: MediaTime(value: 3, timescale: 2)))
        queue.run(for: .seconds(2))
        queue.core.setRepeatedSection(nil)
        queue.core.step(byFrames: 2)
        queue.run(for: .milliseconds(200))
        queue.core.play()
        var dice = Dice(seed: 3)
        queue.editAtRandom(&dice) { dice in QueueItem("\(4 + dice.roll(4))/16000/25:1/50") }
        queue.run(for: .seconds(12))
        #expect(watch.undeclared == [])
        #expect(watch.changed.isSuperset(of: [.proceedWithRemoval, .passBoundaries, .reconcile, .proceedWithSeek]))
    }

    @Test func stepsChangeOnlyWhatTheyDeclareWhenMediaIsLostAndReturns() {
        var options = PlayerOptions()
        options.loopPlaylist = .forever
        let queue = VirtualQueue(options)
        let watch = watch(queue)
        queue.core.apply(.append(["1/8000", "2/8000"].map { QueueItem($0) }))
        queue.core.play()
        queue.run(for: .seconds(1))
        queue.absent.withLock { $0 = ["1/8000", "2/8000"] }
        queue.run(for: .seconds(4))
        queue.absent.withLock { $0 = [] }
        queue.run(for: .seconds(3))
        #expect(queue.phase == .playing)
        #expect(watch.undeclared == [])
        #expect(watch.changed.contains(.reopenLostMedia))
    }

    @Test func stepsChangeOnlyWhatTheyDeclareWhileASourceIsSlow() {
        let queue = VirtualQueue(arrivingAt: 0.6)
        let watch = watch(queue)
        queue.core.apply(.append([QueueItem("1/80000/25:1/250/slow")]))
        queue.core.play()
        queue.run(for: .seconds(8))
        #expect(watch.undeclared == [])
        #expect(watch.changed.contains(.holdIfStarved))
    }
}
