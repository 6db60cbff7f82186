internal import MediaCore

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
