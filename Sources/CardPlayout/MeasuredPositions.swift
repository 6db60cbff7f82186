internal import MediaCore

/// Derives positions of a stream from the latencies that its sound server measures: what was written when the server
/// measured, less the latency, is audible then.
///
/// Confined to one thread. Allocates nothing after `init`.
struct MeasuredPositions {
    /// A position of the stream: the frame that is audible at an instant.
    struct Position {
        var frame: DeviceFrame
        var instant: HostInstant
        /// The number of measurements in a row that agree, this one included.
        var agreeing: Int
    }

    private struct Write {
        var from: HostInstant
        var until: HostInstant
        /// The frames of the stream written by then.
        var written: Int64
    }

    /// Frames usually reach the server within this time. If any may have been under way, the measurement is not used;
    /// the next one is.
    private static let transfer = Duration.milliseconds(3)
    /// Half of this is the largest error.
    private static let maxRoundTrip = Duration.milliseconds(2)
    /// A measurement counts if it differs from the one before by no more: frames that were under way for longer made
    /// it wrong otherwise.
    private static let agreement = 1e6
    /// More than a second at the pump's shortest interval.
    private static let capacity = 256

    /// Nominal nanoseconds per frame.
    private let nominal: Double
    /// A ring of writes.
    private var writes: [Write]
    private var count = 0
    /// The start of the stream.
    private var start: HostInstant
    private var lastAsked = HostInstant(nanoseconds: 0)
    /// The instant of the stream's frame 0 by the last measurement, in nanoseconds; nil before the first.
    private var origin: Double?
    private var agreeing = 0

    init(sampleRate: Int, at now: HostInstant) {
        nominal = 1e9 / Double(max(1, sampleRate))
        start = now
        let none = Write(from: now, until: now, written: 0)
        writes = Array(repeating: none, count: Self.capacity)
    }

    /// Forgets the stream; another one starts.
    mutating func reset(at now: HostInstant) { (count, start, origin) = (0, now, nil) }

    /// Records a write.
    ///
    /// - Parameter written: The frames of the stream written since its start, this write included.
    mutating func record(written: Int64, from: HostInstant, until: HostInstant) {
        writes[count % Self.capacity] = Write(from: from, until: until, written: written)
        count += 1
    }

    /// Returns the position by a measurement; nil if it is not new, not of this stream or not exact, and for the first.
    mutating func position(by measurement: ServerLatency.Measurement) -> Position? {
        let (asked, answered) = (measurement.asked, measurement.answered)
        guard asked > lastAsked, asked > start else { return nil }
        lastAsked = asked
        guard answered - asked <= Self.maxRoundTrip else { return nil }
        var age = 1
        while age <= min(count, Self.capacity) {
            let write = writes[(count - age) % Self.capacity]
            age += 1
            if write.from >= answered { continue }
            guard asked - write.until >= Self.transfer else { return nil }
            let instant = asked.advanced(by: (answered - asked) / 2)
            let audible = Double(write.written) - Double(measurement.nanoseconds) / nominal
            let before = origin
            let now = Double(instant.nanoseconds) - audible * nominal
            origin = now
            let agrees = before.map { abs(now - $0) <= Self.agreement } ?? false
            agreeing = agrees ? agreeing + 1 : 1
            guard agrees else { return nil }
            return Position(frame: DeviceFrame(Int64(audible.rounded())), instant: instant, agreeing: agreeing)
        }
        return nil
    }
}
