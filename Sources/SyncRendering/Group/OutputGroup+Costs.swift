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
    package var isReadyToStart: Bool {
        let members = current
        return (members.unanswered == nil || !isOpening) && members.isReadyToStart
    }

    /// The longest wait of the active members that a start depends on, including that for a member to open; nil if
    /// there is none.
    public var wait: OutputWait? {
        let members = current
        guard let feed = members.unanswered, isOpening else { return members.wait }
        return feed.abilities.starting?.wait ?? OutputWait(.opening, of: feed.member.name)
    }

    /// Whether members are being opened for which a start waits.
    private var isOpening: Bool { if case .pending = opening { true } else { false } }

    /// The first member's failure, if every playing member has failed.
    public var failure: OutputError? { current.common { $0.failure } }

    /// Why no playing member can decode the audio; nil if one can.
    var decodingFailure: MediaError? { current.common { $0.decodingFailure } }

    /// The reason why all members are currently silent: the first one's; nil if any plays. Any thread.
    public var loss: OutputError? { current.common { $0.loss } }

    /// The problems of the playing members; empty if there are none. Any thread.
    public var problems: [OutputProblem] {
        feeds.compactMap { feed in
            guard feed.role == .playing else { return nil }
            return OutputProblem(feed.abilities, feed.id, loss: feed.loss, isStarved: feed.isStarved)
        }
    }

    /// The members with their numbers, whether they are open, and the devices of those that can change them. Any
    /// thread.
    package var memberStates: [(output: any AudioOutput, number: Int, isOpen: Bool, device: OutputDevice?)] {
        let members = current
        return members.outputs.compactMap { output in
            members.number(of: output).map { number in
                let isOpen = members.feed(of: output).map { $0.role == .playing && $0.isOpen } ?? false
                return (output, number, isOpen, members.abilities(of: number).movable?.outputDevice)
            }
        }
    }

    /// Whether no member has been opened; the group's `failure` states the reason. Any thread.
    package var isUnopened: Bool { members.allSatisfy(scope.unopened.contains) }

    /// Returns the reason why a member is silent; nil while it plays or opens. Any thread.
    public func failure(ofMember number: Int) -> OutputError? {
        let members = current
        return members.output(number: number).flatMap { members.feed(of: $0) }?.failure
    }
}
