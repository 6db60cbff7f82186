import MediaCore

/// How late what was due was run, over a stretch of time.
struct Stalls: Equatable {
    var worst = Duration.zero
    var altogether = Duration.zero

    mutating func note(_ lateness: Duration) {
        worst = max(worst, lateness)
        if lateness > Self.noticed { altogether += lateness }
    }

    /// A run in which the machine stood still for so long says nothing about a millisecond. Tools/meter calls its own runs
    /// disturbed by the same figures.
    var isStalled: Bool { worst > .milliseconds(60) || altogether > .milliseconds(150) }

    /// Below this it is a neighbour's time slice.
    private static let noticed = Duration.milliseconds(25)
}

/// Notices that the machine stalls: a thread of ordinary priority that wakes every few milliseconds and measures how late
/// it is. A machine that does not run this thread does not run the test and its player either.
///
/// Thread-safe; runs from `init` until it is let go.
final class StallWatch: Sendable {
    private let record: Lock<Stalls>
    private let isOver: Lock<Bool>

    private static let step = Duration.milliseconds(5)

    init() {
        let (record, isOver) = (Lock(Stalls()), Lock(false))
        (self.record, self.isOver) = (record, isOver)
        _ = try! WorkerThread.start(name: "stall watch") {
            while !isOver.withLock({ $0 }) {
                let due = HostInstant.now.advanced(by: Self.step)
                due.sleep()
                let lateness = HostInstant.now - due
                record.withLock { $0.note(lateness) }
            }
        }
    }

    deinit { isOver.withLock { $0 = true } }

    /// Since the beginning.
    var stalls: Stalls { record.withLock { $0 } }
}
