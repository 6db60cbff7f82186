internal import MediaCore

/// The members of a group with their numbers, delays and feeds, and aggregates of their values.
///
/// Guarded by the group's lock. What calls outputs is evaluated on a copy. Aggregates are evaluated in every iteration
/// of a feeder: they allocate nothing, except names and shares.
struct GroupMembers {
    /// The playing members, or those to prepare; each has a number.
    var outputs: [any AudioOutput] {
        didSet {
            for output in oldValue { known[assignNumber(to: output)].hasLeft = true }
            for output in outputs { known[assignNumber(to: output)].hasLeft = false }
        }
    }
    /// All present and former members by number.
    private var known: [KnownOutput]
    /// The feeds of all members, including those that join or leave.
    private(set) var feeds: [OutputFeed] = []
    /// See `OutputGroup.startsWithoutLateMembers`.
    var startsWithoutLateMembers = false
    /// A member that needs longer until it can start is late.
    private static let maxStartWait = Duration.milliseconds(500)

    private struct KnownOutput {
        let abilities: OutputAbilities
        /// The delay against the group; negative is earlier.
        var delay = Duration.zero
        var channels = ChannelSelection.whole
        /// Whether it was a member, and no delay was set since, as is done for one that will join again.
        var hasLeft = false
    }

    init(_ outputs: [any AudioOutput]) {
        self.outputs = outputs
        known = outputs.map { KnownOutput(abilities: OutputAbilities($0)) }
    }

    // MARK: Numbers

    /// Returns the present or former member with a number.
    func output(number: Int) -> (any AudioOutput)? {
        known.indices.contains(number) ? known[number].abilities.output : nil
    }

    /// Returns the number of an output; nil if it never was a member.
    func number(of output: any AudioOutput) -> Int? { known.firstIndex { $0.abilities.output === output } }

    /// Returns the permanent number of a member, assigned on its first use.
    mutating func assignNumber(to output: any AudioOutput) -> Int {
        if let number = number(of: output) { return number }
        known.append(KnownOutput(abilities: OutputAbilities(output)))
        return known.count - 1
    }

    /// Returns what the member with a number can do.
    func abilities(of number: Int) -> OutputAbilities { known[number].abilities }

    /// Returns the delay of a member against the group.
    func delay(of output: any AudioOutput) -> Duration { number(of: output).map { known[$0].delay } ?? .zero }

    /// Sets the delay of a present or future member. Returns its feed, if the delay has changed and there is one.
    mutating func setDelay(_ delay: Duration, of output: any AudioOutput) -> OutputFeed? {
        let number = assignNumber(to: output)
        known[number].hasLeft = false
        guard known[number].delay != delay else { return nil }
        known[number].delay = delay
        return feed(of: output)
    }

    /// Returns the channels that a member plays.
    func channels(of output: any AudioOutput) -> ChannelSelection {
        number(of: output).map { known[$0].channels } ?? .whole
    }

    /// Sets the channels that a present or future member plays. Returns its feed, if there is one.
    mutating func setChannels(_ channels: ChannelSelection, of output: any AudioOutput) -> OutputFeed? {
        known[assignNumber(to: output)].channels = channels
        return feed(of: output)
    }

    // MARK: Volumes

    /// Returns an output in the form required by `OutputVolumes`, with its owner's level.
    func volumeMember(_ output: any AudioOutput) -> OutputVolumes.Member {
        let owner = number(of: output).map { known[$0].abilities.ownerVolume } ?? output as? any OwnerVolumeOutput
        return OutputVolumes.Member(
            number: number(of: output), own: owner?.ownVolume, isOwnKnown: owner?.isOwnVolumeKnown ?? true)
    }

    /// The members in that form.
    var volumeMembers: [OutputVolumes.Member] { outputs.map { volumeMember($0) } }

    // MARK: Feeds

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
    var unanswered: OutputFeed? { feeds.first { !$0.hasAnswered && $0.role == .playing } }

    /// Calls `body` with each playing and open member; with all members while none is.
    private func forEachActive(_ body: (OutputAbilities) -> Void) {
        var isAnyOpen = false
        for feed in open {
            isAnyOpen = true
            body(feed.abilities)
        }
        guard !isAnyOpen else { return }
        for output in outputs { if let number = number(of: output) { body(known[number].abilities) } }
    }

    /// Calls `body` with each member that a start depends on.
    private func forEachStarting(_ body: (OutputAbilities) -> Void) {
        var canStartHere = false
        if startsWithoutLateMembers {
            // Also one that measures its delay: a start that does not wait for audio is scheduled before that.
            forEachActive { member in
                if !member.output.kind.isRemote, member.loss == nil, !Self.isLate(member) { canStartHere = true }
            }
        }
        forEachActive { member in if !canStartHere || !Self.isLate(member) { body(member) } }
    }

