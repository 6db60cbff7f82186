package import MediaCore

/// Matches the messages of one remote grandmaster and feeds their timestamps to a `MasterClockFilter`.
///
/// Confined to the PTP thread. Memory is bounded for any input, and nothing allocates after `init`.
package struct MasterObserver: Sendable {
    /// A Sync without its Follow_Up, or a Delay_Req without its response.
    private struct Pending {
        var sequence: UInt16
        var clock: ClockIdentity
        var instant: HostInstant
        var correction: Int64
    }

    /// Maximum number of unmatched messages; a new one overwrites the oldest.
    private static let openSyncs = 8
    private static let openQuestions = 16
    /// Maximum time between a message and its Follow_Up or response.
    private static let timeout: Duration = .seconds(1)
    /// Larger corrections are errors; nanoseconds. Corrections of hundreds of milliseconds occur where a member of a
    /// group relays another.
    private static let largestCorrection: Int64 = 10_000_000_000
    /// 146 years in nanoseconds, half the range of `Int64`: no difference of two instants overflows.
    private static let latestInstant: Int64 = 1 << 62

    private var filter = MasterClockFilter()
    private var syncs: [Pending] = []
    private var nextSync = 0
    private var questions: [Pending] = []
    private var nextQuestion = 0
    /// The clock that sends Sync. Messages match by clock only, because a HomePod changes its port number.
    private var source = SettledValue<ClockIdentity>()
    /// The clock that sends Announce, and the grandmaster it names.
    private var announced: (source: ClockIdentity, grandmaster: SettledValue<ClockIdentity>)?
    /// Arrival of the last accepted Sync.
    private(set) var lastTime: HostInstant?
    /// The instant from which the estimate has been usable without interruption; nil while it is not usable.
    private(set) var lockedSince: HostInstant?

    package init() {
        syncs.reserveCapacity(Self.openSyncs)
        questions.reserveCapacity(Self.openQuestions)
    }

    /// The grandmaster for anchors: the announced one, otherwise the speaker's own clock. Nil before the first Sync.
    package var grandmaster: ClockIdentity? {
        guard let source = source.value else { return nil }
        return announced.flatMap { $0.source == source ? $0.grandmaster.value : nil } ?? source
    }

    /// The measured path delay; nil if the speaker has answered no Delay_Req.
    var measuredPath: Duration? { filter.measuredPath }

    /// Returns the remote clock against the host clock; nil while the estimate is not usable.
    package func mapping(at now: HostInstant, fallbackPath: Duration) -> ClockMapping<HostInstant, PTPInstant>? {
        lockedSince == nil ? nil : filter.mapping(at: now, fallbackPath: fallbackPath)
    }

    /// Records the grandmaster that an Announce names. A change takes three repetitions.
    package mutating func recordAnnounce(_ quality: GrandmasterQuality, from header: PTPHeader, at now: HostInstant) {
        if announced?.source != header.source.clock {
            // An Announce of another clock counts only if that clock also sends the Syncs.
            guard announced == nil || source.value == header.source.clock else { return }
            announced = (header.source.clock, SettledValue())
        }
        _ = announced?.grandmaster.receive(quality.identity, at: now, repetitions: 3)
    }

    /// Stores a Sync until its Follow_Up arrives. Discards the estimate if another clock has taken over.
    package mutating func recordSync(_ header: PTPHeader, received: HostInstant) {
        if source.receive(header.source.clock, at: received) {
            filter = MasterClockFilter()
            lockedSince = nil
            syncs.removeAll(keepingCapacity: true)
        }
        let pending = Pending(
            sequence: header.sequence, clock: header.source.clock, instant: received, correction: header.correction)
        Self.store(pending, in: &syncs, &nextSync, limit: Self.openSyncs)
    }

    /// The result of a Follow_Up.
    package enum Outcome: Hashable, Sendable, BitwiseCopyable {
        /// The estimate includes the new timestamp.
        case taken
        /// The timestamp contradicts the estimate and was discarded (`MasterClockFilter.Verdict.refused`).
        case refused
        /// Stale, or not for a Sync of the followed clock.
        case void
    }

    /// Adds the timestamp of a Follow_Up and its Sync to the estimate.
    package mutating func recordFollowUp(_ header: PTPHeader, origin: PTPTimestamp, at now: HostInstant) -> Outcome {
        guard header.source.clock == source.value,
            let index = Self.find(header.sequence, header.source.clock, in: syncs, at: now),
            let left = Self.correctedInstant(origin, syncs[index].correction, header.correction)
        else { return .void }
        let received = syncs[index].instant
        switch filter.observe(origin: left, received: received) {
        case .stale: return .void
        // The Sync is kept: the rejected Follow_Up may be forged and the genuine one still to come.
        case .refused: return .refused
        case .begun: lockedSince = nil
        case .taken: if lockedSince == nil, filter.isLocked { lockedSince = received }
        }
        syncs.remove(at: index)
        lastTime = received
        return .taken
    }

    /// Stores a Delay_Req until its response arrives.
    package mutating func recordDelayRequest(_ sequence: UInt16, sent: HostInstant, by clock: ClockIdentity) {
        let pending = Pending(sequence: sequence, clock: clock, instant: sent, correction: 0)
        Self.store(pending, in: &questions, &nextQuestion, limit: Self.openQuestions)
    }

    /// Adds a Delay_Resp and its Delay_Req to the path delay estimate.
    package mutating func recordDelayResponse(
        _ header: PTPHeader, received: PTPTimestamp, to requester: PortIdentity, at now: HostInstant
    ) {
        guard header.source.clock == source.value,
            let index = Self.find(header.sequence, requester.clock, in: questions, at: now),
            let instant = Self.correctedInstant(received, 0, 0 &- header.correction)
        else { return }
        let question = questions.remove(at: index)
        filter.observeAnswer(sent: question.instant, received: instant)
    }

    /// Returns timestamp plus corrections; nil if either is out of range. Corrections are nanoseconds × 2¹⁶
    /// (IEEE 1588-2008, section 13.3.2.7).
    private static func correctedInstant(_ time: PTPTimestamp, _ first: Int64, _ second: Int64) -> PTPInstant? {
        guard let instant = time.instant, instant.nanoseconds <= latestInstant else { return nil }
        let correction = (first >> 16) + (second >> 16)
        guard correction.magnitude <= UInt64(largestCorrection) else { return nil }
        return instant.advanced(by: .nanoseconds(correction))
    }

    private static func store(_ pending: Pending, in list: inout [Pending], _ next: inout Int, limit: Int) {
        if list.count < limit {
            list.append(pending)
        } else {
            list[next % limit] = pending
            next = (next + 1) % limit
        }
    }

    /// Returns the index of the message with this sequence number and clock; nil if there is none, or it is older than
    /// `timeout`.
    private static func find(
        _ sequence: UInt16, _ clock: ClockIdentity, in list: [Pending], at now: HostInstant
    ) -> Int? {
        list.firstIndex {
            let age = now - $0.instant
            return $0.sequence == sequence && $0.clock == clock && age >= .zero - timeout && age <= timeout
        }
    }
}
