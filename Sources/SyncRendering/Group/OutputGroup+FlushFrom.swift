public import MediaCore

/// Partial flushes of all members.
extension OutputGroup: PartialFlushing {
    /// The maximum lead of the members; with several members a margin is added, so that all of them are in time.
    public var partialFlushLead: Duration {
        var (longest, count) = (Duration.zero, 0)
        forEachActive { member in
            longest = max(longest, (member as? any PartialFlushing)?.partialFlushLead ?? .seconds(3600))
            count += 1
        }
        return longest + (count > 1 ? Self.spread : .zero)
    }

    /// The margin for members that are flushed in sequence.
    private static let spread: Duration = .milliseconds(100)

    /// Starts a partial flush of all members that receive audio.
    public func beginPartialFlush(from time: MediaTime) {
        let (ballot, feeds, writable) = state.withLock { state in
            // A joining member that was not filled has no audio to flush.
            let feeds = state.feeds.filter(\.isFed)
            let ballot = GroupFlush(time: time, feeds: feeds)
            state.partialFlush = ballot
            return (ballot, feeds, state.context?.writable)
        }
        for (index, feed) in feeds.enumerated() { ballot.ask(feed, index: index) { writable?.raise() } }
    }

    /// The result for the group; nil until every member has decided.
    ///
    /// Refused only if every member refuses. If only some refuse, they are flushed completely, and the result is
    /// `flushed`.
    public var partialFlushResult: PartialFlushResult? {
        guard let ballot = state.withLock({ $0.partialFlush }) else { return .flushed(from: .zero) }
        guard let results = ballot.results else { return nil }
        let refused = results.indices.filter { if case .refused = results[$0] { true } else { false } }
        if refused.count == results.count, !refused.isEmpty {
            let leads = results.compactMap { result -> Duration? in
                if case .refused(let lead) = result { lead } else { nil }
            }
            return .refused(leadNeeded: (leads.max() ?? .zero) + (results.count > 1 ? Self.spread : .zero))
        }
        // The other members have flushed: those that refused are silent until the new audio starts.
        for index in refused { ballot.feeds[index].renderer.flush() }
        feeding.withLock { _ in
            state.withLock { state in
                state.fedUntil = ballot.time
                state.history.cut(from: ballot.time)
                state.hasFinished = false
            }
        }
        return .flushed(from: ballot.time)
    }
}

/// The results of one partial flush by member.
final class GroupFlush: Sendable {
    let time: MediaTime
    let feeds: [MemberFeed]
    /// The result of each feed; nil while missing. Guarded by its own lock.
    private let answers: Lock<[PartialFlushResult?]>

    init(time: MediaTime, feeds: [MemberFeed]) {
        self.time = time
        self.feeds = feeds
        answers = Lock([PartialFlushResult?](repeating: nil, count: feeds.count))
    }

    /// The result of every member; nil while one is missing.
    var results: [PartialFlushResult]? {
        answers.withLock { answers in
            let given = answers.compactMap { $0 }
            return given.count == answers.count ? given : nil
        }
    }

    /// Requests a partial flush from a member, with retries if its route changes meanwhile.
    func ask(_ feed: MemberFeed, index: Int, attempts: Int = 3, answered: @escaping @Sendable () -> Void) {
        feed.renderer.requestFlush(fromSourceTime: time) { [self] result in
            if result == .overtaken, attempts > 1 {
                return ask(feed, index: index, attempts: attempts - 1, answered: answered)
            }
            answers.withLock { $0[index] = result }
            answered()
        }
    }
}
