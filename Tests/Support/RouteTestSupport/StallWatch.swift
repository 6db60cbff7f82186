import MediaCore

/// Scheduling delays over an interval.
struct Stalls: Equatable {
    var worst = Duration.zero
    var altogether = Duration.zero

    mutating func record(_ lateness: Duration) {
        worst = max(worst, lateness)
        if lateness > Self.noticed { altogether += lateness }
    }

    /// True if the delays make measurements of milliseconds meaningless. Tools/meter marks its runs as disturbed by the
    /// same limits.
    var isStalled: Bool { worst > .milliseconds(60) || altogether > .milliseconds(150) }

    /// Shorter delays are ordinary time slices of other processes.
    private static let noticed = Duration.milliseconds(25)
}

/// Detects stalls of the machine: a thread of ordinary priority wakes every 5 ms and measures its delay. A machine that
/// does not run this thread does not run the test and its player either.
///
/// Thread-safe; runs from `init` to `deinit`.
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
                record.withLock { $0.record(lateness) }
            }
        }
    }

    deinit { isOver.withLock { $0 = true } }

    /// The delays since `init`.
    var stalls: Stalls { record.withLock { $0 } }
}
