internal import MediaCore

/// A one-way filter for a grandmaster's offset, as in nqptp.
///
/// A measurement is origin minus arrival: the true offset minus the path delay. A larger value means a shorter
/// path delay, so it has more weight than a smaller one. The constant part of the path delay cannot be
/// measured; playback is late by it.
struct OffsetFilter: Sendable {
    /// Initial period in which larger offsets are adopted fully and smaller ones are ignored.
    static let settling: Duration = .seconds(1)
    /// Divisor of an increase after the settling period.
    static let gainUp: Int64 = 16
    /// Divisor of a decrease.
    static let gainDown: Int64 = 256
    /// Maximum decrease per measurement in nanoseconds, before the division.
    static let largestFall: Int64 = 2_500_000
    /// Time after the first measurement from which audio can be placed.
    static let lockTime: Duration = .milliseconds(400)

    private var start: SpeakerInstant?
    /// Grandmaster minus speaker, in nanoseconds.
    private(set) var offset: Int64 = 0
    private(set) var observations = 0

    mutating func reset() { self = OffsetFilter() }

    /// Adds a measurement.
    ///
    /// - Parameters:
    ///   - origin: The time of the Follow_Up plus its correction.
    ///   - arrival: When that Follow_Up arrived.
    mutating func observe(origin: PTPInstant, arrival: SpeakerInstant) {
        let seen = origin.nanoseconds &- arrival.nanoseconds
        observations &+= 1
        guard let start else {
            start = arrival
            offset = seen
            return
        }
        let change = seen &- offset
        let settled = start.duration(to: arrival) > Self.settling
        if change >= 0 {
            offset &+= settled ? change / Self.gainUp : change
        } else if settled {
            offset &+= max(change, -Self.largestFall) / Self.gainDown
        }
    }

    /// Whether audio can be placed at `now`.
    func isLocked(at now: SpeakerInstant) -> Bool {
        guard let start else { return false }
        return start.duration(to: now) >= Self.lockTime
    }

    func speakerInstant(of instant: PTPInstant) -> SpeakerInstant? {
        start == nil ? nil : SpeakerInstant(nanoseconds: instant.nanoseconds &- offset)
    }
}
