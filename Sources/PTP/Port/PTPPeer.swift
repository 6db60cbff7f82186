package import MediaCore
package import Sockets

/// What is known about one speaker that our time is sent to, or whose time is followed.
package struct PTPPeer: Sendable {
    /// What is known about the time of a speaker that speaks as a grandmaster.
    package struct Master: Sendable {
        /// Whose time it is.
        package internal(set) var grandmaster: ClockIdentity
        /// When a time was taken from it last.
        package internal(set) var lastTime: HostInstant
        /// Since when it can be followed; nil while it cannot.
        package internal(set) var lockedSince: HostInstant?
        /// Its time against ours as measured: offset, rate, uncertainty.
        package internal(set) var mapping: ClockMapping<HostInstant, PTPInstant>?
        /// Half the way to and fro; nil while it answers no questions.
        package internal(set) var path: Duration?
        /// Another master is followed already.
        package internal(set) var isTurnedAway = false
    }

    package let address: IPv4Address
    package var readiness: PeerReadiness
    /// Announce messages of its own. A few are a habit of some speakers and never a reason to give way.
    package internal(set) var announcements = 0
    /// What it announced last.
    package internal(set) var announced: GrandmasterQuality?
    /// Sync messages of one clock behind this address, without one of another between: it does behave as a grandmaster.
    package internal(set) var syncs = 0
    private var syncSource: ClockIdentity?
    /// What the speaker shall add to every time we send it: half the round trip, for speakers that do not measure it.
    package internal(set) var pathCorrection: Duration = .zero
    /// What it is told to add at present.
    package private(set) var correctionInForce: Duration = .zero
    /// Sound follows this clock: it may not be moved in steps.
    var isPlaying = false {
        didSet { if isPlaying, !isFollowed { hasPlayedByOurTime = true } }
    }
    /// It took a start on our time in this session, over a connection that only it can write to.
    private(set) var hasPlayedByOurTime = false
    /// It refused our starts in this session, over that connection.
    package private(set) var hasRefusedOurTime = false
    /// It insists on serving time: we send it none, and follow.
    package internal(set) var isFollowed = false
    /// What its own time is, as far as it tells.
    package internal(set) var master: Master?
    /// Tells this session with it from earlier ones.
    let session: UInt64
    /// Since when it is served, or followed.
    private var roleSince: HostInstant
    /// Nothing but its Sync messages says that it insists.
    private var isFollowedOnItsWord = false
    /// It was given its turn to serve time and did not take it.
    package private(set) var declinedToServe = false
    /// Times that no clock of this one's makes, one soon after the other, and when the last came.
    private var refusals: (count: Int, last: HostInstant)?

    /// A second of Syncs; a receiver that only wakes a master sends Announce messages.
    static let insistence = 8
    private static let doubt: Duration = .seconds(1)
    /// A speaker that is taken for a master and sends no time for so long is none, and is served.
    static let masterPatience: Duration = .seconds(4)

    /// A single time that contradicts may come from a computer that was interrupted …
    private static let leastRefusals = 4
    /// … and is forgotten after so long.
    private static let refusalMemory: Duration = .seconds(3)

    /// 100 ppm of the interval between two Syncs: a tenth of a cent of pitch.
    static let largestStep: Duration = .nanoseconds(12_500)

    init(
        address: IPv4Address, readiness: PeerReadiness, isFollowed: Bool = false, session: UInt64 = 0,
        now: HostInstant = .now
    ) {
        self.address = address
        self.readiness = readiness
        self.isFollowed = isFollowed
        self.session = session
        roleSince = now
    }

    /// How far the speaker is with the clock it plays by, and from when on it is ready as far as that can be said.
    package func clock(at now: HostInstant) -> (readiness: ClockReadiness, ready: HostInstant?) {
        guard isFollowed else {
            // One that sends time of its own and asks for none is about to be followed, and is started on neither.
            if readiness.probes == 0, !hasPlayedByOurTime, let master, now - master.lastTime < Self.doubt {
                return (.probing, nil)
            }
            return (readiness.state(at: now), readiness.readyInstant)
        }
        guard let master else { return (.cold, nil) }
        if now - master.lastTime >= PeerReadiness.stallGap { return (.stalled, master.lockedSince) }
        return (master.lockedSince == nil || master.isTurnedAway ? .probing : .ready, master.lockedSince)
    }

    /// Times come in its name that are not believed: they are not those of the clock that it was played by.
    package func isDoubted(at now: HostInstant) -> Bool {
        guard isFollowed else {
            guard hasPlayedByOurTime, readiness.probes == 0, let master, master.lockedSince != nil else { return false }
            return now - master.lastTime < Self.refusalMemory
        }
        guard let refusals, refusals.count >= Self.leastRefusals else { return false }
        return now - refusals.last < Self.refusalMemory
    }

    /// A time came that contradicts all others.
    mutating func noteRefusal(at now: HostInstant) {
        let isFresh = refusals.map { now - $0.last < Self.refusalMemory } ?? false
        refusals = (isFresh ? refusals!.count &+ 1 : 1, now)
    }

    mutating func noteSync(of clock: ClockIdentity) {
        syncs = syncSource == clock ? syncs &+ 1 : 1
        syncSource = clock
    }

    /// Leaves the speaker to its own clock from now on; false when that was tried already.
    mutating func yield(at now: HostInstant) -> Bool {
        hasRefusedOurTime = true
        guard !isFollowed, !declinedToServe else { return false }
        isFollowed = true
        roleSince = now
        return true
    }

    /// Whoever sends time and does not ask for ours insists on being followed; whoever was left to its own clock and
    /// has none is served. Never while sound lies on the one or the other.
    ///
    /// Anybody can send Sync in a speaker's name. Before the first start its word is all there is; a speaker that has
    /// taken one on our time has said, over a connection that nobody can forge, that it plays by it. From then on only a
    /// refusal over that connection says otherwise (`yield`).
    mutating func reconsiderRole(at now: HostInstant) {
        guard !isPlaying else { return }
        if !isFollowed {
            guard syncs >= Self.insistence, readiness.probes == 0, !hasPlayedByOurTime else { return }
            isFollowed = true
            isFollowedOnItsWord = true
            roleSince = now
        } else if master == nil, now - roleSince >= Self.masterPatience {
            isFollowed = false
            // Syncs without a usable time are no turn that was declined.
            declinedToServe = !isFollowedOnItsWord
            isFollowedOnItsWord = false
            syncs = 0
            roleSince = now
        }
    }

    /// The correction for the next Follow_Up: as wanted at once, or in small steps while the speaker plays. None for
    /// a speaker that asks us, because it measures the path itself.
    mutating func nextCorrection() -> Duration {
        guard readiness.probes == 0, !readiness.isKnownToProbe else {
            correctionInForce = .zero
            return .zero
        }
        let step = pathCorrection - correctionInForce
        correctionInForce += isPlaying ? max(.zero - Self.largestStep, min(Self.largestStep, step)) : step
        return correctionInForce
    }
}
