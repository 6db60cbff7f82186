internal import MediaCore

/// The members of a group with their numbers, delays and feeds, and aggregates of their values.
///
/// Guarded by the group's lock. What calls outputs is evaluated on a copy. Aggregates are evaluated in every iteration
/// of a feeder: they allocate nothing, except names and shares.
struct GroupMembers {
    /// The playing members, or those to prepare; each has a number.
    var outputs: [any AudioOutput] { didSet { for output in outputs { _ = assignNumber(to: output) } } }
    /// All present and former members by number, with their delays against the group; negative is earlier.
    private var known: [(output: any AudioOutput, delay: Duration)]
    /// The feeds of all members, including those that join or leave.
    private(set) var feeds: [OutputFeed] = []
    /// See `OutputGroup.startsWithoutLateMembers`.
    var startsWithoutLateMembers = false
    /// A member that needs longer until it can start is late.
    private static let maxStartWait = Duration.milliseconds(500)

    init(_ outputs: [any AudioOutput]) {
        self.outputs = outputs
        known = outputs.map { ($0, .zero) }
    }

    // MARK: Numbers

    /// Returns the present or former member with a number.
    func output(number: Int) -> (any AudioOutput)? { known.indices.contains(number) ? known[number].output : nil }

    /// Returns the number of an output; nil if it never was a member.
    func number(of output: any AudioOutput) -> Int? { known.firstIndex { $0.output === output } }

    /// Returns the permanent number of a member, assigned on its first use.
    mutating func assignNumber(to output: any AudioOutput) -> Int {
        if let number = number(of: output) { return number }
        known.append((output, .zero))
        return known.count - 1
    }

    /// Returns the delay of a member against the group.
    func delay(of output: any AudioOutput) -> Duration { number(of: output).map { known[$0].delay } ?? .zero }

    /// Sets the delay of a present or future member. Returns its feed, if the delay has changed and there is one.
    mutating func setDelay(_ delay: Duration, of output: any AudioOutput) -> OutputFeed? {
        let number = assignNumber(to: output)
        guard known[number].delay != delay else { return nil }
        known[number].delay = delay
        return feed(of: output)
    }

    // MARK: Volumes

    /// Returns an output in the form required by `OutputVolumes`, with its owner's level.
    func volumeMember(_ output: any AudioOutput) -> OutputVolumes.Member {
        let owner = output.ownerVolume
        return OutputVolumes.Member(
            number: number(of: output), own: owner?.ownVolume, isOwnKnown: owner?.isOwnVolumeKnown ?? true)
    }

    /// The members in that form.
    var volumeMembers: [OutputVolumes.Member] { outputs.map { volumeMember($0) } }

    // MARK: Feeds

    /// The only member's feed; nil with several members.
    var onlyFeed: OutputFeed? { feeds.count == 1 ? feeds[0] : nil }

    func feed(of output: any AudioOutput) -> OutputFeed? { feeds.first { $0.member === output } }

    mutating func append(_ feed: OutputFeed) { feeds.append(feed) }

    /// Removes and returns those of the given feeds that are here: the caller closes them, once each.
    mutating func remove(_ wanted: [OutputFeed]) -> [OutputFeed] {
        let removed = feeds.filter { feed in wanted.contains { $0 === feed } }
        feeds.removeAll { feed in removed.contains { $0 === feed } }
        return removed
    }

    /// Removes and returns all feeds.
    mutating func removeFeeds() -> [OutputFeed] {
        defer { feeds = [] }
        return feeds
    }

    /// The feeds whose member plays and is open.
    private var open: LazyFilterSequence<[OutputFeed]> { feeds.lazy.filter { $0.role == .playing && $0.isOpen } }

    /// The first playing member that has not answered the attempt to open it.
    var unanswered: OutputFeed? { feeds.first { $0.role == .playing && !$0.hasAnswered } }

    /// Calls `body` with each playing and open member; with all members while none is.
    func forEachActive(_ body: (any AudioOutput) -> Void) {
        var isAnyOpen = false
        for feed in open {
            isAnyOpen = true
            body(feed.member)
        }
        if !isAnyOpen { for output in outputs { body(output) } }
    }

    /// Calls `body` with each member that a start depends on.
    private func forEachStarting(_ body: (any AudioOutput) -> Void) {
        var canStartHere = false
        if startsWithoutLateMembers {
            // Also one that measures its delay: a start that does not wait for audio is scheduled before that.
            forEachActive { output in
                if !output.kind.isRemote, output.currentLoss == nil, !Self.isLate(output) { canStartHere = true }
            }
        }
        forEachActive { output in if !canStartHere || !Self.isLate(output) { body(output) } }
    }

