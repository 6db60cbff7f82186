public import MediaCore

// What the group costs and how far it is, as the sum of its members. Asked at every turn of a feeder: nothing here
// allocates, but for names and shares.
extension OutputGroup {
    var feeds: [MemberFeed] { state.withLock { $0.feeds } }

    /// Calls with each feed whose member plays and is open.
    private func forEachOpen(_ body: (MemberFeed) -> Void) {
        for feed in feeds where feed.role == .playing && feed.isOpen { body(feed) }
    }

    /// Calls with each member that plays; before any does, with all of them.
    func forEachActive(_ body: (any AudioOutput) -> Void) {
        var isAnyOpen = false
        forEachOpen { feed in
            isAnyOpen = true
            body(feed.member)
        }
        guard !isAnyOpen else { return }
        for member in members { body(member) }
    }

    private func most<Value: Comparable>(_ value: (any AudioOutput) -> Value?) -> Value? {
        var most: Value?
        forEachActive { member in if let one = value(member) { most = most.map { max($0, one) } ?? one } }
        return most
    }

    /// The slowest member decides when a start and a stop can be kept; one that is to be heard earlier needs more.
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

    /// Including those that are about to join: their sound is read before they play.
    public var desiredDepth: Duration {
        var depth = most { $0.desiredDepth } ?? .zero
        for feed in feeds where feed.role == .joining && feed.isOpen { depth = max(depth, feed.member.desiredDepth) }
        return depth
    }

    public var preroll: Duration { most { $0.preroll } ?? .zero }

    /// Film time up to which every member that plays has what a start needs.
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
            // A card that takes less than a speaker needs is no less ready than the speaker.
            let reached = settled ? until : until.advanced(by: most - feed.member.preroll)
            least = least.map { min($0, reached) } ?? reached
        }
        if isAnyEmpty { return nil }
        guard !settled, let least, let fed else { return least }
        return min(least, fed)
    }

    public var isReadyToStart: Bool {
        var isReady = true
        forEachActive { if !$0.isReadyToStart { isReady = false } }
        return isReady
    }

    public var earliestStart: HostInstant? { most { $0.earliestStart } }

    /// Members whose clock cannot be moved hold one line: they are served one time, and at most one of them is followed.
    public var remoteTimeline: TimebaseSegment? {
        for feed in feeds where feed.role == .playing && feed.isOpen {
            if let line = feed.renderer.remoteTimeline { return line }
        }
        return nil
    }

    public var isDrained: Bool {
        var isDrained = true
        forEachOpen { if !$0.renderer.progress.isDrained { isDrained = false } }
        return isDrained
    }

    public var wait: OutputWait? {
        var longest: OutputWait?
        forEachActive { member in
            guard let wait = member.wait else { return }
            if longest.map({ wait.outlasts($0) }) ?? true { longest = wait }
        }
        return longest
    }

    public var failure: OutputError? {
        var first: OutputError?
        for feed in feeds where feed.role == .playing {
            guard let failure = feed.failure else { return nil }
            first = first ?? failure
        }
        return first
    }

    /// Why nothing is heard from any member at present: the first one's reason. Any thread.
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

    /// Returns the sound that could not be decoded since the last call. Each member decodes the same sound: the first one's counts.
    func takeUndecodableSound() -> UndecodableSound? {
        var first: UndecodableSound?
        for feed in feeds {
            let lost = feed.renderer.takeUndecodableSound()
            first = first ?? lost
        }
        return first
    }

    /// What is wrong with members that play or are to play; empty while all is well. Any thread.
    public var problems: [OutputProblem] {
        feeds.filter { $0.role == .playing }.compactMap { OutputProblem($0.member, $0.id, loss: $0.loss) }
    }
    /// Returns true if no member has been opened: the group's own failure says why. Any thread.
    package var isUnopened: Bool { members.allSatisfy(scope.unopened.contains) }

    /// Why nothing is heard from one member at present. Any thread.
    public func failure(ofMember number: Int) -> OutputError? {
        guard let member = output(number: number) else { return nil }
        return feeds.first { $0.member === member }?.failure
    }
}
