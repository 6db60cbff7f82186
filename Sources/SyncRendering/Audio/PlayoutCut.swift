internal import MediaCore
internal import Synchronization

/// How feeder and pump agree that the end of what was delivered goes: the feeder asks, the pump answers between two
/// renderings, and a pump that agrees reads nothing from the position on until the feeder has taken it back.
///
/// Wait-free on both ends. The feeder lifts the limits only after it has rolled the ring back, and the pump looks at the
/// limits before it looks at the ring, so that it never sees the old end without them.
final class PlayoutCut: Sendable {
    private enum Phase {
        static let idle = 0
        static let asked = 1
        static let deciding = 2
        static let agreed = 3
        static let refused = 4
    }

    /// What the pump said.
    enum Answer {
        /// Everything from this position on may be taken back; that many marks stay.
        case agreed(position: Int64, marks: Int)
        /// Sound has been rendered up to here.
        case refused(rendered: Int64)
    }

    private let phase = Atomic<Int>(Phase.idle)
    private let asked = Atomic<Int64>(0)
    private let rendered = Atomic<Int64>(0)
    private let frames = Atomic<Int64>(.max)
    private let marks = Atomic<Int>(.max)

    // MARK: Feeder

    var isIdle: Bool { phase.load(ordering: .acquiring) == Phase.idle }

    func ask(_ position: Int64) {
        asked.store(position, ordering: .relaxed)
        phase.store(Phase.asked, ordering: .releasing)
    }

    /// Nil while the pump has not answered.
    var answer: Answer? {
        switch phase.load(ordering: .acquiring) {
        case Phase.agreed:
            .agreed(position: frames.load(ordering: .relaxed), marks: marks.load(ordering: .relaxed))
        case Phase.refused: .refused(rendered: rendered.load(ordering: .relaxed))
        default: nil
        }
    }

    /// Takes the question back; false while the pump is just answering.
    func withdraw() -> Bool {
        let (done, _) = phase.compareExchange(
            expected: Phase.asked, desired: Phase.idle, ordering: .acquiringAndReleasing)
        if done { return true }
        guard phase.load(ordering: .acquiring) != Phase.deciding else { return false }
        lift()
        return true
    }

    /// The pump may read everything again.
    func lift() {
        frames.store(.max, ordering: .releasing)
        marks.store(.max, ordering: .releasing)
        phase.store(Phase.idle, ordering: .releasing)
    }

    // MARK: Pump

    /// Frames from here on must not be read.
    var frameLimit: Int64 { frames.load(ordering: .acquiring) }
    /// Marks from this number on must not be read.
    var markLimit: Int { marks.load(ordering: .acquiring) }

    /// - Parameter marksBefore: how many marks begin before a position.
    func decide(rendered position: Int64?, marksBefore: (Int64) -> Int) -> Bool {
        guard phase.load(ordering: .relaxed) == Phase.asked else { return false }
        let (isOurs, _) = phase.compareExchange(
            expected: Phase.asked, desired: Phase.deciding, ordering: .acquiringAndReleasing)
        guard isOurs else { return false }
        let wanted = asked.load(ordering: .relaxed)
        if let position, position >= wanted {
            rendered.store(position, ordering: .relaxed)
            phase.store(Phase.refused, ordering: .releasing)
        } else {
            marks.store(marksBefore(wanted), ordering: .relaxed)
            frames.store(wanted, ordering: .relaxed)
            phase.store(Phase.agreed, ordering: .releasing)
        }
        return true
    }
}
