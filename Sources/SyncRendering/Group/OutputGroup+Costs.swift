public import MediaCore

// The group's requirements and progress as aggregates of its members. Evaluated in every iteration of a feeder: nothing
// here allocates, except names and shares.
extension OutputGroup {
    /// The feeds of all members, including those that join or leave.
    var feeds: [MemberFeed] { state.withLock { $0.feeds } }

    /// Calls `body` with each feed whose member plays and is open.
    private func forEachOpen(_ body: (MemberFeed) -> Void) {
        for feed in feeds where feed.role == .playing && feed.isOpen { body(feed) }
    }

    /// Calls `body` with each playing and open member; with all members while none is.
    func forEachActive(_ body: (any AudioOutput) -> Void) {
        var isAnyOpen = false
        forEachOpen { feed in
            isAnyOpen = true
            body(feed.member)
        }
        guard !isAnyOpen else { return }
        for member in members { body(member) }
    }

    /// Returns the maximum of a value over the active members; nil if none has one.
    private func most<Value: Comparable>(_ value: (any AudioOutput) -> Value?) -> Value? {
        var most: Value?
        forEachActive { member in if let one = value(member) { most = most.map { max($0, one) } ?? one } }
        return most
    }

    /// The maximum leads of all members, plus the largest advance set by `setDelay`. The shares are those of the member
    /// with the longest delay.
    public var latency: OutputLatency {
        var slowest = OutputLatency(startLead: .zero, stopLead: .zero, shares: [])
        var (start, stop) = (Duration.zero, Duration.zero)
        forEachActive { member in
            let one = member.latency
            (start, stop) = (max(start, one.startLead), max(stop, one.stopLead))
            if one.delay > slowest.delay || slowest.shares.isEmpty { slowest = one }
        }
        let earliest = min(.zero, state.withLock { $0.delays.min() ?? .zero })
        return OutputLatency(startLead: start - earliest, stopLead: stop - earliest, shares: slowest.shares)
    }

    /// The maximum of all members. It includes joining members, because their audio is read before they play.
    public var desiredDepth: Duration {
        var depth = most { $0.desiredDepth } ?? .zero
        for feed in feeds where feed.role == .joining && feed.isOpen { depth = max(depth, feed.member.desiredDepth) }
        return depth
    }

    /// The maximum preroll of all members.
    public var preroll: Duration { most { $0.preroll } ?? .zero }

    /// The media time up to which every playing member is filled as a start requires.
    public var acceptedUntil: MediaTime? {
        let fed = state.withLock { $0.fedUntil }
        let settled = isDrained
        var isAnyOpen = false
        var isAnyEmpty = false
        var most = Duration.zero
        forEachOpen { feed in
            isAnyOpen = true
            most = max(most, feed.member.preroll)
        }
        guard isAnyOpen else { return fed }
        var least: MediaTime?
        forEachOpen { feed in
            guard let until = feed.renderer.progress.acceptedUntil else { return isAnyEmpty = true }
            // A card that needs less preroll than a speaker counts as equally filled.
            let reached = settled ? until : until.advanced(by: most - feed.member.preroll)
            least = least.map { min($0, reached) } ?? reached
        }
        if isAnyEmpty { return nil }
        guard !settled, let least, let fed else { return least }
        return min(least, fed)
    }

    /// Whether every active member can schedule a start.
    public var isReadyToStart: Bool {
        var isReady = true
        forEachActive { if !$0.isReadyToStart { isReady = false } }
        return isReady
    }

    /// The latest of the members' earliest starts.
    public var earliestStart: HostInstant? { most { $0.earliestStart } }

    /// The timeline of a member whose timing is fixed, if any. All such members share one clock, so that at most one is
    /// followed.
    public var remoteTimeline: TimebaseSegment? {
        for feed in feeds where feed.role == .playing && feed.isOpen {
            if let line = feed.renderer.remoteTimeline { return line }
        }
        return nil
    }

    /// Whether every playing and open member is drained.
    public var isDrained: Bool {
        var isDrained = true
        forEachOpen { if !$0.renderer.progress.isDrained { isDrained = false } }
        return isDrained
    }

    /// The longest wait of the active members; nil if there is none.
    public var wait: OutputWait? {
        var longest: OutputWait?
        forEachActive { member in
            guard let wait = member.wait else { return }
            if longest.map({ wait.outlasts($0) }) ?? true { longest = wait }
        }
        return longest
    }

    /// The first member's failure, if every playing member has failed.
    public var failure: OutputError? {
        var first: OutputError?
        for feed in feeds where feed.role == .playing {
            guard let failure = feed.failure else { return nil }
            first = first ?? failure
        }
        return first
    }

    /// The reason why all members are currently silent: the first one's; nil if any plays. Any thread.
    public var loss: OutputError? {
        var first: OutputError?
        for feed in feeds where feed.role == .playing {
            guard let loss = feed.loss else { return nil }
            first = first ?? loss
        }
        return first
    }

    /// The sound that the first member that lacks some could not decode since the last flush.
    var undecodable: UndecodableSound? { feeds.lazy.compactMap { $0.renderer.progress.undecodable }.first }

    /// Returns the audio that could not be decoded since the last call. Each member decodes the same audio, so that the
    /// first one's value counts.
    func takeUndecodableSound() -> UndecodableSound? {
        var first: UndecodableSound?
        for feed in feeds {
            let lost = feed.renderer.takeUndecodableSound()
            first = first ?? lost
        }
        return first
    }

    /// The problems of the playing members; empty if there are none. Any thread.
    public var problems: [OutputProblem] {
        feeds.filter { $0.role == .playing }.compactMap { OutputProblem($0.member, $0.id, loss: $0.loss) }
    }
    /// Whether no member has been opened; the group's `failure` states the reason. Any thread.
    package var isUnopened: Bool { members.allSatisfy(scope.unopened.contains) }

    /// Returns the reason why a member is silent; nil while it plays or opens. Any thread.
    public func failure(ofMember number: Int) -> OutputError? {
        guard let member = output(number: number) else { return nil }
        return feeds.first { $0.member === member }?.failure
    }
}
