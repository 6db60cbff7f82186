/// Sound against picture on one route, in ms; positive: sound later than picture. Constant memory.
///
/// The lateness of the sound at the time of a frame is interpolated between the drift events around it.
struct ClaimedOffset {
    /// A frame that awaits the next sound report: when it became visible (s), and its lateness (ms).
    struct Shown {
        /// Seconds since the beginning of the record.
        var seconds: Double
        /// Milliseconds; positive: late.
        var error: Double
    }

    /// Maximum number of waiting frames: over a minute at 60 per second.
    private static let maxWaiting = 4096
    /// Validity of the last sound report in seconds.
    private static let belief = 10.0

    private var waiting: [Shown] = []
    private var last: (seconds: Double, error: Double)?
    /// Whether the last report is a speaker's anchor, which is valid until the next one.
    private var isHeld = false
    private(set) var quantities = QuantileSketch()
    private(set) var trend = LinearTrend()
    private(set) var series = DecimatedSeries()
    /// The number of frames without a valid sound report.
    private(set) var unmatched = 0

    /// Adds a displayed frame.
    mutating func shown(_ frame: Shown) {
        if waiting.count >= Self.maxWaiting { compareWaiting() }
        waiting.append(frame)
    }

    /// Adds a sound report: the lateness `error` in ms at `seconds`.
    ///
    /// - Parameter holds: Whether it is valid until the next start: a speaker's anchor, not a measurement.
    mutating func heard(error: Double, at seconds: Double, holds: Bool = false) {
        isHeld = holds
        var rest = 0
        for frame in waiting {
            guard frame.seconds <= seconds else {
                waiting[rest] = frame
                rest += 1
                continue
            }
            guard let last, seconds > last.seconds else {
                // The first report after a start also applies to the frames before it.
                compare(frame, with: error)
                continue
            }
            let share = max(0, (frame.seconds - last.seconds) / (seconds - last.seconds))
            compare(frame, with: last.error + (error - last.error) * share)
        }
        waiting.removeLast(waiting.count - rest)
        last = (seconds, error)
    }

    /// Compares the waiting frames with the last report if it is valid; counts the others as unmatched.
    mutating func compareWaiting() {
        for frame in waiting {
            if let last, isHeld || frame.seconds - last.seconds <= Self.belief {
                compare(frame, with: last.error)
            } else {
                unmatched += 1
            }
        }
        waiting.removeAll(keepingCapacity: true)
    }

    /// Ends the validity of earlier reports, at a new start of sound.
    mutating func restart() {
        compareWaiting()
        last = nil
    }

    /// Drops the waiting frames: this route was silent.
    mutating func forget() {
        waiting.removeAll(keepingCapacity: true)
        last = nil
    }

    private mutating func compare(_ frame: Shown, with sound: Double) {
        let offset = sound - frame.error
        quantities.add(offset)
        trend.add(x: frame.seconds, y: offset)
        series.add(offset, at: frame.seconds)
    }
}
