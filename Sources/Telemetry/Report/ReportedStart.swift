/// The phases of the first start of a record: what it waited for longest, one after the other, and the lead.
struct ReportedStart {
    /// What a start waits for.
    enum Phase: Hashable {
        /// The film opens.
        case film
        /// A cause of a `wait` line, and the output.
        case wait(cause: String, route: Int?)
        /// From the announcement of the start to its instant of perception.
        case lead
    }

    /// Maximum number of phases kept; a file may have any number of outputs.
    private static let maxPhases = 32

    /// The phases in the order of their first appearance, with their total durations in nanoseconds.
    private(set) var phases: [(phase: Phase, duration: Int64)] = []
    /// The current phase and its beginning; nil before the first line.
    private var current: (phase: Phase, began: Int64)?
    /// The announced instant of perception; nil before the announcement.
    private var perceived: Int64?

    /// The total duration in nanoseconds.
    var duration: Int64 { phases.reduce(0) { $0.clampedAdding($1.duration) } }

    /// Whether the start has been perceived at an instant.
    func isOver(at instant: Int64) -> Bool { perceived.map { $0 <= instant } ?? false }

    /// Begins a phase, also after an announcement that was withdrawn.
    mutating func enter(_ phase: Phase, at instant: Int64) {
        if perceived != nil { (phases, perceived) = (phases.filter { $0.phase != .lead }, nil) }
        endPhase(at: instant)
        current = (phase, instant)
    }

    /// Records the announcement of the start.
    mutating func announce(perceivedAt anchor: Int64, at instant: Int64) {
        enter(.lead, at: instant)
        endPhase(at: anchor)
        (current, perceived) = ((.lead, instant), anchor)
    }

    private mutating func endPhase(at instant: Int64) {
        guard let current else { return }
        let (difference, overflow) = instant.subtractingReportingOverflow(current.began)
        // Neighbouring lines may be out of order.
        let duration = overflow ? 0 : max(0, difference)
        if let known = phases.firstIndex(where: { $0.phase == current.phase }) {
            phases[known].duration = phases[known].duration.clampedAdding(duration)
        } else if phases.count < Self.maxPhases {
            phases.append((current.phase, duration))
        }
    }
}

extension Int64 {
    /// Returns the sum, clamped.
    fileprivate func clampedAdding(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
