internal import MediaCore

/// Smooths the offset of a grandmaster's time in the one-way manner of nqptp.
///
/// What is seen is origin minus arrival, which is the true offset less the way of the message. A larger value
/// means a faster message, so it is believed sooner than a smaller one. Time that lies in the way itself is never
/// found out: sound comes late by it.
struct OffsetFilter: Sendable {
    /// For this long larger offsets are taken as they are and smaller ones are ignored.
    static let settling: Duration = .seconds(1)
    /// Share of a larger offset that is taken afterwards.
    static let gainUp: Int64 = 16
    /// Share of a smaller offset.
    static let gainDown: Int64 = 256
    /// The most a single smaller offset counts for.
    static let largestFall: Int64 = 2_500_000
    /// A receiver on this servo places sound this long after the first offset.
    static let lockTime: Duration = .milliseconds(400)

    private var start: SpeakerInstant?
    /// Grandmaster minus speaker, nanoseconds.
    private(set) var offset: Int64 = 0
    private(set) var observations = 0

    mutating func reset() { self = OffsetFilter() }

    /// - Parameters:
    ///   - origin: the Follow_Up's time with its correction added.
    ///   - arrival: when that Follow_Up came.
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

    /// Whether sound can be placed at this moment.
    func isLocked(at now: SpeakerInstant) -> Bool {
        guard let start else { return false }
        return start.duration(to: now) >= Self.lockTime
    }

    func speakerInstant(of instant: PTPInstant) -> SpeakerInstant? {
        start == nil ? nil : SpeakerInstant(nanoseconds: instant.nanoseconds &- offset)
    }
}
