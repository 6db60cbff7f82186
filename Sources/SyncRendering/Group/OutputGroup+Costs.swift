public import MediaCore

// The group's requirements and progress as aggregates of its members.
extension OutputGroup {
    /// A copy of the members and their feeds.
    var current: GroupMembers { state.withLock { $0.members } }

    /// The feeds of all members, including those that join or leave.
    var feeds: [OutputFeed] { current.feeds }

    /// The maximum leads of all members, plus the largest advance set by `setDelay`. The shares are those of the member
    /// with the longest delay.
    public var latency: OutputLatency { current.latency }

    /// The maximum of the open members that are not lost, otherwise of all. It includes joining members, because their
    /// audio is read before they play.
    public var desiredDepth: Duration { current.desiredDepth }

    /// The maximum preroll of all members.
    public var preroll: Duration { current.maximum { $0.minPreroll } ?? .zero }

    /// The media time up to which every playing member is filled as a start requires.
    public var acceptedUntil: MediaTime? {
        let (members, fed) = state.withLock { ($0.members, $0.store?.level.enqueuedUntil) }
        return members.acceptedUntil(fedUntil: fed)
    }

    /// Whether a start depends on the outputs of this computer alone while others can play only half a second later or
    /// more; these join at the film time reached. False by default: a start waits for all members, and none of them
    /// loses its first audio. Any thread.
    package var startsWithoutLateMembers: Bool {
        get { state.withLock { $0.members.startsWithoutLateMembers } }
        set { state.withLock { $0.members.startsWithoutLateMembers = newValue } }
    }

    /// Whether every active member that a start depends on is open and can schedule it.
    public var isReadyToStart: Bool { !isOpening && current.isReadyToStart }

    /// The latest earliest start of the members that a start depends on.
    public var earliestStart: HostInstant? { current.earliestStart }

    /// The timeline of a member whose timing is fixed, if any. All such members share one clock, so that at most one is
    /// followed.
    public var remoteTimeline: TimebaseSegment? { current.remoteTimeline }

    /// Adjusts the rate of `remoteTimeline`, and thereby the clock of all such members.
    public func adjustRemoteRate(by offset: Double) -> Bool { current.adjustRemoteRate(by: offset) }

    /// Whether every playing and open member is drained.
    public var isDrained: Bool { current.isDrained }

    /// The longest wait of the active members that a start depends on, including that for a member to open; nil if
    /// there is none.
    public var wait: OutputWait? {
        let members = current
        guard let feed = members.unanswered, isOpening else { return members.wait }
        return feed.starting?.wait ?? OutputWait(.opening, of: feed.member.name)
    }

    /// Whether members are being opened for which a start waits.
    private var isOpening: Bool { if case .pending = opening { true } else { false } }

    /// The first member's failure, if every playing member has failed.
    public var failure: OutputError? { current.common { $0.failure } }

    /// The reason why all members are currently silent: the first one's; nil if any plays. Any thread.
    public var loss: OutputError? { current.common { $0.loss } }

    /// The sound that the first member that lacks some could not decode since the last flush.
    var undecodable: UndecodableSound? { feeds.lazy.compactMap { $0.progress.undecodable }.first }

    /// The number of packets that the first member that lacks sound could not decode.
    var decodeErrorCount: Int { feeds.lazy.map { $0.progress.decodeErrorCount }.first { $0 > 0 } ?? 0 }

    /// Returns the audio that could not be decoded since the last call. Each member decodes the same audio, so that the
    /// first one's value counts.
    func takeUndecodableSound() -> [UndecodableSound] {
        var first: [UndecodableSound] = []
        for feed in feeds {
            let lost = feed.state.withLock { $0.takeUndecodable() }
            if first.isEmpty { first = lost }
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
        let members = current
        return members.output(number: number).flatMap { members.feed(of: $0) }?.failure
    }
}
