import MediaCore
import Testing

@testable import Playback

/// A reproducible random number generator (xorshift).
struct Dice {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func roll(_ count: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state >> 33) % max(1, count)
    }
}

extension VirtualQueue {
    /// Runs for half a second, then applies twelve edits of all kinds with up to 0.8 s between them.
    func editAtRandom(_ dice: inout Dice, fresh: (inout Dice) -> QueueItem) {
        run(for: .milliseconds(500))
        for _ in 0..<12 {
            let all = core.list.items
            let one = all.isEmpty ? nil : all[dice.roll(all.count)].id
            let other = all.isEmpty ? nil : all[dice.roll(all.count)].id
            let outcome: QueueEditOutcome?
            switch dice.roll(4) {
            case 0 where all.count > 2: outcome = edit(.remove(one!))
            case 1 where one != nil && one != other: outcome = edit(.move(one!, after: other))
            case 2 where one != nil: outcome = edit(.replace(one!, with: fresh(&dice)))
            default: outcome = edit(.insert([fresh(&dice)], after: other))
            }
            #expect(outcome != nil && outcome != .interrupted, "\(String(describing: outcome))")
            run(for: .milliseconds(100 + dice.roll(700)))
        }
    }
}
