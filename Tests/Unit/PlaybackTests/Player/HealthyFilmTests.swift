import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Commands on films without damage, none of which reports a film as damaged.
@Suite struct HealthyFilmTests {
    private static let films = [
        "1/16000/25:1/50", "2/8000/25:1/25", "3/16000/25:1/50", "4/none/25:1/50", "5/16000", "6/8000/25:1/25/late",
    ]

    private func queue(_ addresses: [String], isPaused: Bool) -> VirtualQueue {
        var options = PlayerOptions()
        options.startsPaused = isPaused
        let queue = VirtualQueue(options)
        queue.core.apply(.append(addresses.map { QueueItem($0) }))
        queue.core.reopen(at: nil)
        return queue
    }

    /// Returns the reported failures and damage.
    private func complaints(_ queue: VirtualQueue) -> [String] {
        let reported = queue.playerEvents.withLock { events in
            events.compactMap { event in
                switch event {
                case .failed(_, let failure): failure.message
                case .incomplete(_, let failure): failure.error.message
                case .message(let text): text.contains("damaged") ? text : nil
                default: nil
                }
            }
        }
        return reported + [queue.state.failure?.message].compactMap { $0 }
    }

    @Test func aFilmRemovedAtItsStartIsNotDamagedIfASeekReturnsToIt() {
        let queue = queue(["1/16000/25:1/50"], isPaused: true)
        queue.run(for: .milliseconds(500))
        #expect(queue.phase == .paused && queue.state.position == .zero)
        let next = QueueItem("2/16000/25:1/50")
        queue.heldTask.withLock { $0 = "prefetch" }
        queue.core.apply(.append([next]))
        queue.core.apply(.remove(queue.core.list.items[0].id))
        queue.run(for: .milliseconds(500))
        queue.core.step(byFrames: -1)
        queue.run(for: .seconds(1))
        #expect(complaints(queue) == [])
        queue.releaseTasks()
        queue.run(for: .seconds(1))
        #expect(queue.phase == .paused && queue.state.current == next)
        queue.core.play()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(complaints(queue) == [])
        #expect(queue.stretches.map(\.description) == ["2:0..<16000"])
        #expect(queue.pictureRuns.last == "2:0...49")
    }

    @Test(arguments: 8..<18 as Range<UInt64>)
    func commandsInAnyOrderReportNoDamageAndTheListEnds(seed: UInt64) {
        var dice = Dice(seed: seed)
        let first = (0..<3).map { _ in Self.films[dice.roll(6)] }
        let queue = queue(first, isPaused: dice.roll(2) == 0)
        for _ in 0..<50 {
            commandAtRandom(queue, &dice)
            guard dice.roll(3) > 0 else { continue }
            queue.run(for: .milliseconds(dice.roll(4) == 0 ? dice.roll(600) : dice.roll(40)))
        }
        queue.releaseTasks()
        queue.core.play()
        #expect(queue.run(untilPhase: .ended, atMost: .seconds(120)))
        #expect(complaints(queue) == [])
    }

    private func commandAtRandom(_ queue: VirtualQueue, _ dice: inout Dice) {
        let core = queue.core
        let all = core.list.items
        // The current item most often.
        let one = all.isEmpty ? nil : all[min(all.count - 1, dice.roll(3) * dice.roll(all.count))].id
        let fresh = QueueItem(Self.films[dice.roll(6)])
        let (command, milliseconds, isExact) = (dice.roll(14), Int64(dice.roll(2000)), dice.roll(2) == 0)
        switch command {
        case 0, 1: if let one { core.apply(.remove(one)) }
        case 2: core.apply(.append([fresh]))
        case 3: if let one { core.apply(.insert([fresh], after: one)) }
        case 4: if let one { core.apply(.replace(one, with: fresh)) }
        case 5: core.seek(to: .zero, exact: true)
        case 6: core.seek(to: MediaTime(value: milliseconds, timescale: 1000), exact: isExact)
        case 7: core.seek(by: MediaTime(value: milliseconds - 1500, timescale: 1000), exact: isExact)
        case 8, 9: core.step(byFrames: -1)
        case 10: core.step(byFrames: 1)
        case 11: core.togglePause()
        case 12: queue.heldTask.withLock { $0 = "prefetch" }
        default: queue.releaseTasks()
        }
    }
}
