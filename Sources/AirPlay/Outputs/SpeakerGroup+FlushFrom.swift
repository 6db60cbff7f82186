public import MediaCore
public import SyncRendering

/// Taking back the end of what every member was handed.
extension SpeakerGroup: PartialFlushing {
    /// The member that needs most decides, and a little more, so that all of them are in time.
    public var partialFlushLead: Duration {
        let leads = active.map { ($0 as? any PartialFlushing)?.partialFlushLead ?? .seconds(3600) }
        return (leads.max() ?? .zero) + .milliseconds(100)
    }

    public func beginPartialFlush(from time: MediaTime) {
        let (ballot, lanes, room) = state.withLock { state in
            let ballot = GroupFlush(time: time, voters: state.lanes.count)
            state.partialFlush = ballot
            return (ballot, state.lanes, state.context?.room)
        }
        for (index, lane) in lanes.enumerated() { ballot.ask(lane, index: index) { room?.raise() } }
    }

    public var partialFlushVerdict: PartialFlushVerdict? {
        let (ballot, lanes) = state.withLock { ($0.partialFlush, $0.lanes) }
        guard let ballot else { return .flushed(keptUntil: nil, severed: nil) }
        guard let results = ballot.results else { return nil }
        let refused = results.indices.filter { if case .refused = results[$0] { true } else { false } }
        if refused.count == results.count, !refused.isEmpty {
            let leads = results.compactMap { result -> Duration? in
                if case .refused(let lead) = result { lead } else { nil }
            }
            return .tooLate(leadNeeded: (leads.max() ?? .zero) + .milliseconds(100))
        }
        // The others have let go of it: whoever lost the race falls silent until the new sound begins.
        for index in refused where lanes.indices.contains(index) { lanes[index].renderer.flush() }
        state.withLock { $0.fedUntil = ballot.time }
        return .flushed(keptUntil: acceptedUntil, severed: nil)
    }
}

/// The answers of a group's members to one flush.
final class GroupFlush: Sendable {
    let time: MediaTime
    private let answers: Lock<[PartialFlushResult?]>

    init(time: MediaTime, voters: Int) {
        self.time = time
        answers = Lock([PartialFlushResult?](repeating: nil, count: voters))
    }

    /// Every member's answer; nil while one is missing.
    var results: [PartialFlushResult]? {
        answers.withLock { answers in
            let given = answers.compactMap { $0 }
            return given.count == answers.count ? given : nil
        }
    }

    /// Asks a member; again when its route has changed meanwhile.
    func ask(_ lane: GroupLane, index: Int, attempts: Int = 3, answered: @escaping @Sendable () -> Void) {
        lane.renderer.flush(fromSourceTime: time) { [self] result in
            if result == .overtaken, attempts > 1 {
                return ask(lane, index: index, attempts: attempts - 1, answered: answered)
            }
            answers.withLock { $0[index] = result }
            answered()
        }
    }
}
