package import MediaCore

/// Listens to one speaker that speaks as a grandmaster: joins its messages to times and draws its line.
///
/// Confined to the PTP thread. Nothing it is told makes it grow, and nothing allocates after `init`.
package struct MasterObserver: Sendable {
    /// A Sync without its Follow_Up, or a question without its answer.
    private struct Pending {
        var sequence: UInt16
        var clock: ClockIdentity
        var moment: HostInstant
        var correction: Int64
    }

    /// Syncs and questions that may be open at a time; later ones take their place.
    private static let openSyncs = 8
    private static let openQuestions = 16
    /// A Follow_Up, and an answer, comes within this.
    private static let patience: Duration = .seconds(1)
    /// Corrections of hundreds of milliseconds are met where a member of a group relays another; beyond this they are
    /// errors.
    private static let largestCorrection: Int64 = 10_000_000_000
    /// 146 years: half of what the numbers hold, so that no difference of two moments overflows.
    private static let latestMoment: Int64 = 1 << 62

    private var line = MasterLine()
    private var syncs: [Pending] = []
    private var nextSync = 0
    private var questions: [Pending] = []
    private var nextQuestion = 0
    /// Who sends its Syncs: messages are matched by clock, because a HomePod changes its port number.
    private var source = SettledValue<ClockIdentity>()
    private var announced: (source: ClockIdentity, grandmaster: SettledValue<ClockIdentity>)?
    /// When a time was taken from it last.
    private(set) var lastTime: HostInstant?
    /// Since when it can be followed without a break.
    private(set) var lockedSince: HostInstant?

    package init() {
        syncs.reserveCapacity(Self.openSyncs)
        questions.reserveCapacity(Self.openQuestions)
    }

    /// Whose timeline it is: what anchors name. The master that the speaker announces, or else the speaker itself.
    package var grandmaster: ClockIdentity? {
        guard let source = source.value else { return nil }
        return announced.flatMap { $0.source == source ? $0.grandmaster.value : nil } ?? source
    }

    var measuredPath: Duration? { line.measuredPath }

    package func mapping(at now: HostInstant, fallbackPath: Duration) -> ClockMapping<HostInstant, PTPInstant>? {
        lockedSince == nil ? nil : line.mapping(at: now, fallbackPath: fallbackPath)
    }

    package mutating func noteAnnounce(_ quality: GrandmasterQuality, from header: PTPHeader, at now: HostInstant) {
        if announced?.source != header.source.clock {
            // Another clock's word counts only when its Syncs do.
            guard announced == nil || source.value == header.source.clock else { return }
            announced = (header.source.clock, SettledValue())
        }
        _ = announced?.grandmaster.hear(quality.identity, at: now, repetitions: 3)
    }

    package mutating func noteSync(_ header: PTPHeader, received: HostInstant) {
        if source.hear(header.source.clock, at: received) {
            line = MasterLine()
            lockedSince = nil
            syncs.removeAll(keepingCapacity: true)
        }
        let pending = Pending(
            sequence: header.sequence, clock: header.source.clock, moment: received, correction: header.correction)
        Self.keep(pending, in: &syncs, &nextSync, limit: Self.openSyncs)
    }

    /// What became of a Follow_Up.
    package enum Outcome: Hashable, Sendable, BitwiseCopyable {
        /// The line has taken a new time.
        case taken
        /// It says a time that no clock that ran on makes, and was left out.
        case refused
        /// It says nothing about the clock that is listened to.
        case void
    }

    package mutating func noteFollowUp(_ header: PTPHeader, origin: PTPTimestamp, at now: HostInstant) -> Outcome {
        guard header.source.clock == source.value,
            let index = Self.find(header.sequence, header.source.clock, in: syncs, at: now),
            let left = Self.moment(origin, syncs[index].correction, header.correction)
        else { return .void }
        let received = syncs[index].moment
        switch line.observe(origin: left, received: received) {
        case .stale: return .void
        // The Sync stays: the one that was refused may be somebody else's word, sent before the true one.
        case .refused: return .refused
        case .begun: lockedSince = nil
        case .taken: if lockedSince == nil, line.isLocked { lockedSince = received }
        }
        syncs.remove(at: index)
        lastTime = received
        return .taken
    }

    package mutating func noteQuestion(_ sequence: UInt16, sent: HostInstant, by clock: ClockIdentity) {
        let pending = Pending(sequence: sequence, clock: clock, moment: sent, correction: 0)
        Self.keep(pending, in: &questions, &nextQuestion, limit: Self.openQuestions)
    }

    package mutating func noteAnswer(
        _ header: PTPHeader, received: PTPTimestamp, to requester: PortIdentity, at now: HostInstant
    ) {
        guard header.source.clock == source.value,
            let index = Self.find(header.sequence, requester.clock, in: questions, at: now),
            let moment = Self.moment(received, 0, 0 &- header.correction)
        else { return }
        let question = questions.remove(at: index)
        line.observeAnswer(sent: question.moment, received: moment)
    }

    /// - Parameters: corrections are nanoseconds × 2¹⁶ (IEEE 1588-2008, section 13.3.2.7).
    private static func moment(_ time: PTPTimestamp, _ first: Int64, _ second: Int64) -> PTPInstant? {
        guard let instant = time.instant, instant.nanoseconds <= latestMoment else { return nil }
        let correction = (first >> 16) + (second >> 16)
        guard correction.magnitude <= UInt64(largestCorrection) else { return nil }
        return instant.advanced(by: .nanoseconds(correction))
    }

    private static func keep(_ pending: Pending, in list: inout [Pending], _ next: inout Int, limit: Int) {
        if list.count < limit {
            list.append(pending)
        } else {
            list[next % limit] = pending
            next = (next + 1) % limit
        }
    }

    /// Where the message is that another one belongs to; nil when there is none, or it is too old.
    private static func find(
        _ sequence: UInt16, _ clock: ClockIdentity, in list: [Pending], at now: HostInstant
    ) -> Int? {
        list.firstIndex {
            let age = now - $0.moment
            return $0.sequence == sequence && $0.clock == clock && age >= .zero - patience && age <= patience
        }
    }
}
