internal import MediaCore

/// Partial flushes of all members.
extension OutputGroup {
    /// The maximum lead of the members; with several members a margin is added, so that all of them are in time.
    var partialFlushLead: Duration {
        var (longest, count) = (Duration.zero, 0)
        current.forEachActive { member in
            longest = max(longest, (member as? any PartialFlushing)?.partialFlushLead ?? .seconds(3600))
            count += 1
        }
        return GroupFlush.lead(longest, members: count)
    }

    /// Starts a partial flush of all members that receive audio.
    func beginPartialFlush(from time: MediaTime) {
        let (ballot, writable) = feeding.withLock { _ in
            state.withLock { state in
                // A joining member that was not filled has no audio to flush, and is not filled before the result.
                let ballot = GroupFlush(time: time, feeds: state.members.feeds.filter(\.isFed))
                state.partialFlush = ballot
                state.isFlushPending = true
                return (ballot, state.context?.writable)
            }
        }
        let isCurrent: @Sendable () -> Bool = { [weak self] in
            self?.state.withLock { $0.isFlushPending && $0.partialFlush === ballot } ?? false
        }
        ballot.begin(while: isCurrent) { writable?.raise() }
    }

    /// The result for the group; nil until every member has decided.
    ///
    /// Refused only if every member refuses. If only some refuse, they are flushed completely, and the result is
    /// `flushed`.
    var partialFlushResult: PartialFlushResult? {
        guard let ballot = state.withLock({ $0.partialFlush }) else { return .flushed(from: .zero) }
        guard let (result, refusing) = ballot.result else { return nil }
        // The other members have flushed: those that refused restart at the playhead.
        for feed in refusing { feed.update { $0.restartAfterCut() } }
        return result
    }

    /// Permits the members to read on, after the audio was removed from the store.
    func endPartialFlush() {
        for feed in change({ $0.isFlushPending = false }) { feed.update { $0.endCut() } }
    }
}

/// The results of one partial flush by member.
final class GroupFlush: Sendable {
    /// The margin for members that are flushed in sequence.
    private static let spread: Duration = .milliseconds(100)

    let time: MediaTime
    private let feeds: [OutputFeed]
    /// The result of each feed; nil while missing. Guarded by its own lock.
    private let answers: Lock<[PartialFlushResult?]>

    init(time: MediaTime, feeds: [OutputFeed]) {
        self.time = time
        self.feeds = feeds
        answers = Lock([PartialFlushResult?](repeating: nil, count: feeds.count))
    }

    /// Returns the lead for several members, from the longest of theirs.
    static func lead(_ longest: Duration, members count: Int) -> Duration { longest + (count > 1 ? spread : .zero) }

    /// The result for the group, and the members that are to be flushed completely; nil while a member's result is
    /// missing.
    var result: (PartialFlushResult, refusing: [OutputFeed])? {
        let results = answers.withLock { $0.compactMap { $0 } }
        guard results.count == feeds.count else { return nil }
        var (refusing, longest) = ([OutputFeed](), Duration.zero)
        for (feed, result) in zip(feeds, results) {
            guard case .refused(let lead) = result else { continue }
            refusing.append(feed)
            longest = max(longest, lead ?? .zero)
        }
        guard refusing.count == feeds.count, !refusing.isEmpty else { return (.flushed(from: time), refusing) }
        return (.refused(leadNeeded: Self.lead(longest, members: feeds.count)), [])
    }

    /// Requests a partial flush from every member.
    ///
    /// - Parameters:
    ///   - isCurrent: False after a complete flush of the group: a retry would cut the audio that follows it.
    ///   - answered: Called after each result.
    func begin(while isCurrent: @escaping @Sendable () -> Bool, answered: @escaping @Sendable () -> Void) {
        for index in feeds.indices { ask(index, while: isCurrent, answered: answered) }
    }

    /// Requests a partial flush from a member, with retries if its route changes meanwhile.
    private func ask(
        _ index: Int, attempts: Int = 3, while isCurrent: @escaping @Sendable () -> Bool,
        answered: @escaping @Sendable () -> Void
    ) {
        feeds[index].requestFlush(fromSourceTime: time) { [self] result in
            if result == .overtaken, attempts > 1, isCurrent() {
                return ask(index, attempts: attempts - 1, while: isCurrent, answered: answered)
            }
            answers.withLock { $0[index] = result }
            answered()
        }
    }
}