    /// Returns true if an output cannot start soon: its device is opening, or its clock is being synchronized.
    private static func isLate(_ member: OutputAbilities) -> Bool {
        guard let wait = member.starting?.wait, wait.cause == .opening || wait.cause == .clock else { return false }
        return wait.remaining.map { $0 > maxStartWait } ?? true
    }

    // MARK: Aggregates

    /// The latest earliest start of the members that a start depends on.
    var earliestStart: HostInstant? {
        var latest: HostInstant?
        forEachStarting { member in
            if let one = member.starting?.earliestStart { latest = latest.map { max($0, one) } ?? one }
        }
        return latest
    }

    /// The maximum preroll of the active members.
    var preroll: Duration {
        var longest = Duration.zero
        forEachActive { longest = max(longest, $0.preroll) }
        return longest
    }

    /// The maximum lead of a partial flush; with several members a margin is added, so that all of them are in time.
    var partialFlushLead: Duration {
        var (longest, count) = (Duration.zero, 0)
        forEachActive { member in
            longest = max(longest, member.flushing?.partialFlushLead ?? .seconds(3600))
            count += 1
        }
        return GroupFlush.lead(longest, members: count)
    }

    /// See `OutputGroup.latency`.
    var latency: OutputLatency {
        var slowest = OutputLatency(startLead: .zero, stopLead: .zero, shares: [])
        var (start, stop) = (Duration.zero, Duration.zero)
        forEachActive { member in
            let one = member.output.latency
            stop = max(stop, one.stopLead)
            if one.delay > slowest.delay || slowest.shares.isEmpty { slowest = one }
        }
        forEachStarting { start = max(start, $0.output.latency.startLead) }
        let earliest = known.reduce(.zero) { $1.hasLeft ? $0 : min($0, $1.delay) }
        return OutputLatency(startLead: start - earliest, stopLead: stop - earliest, shares: slowest.shares)
    }

    /// The maximum of the open members that are not lost, otherwise of all. It includes joining members, because their
    /// audio is read before they play.
    var desiredDepth: Duration {
        var depth: Duration?
        for feed in feeds where feed.role != .leaving && feed.isOpen && feed.loss == nil {
            depth = max(depth ?? .zero, feed.member.desiredDepth)
        }
        if let depth { return depth }
        var deepest = Duration.zero
        forEachActive { deepest = max(deepest, $0.output.desiredDepth) }
        return deepest
    }

    /// Returns the media time up to which every playing member is filled as a start requires.
    ///
    /// - Parameter fed: The end of the audio that the group has received.
    func acceptedUntil(fedUntil fed: MediaTime?) -> MediaTime? {
        let isSettled = isDrained
        var (preroll, filled) = (Duration?.none, MediaTime?.none)
        for feed in open { preroll = max(preroll ?? .zero, feed.abilities.preroll) }
        guard let preroll else { return fed }
        for feed in open {
            guard let until = feed.progress.acceptedUntil else { return nil }
            // A card that needs less preroll than a speaker counts as equally filled.
            let reached = isSettled ? until : until.advanced(by: preroll - feed.abilities.preroll)
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

    /// The timeline of a member whose timing is fixed, if any. All such members share one clock, so that at most one is
    /// followed.
    var remoteTimeline: TimebaseSegment? {
        for feed in open { if let timeline = feed.remoteTimeline { return timeline } }
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
        forEachStarting { member in
            guard let wait = member.starting?.wait else { return }
            if longest.map({ wait.outlasts($0) }) ?? true { longest = wait }
        }
        return longest
    }

    /// Returns the first playing member's error, if every playing member has one.
    func common<Failure>(_ error: (OutputFeed) -> Failure?) -> Failure? {
        var first: Failure?
        for feed in feeds where feed.role == .playing {
            guard let one = error(feed) else { return nil }
            first = first ?? one
        }
        return first
    }

    // MARK: Undecodable audio

    /// The audio that the first member that lacks some could not decode since the last flush.
    var undecodable: UndecodableAudio? { feeds.lazy.compactMap { $0.progress.undecodable }.first }

    /// The number of packets that the first member that lacks audio could not decode.
    var decodeErrorCount: Int { feeds.lazy.map { $0.progress.decodeErrorCount }.first { $0 > 0 } ?? 0 }

    /// Returns the audio that could not be decoded since the last call. Each member decodes the same audio, so that the
    /// first one's value counts.
    func consumeUndecodableAudio() -> [UndecodableAudio] {
        var first: [UndecodableAudio] = []
        for feed in feeds {
            let lost = feed.state.withLock { $0.consumeUndecodable() }
            if first.isEmpty { first = lost }
        }
        return first
    }
}