    /// Returns true if an output cannot start soon: its device is opening, or its clock is being synchronized.
    private static func isLate(_ output: any AudioOutput) -> Bool {
        guard let wait = output.starting?.wait, wait.cause == .opening || wait.cause == .clock else { return false }
        return wait.remaining.map { $0 > maxStartWait } ?? true
    }

    // MARK: Aggregates

    /// Returns the maximum of a value over the active members; nil if none has one.
    func maximum<Value: Comparable>(_ value: (any AudioOutput) -> Value?) -> Value? {
        var maximum: Value?
        forEachActive { output in if let one = value(output) { maximum = maximum.map { max($0, one) } ?? one } }
        return maximum
    }

    /// See `OutputGroup.earliestStart`.
    var earliestStart: HostInstant? {
        var latest: HostInstant?
        forEachStarting { output in
            if let one = output.starting?.earliestStart { latest = latest.map { max($0, one) } ?? one }
        }
        return latest
    }

    /// See `OutputGroup.latency`.
    var latency: OutputLatency {
        var slowest = OutputLatency(startLead: .zero, stopLead: .zero, shares: [])
        var (start, stop) = (Duration.zero, Duration.zero)
        forEachActive { output in
            let one = output.latency
            stop = max(stop, one.stopLead)
            if one.delay > slowest.delay || slowest.shares.isEmpty { slowest = one }
        }
        forEachStarting { start = max(start, $0.latency.startLead) }
        let earliest = known.reduce(.zero) { min($0, $1.delay) }
        return OutputLatency(startLead: start - earliest, stopLead: stop - earliest, shares: slowest.shares)
    }

    /// See `OutputGroup.desiredDepth`.
    var desiredDepth: Duration {
        var depth: Duration?
        for feed in feeds where feed.role != .leaving && feed.isOpen && feed.loss == nil {
            depth = max(depth ?? .zero, feed.member.desiredDepth)
        }
        return depth ?? maximum { $0.desiredDepth } ?? .zero
    }

    /// Returns the media time up to which every playing member is filled as a start requires.
    ///
    /// - Parameter fed: The end of the audio that the group has received.
    func acceptedUntil(fedUntil fed: MediaTime?) -> MediaTime? {
        let isSettled = isDrained
        var (preroll, filled) = (Duration?.none, MediaTime?.none)
        for feed in open { preroll = max(preroll ?? .zero, feed.member.minPreroll) }
        guard let preroll else { return fed }
        for feed in open {
            guard let until = feed.progress.acceptedUntil else { return nil }
            // A card that needs less preroll than a speaker counts as equally filled.
            let reached = isSettled ? until : until.advanced(by: preroll - feed.member.minPreroll)
            filled = filled.map { min($0, reached) } ?? reached
        }
        guard !isSettled, let filled, let fed else { return filled }
        return min(filled, fed)
    }

    /// Whether every playing and open member is drained.
    var isDrained: Bool { open.allSatisfy { $0.progress.isDrained } }

    /// See `OutputGroup.isReadyToStart`.
    var isReadyToStart: Bool {
        var isReady = true
        forEachStarting { if $0.starting?.isReadyToStart == false { isReady = false } }
        return isReady
    }

    /// The timeline of a member whose timing is fixed, if any.
    var remoteTimeline: TimebaseSegment? {
        for feed in open { if let line = feed.remoteTimeline { return line } }
        return nil
    }

    /// Adjusts the rate of `remoteTimeline`.
    func adjustRemoteRate(by offset: Double) -> Bool {
        // Those of one protocol share a clock, for which the same offset is set again.
        var isAdjusted = false
        for feed in open where feed.remoteTimeline != nil && feed.adjustRemoteRate(by: offset) {
            isAdjusted = true
        }
        return isAdjusted
    }

    /// See `OutputGroup.wait`.
    var wait: OutputWait? {
        var longest: OutputWait?
        forEachStarting { output in
            guard let wait = output.starting?.wait else { return }
            if longest.map({ wait.outlasts($0) }) ?? true { longest = wait }
        }
        return longest
    }

    /// Returns the first playing member's error, if every playing member has one.
    func common(_ error: (OutputFeed) -> OutputError?) -> OutputError? {
        var first: OutputError?
        for feed in feeds where feed.role == .playing {
            guard let one = error(feed) else { return nil }
            first = first ?? one
        }
        return first
    }
}
