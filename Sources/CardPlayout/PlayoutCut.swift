internal import MediaCore
internal import Synchronization

/// The protocol by which feeder and pump agree on removing the end of the delivered audio. The feeder sends a request,
/// and the pump decides between two renderings. After agreeing, the pump reads nothing from that position on until the
/// feeder has rolled back.
///
/// Wait-free on both sides. The feeder lifts the limits only after it has rolled the ring back. The pump reads the
/// limits before the ring, so that it never sees the old end without them.
final class PlayoutCut: Sendable {
    private enum Phase {
        static let idle = 0
        static let asked = 1
        static let deciding = 2
        static let agreed = 3
        static let refused = 4
    }

    /// The decision of the pump.
    enum Answer {
        /// Audio from this position on may be removed; `marks` is the end of the marks that remain.
        case agreed(position: Int64, marks: Int)
        /// Audio has been rendered up to this position.
        case refused(rendered: Int64)
    }

    /// Owns the transitions of the protocol: the feeder leaves `idle`, `agreed` and `refused`, the pump leaves `asked`
    /// by `deciding`.
    private let phase = Atomic<Int>(Phase.idle)
    /// Stored by the feeder before `asked`, read by the pump.
    private let asked = Atomic<Int64>(0)
    /// Stored by the pump before `refused`, read by the feeder.
    private let rendered = Atomic<Int64>(0)
    /// Stored by the pump before `agreed`; reset by the feeder. Frames from here on must not be read.
    private let frames = Atomic<Int64>(.max)
    /// Stored by the pump before `agreed`; reset by the feeder. Marks from here on must not be read.
    private let marks = Atomic<Int>(.max)

    // MARK: Feeder

    /// Whether no cut is pending.
    var isIdle: Bool { phase.load(ordering: .acquiring) == Phase.idle }

    /// Requests a cut at a ring position.
    func ask(_ position: Int64) {
        asked.store(position, ordering: .relaxed)
        phase.store(Phase.asked, ordering: .releasing)
    }

    /// The decision; nil until the pump has decided.
    var answer: Answer? {
        switch phase.load(ordering: .acquiring) {
        case Phase.agreed:
            .agreed(position: frames.load(ordering: .relaxed), marks: marks.load(ordering: .relaxed))
        case Phase.refused: .refused(rendered: rendered.load(ordering: .relaxed))
        default: nil
        }
    }

    /// Withdraws the request; returns false while the pump is deciding.
    func withdraw() -> Bool {
        let (done, _) = phase.compareExchange(
            expected: Phase.asked, desired: Phase.idle, ordering: .acquiringAndReleasing)
        if done { return true }
        guard phase.load(ordering: .acquiring) != Phase.deciding else { return false }
        lift()
        return true
    }

    /// Removes the limits, so that the pump may read all frames.
    func lift() {
        frames.store(.max, ordering: .releasing)
        marks.store(.max, ordering: .releasing)
        phase.store(Phase.idle, ordering: .releasing)
    }

    // MARK: Pump

    /// The position from which frames must not be read.
    var frameLimit: Int64 { frames.load(ordering: .acquiring) }
    /// The number from which marks must not be read.
    var markLimit: Int { marks.load(ordering: .acquiring) }

    /// Decides a pending request; returns true if there was one.
    ///
    /// - Parameters:
    ///   - position: The position after the last rendered frame; nil while no audio plays.
    ///   - marksBefore: Returns the end of the marks that start before a position.
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
