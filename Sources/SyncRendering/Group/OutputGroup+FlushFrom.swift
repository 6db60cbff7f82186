public import MediaCore

/// Taking back the end of what every member was handed.
extension OutputGroup: PartialFlushing {
    /// The member that needs most decides, and with several a little more, so that all of them are in time.
    public var partialFlushLead: Duration {
        var (longest, count) = (Duration.zero, 0)
        forEachActive { member in
            longest = max(longest, (member as? any PartialFlushing)?.partialFlushLead ?? .seconds(3600))
            count += 1
        }
        return longest + (count > 1 ? Self.spread : .zero)
    }

    /// Members are asked one after the other.
    private static let spread: Duration = .milliseconds(100)

    public func beginPartialFlush(from time: MediaTime) {
        let (ballot, feeds, room) = state.withLock { state in
            // Who joins and was given nothing yet has nothing to take back.
            let feeds = state.feeds.filter(\.isFed)
            let ballot = GroupFlush(time: time, feeds: feeds)
            state.partialFlush = ballot
            return (ballot, feeds, state.context?.room)
        }
        for (index, feed) in feeds.enumerated() { ballot.ask(feed, index: index) { room?.raise() } }
    }

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
        // The others have let go of it: whoever lost the race falls silent until the new sound begins.
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

/// The answers of a group's members to one flush.
final class GroupFlush: Sendable {
    let time: MediaTime
    let feeds: [MemberFeed]
    private let answers: Lock<[PartialFlushResult?]>

    init(time: MediaTime, feeds: [MemberFeed]) {
        self.time = time
        self.feeds = feeds
        answers = Lock([PartialFlushResult?](repeating: nil, count: feeds.count))
    }

    /// Every member's answer; nil while one is missing.
    var results: [PartialFlushResult]? {
        answers.withLock { answers in
            let given = answers.compactMap { $0 }
            return given.count == answers.count ? given : nil
        }
    }

    /// Asks a member; again when its route has changed meanwhile.
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
