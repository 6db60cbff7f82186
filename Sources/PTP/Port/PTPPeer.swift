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
    /// Sync messages of its own: it does behave as a grandmaster.
    package internal(set) var syncs = 0
    /// What the speaker shall add to every time we send it: half the round trip, for speakers that do not measure it.
    package internal(set) var pathCorrection: Duration = .zero
    /// What it is told to add at present.
    package private(set) var correctionInForce: Duration = .zero
    /// Sound follows this clock: it may not be moved in steps.
    var isPlaying = false
    /// It insists on serving time: we send it none, and follow.
    package internal(set) var isFollowed = false
    /// What its own time is, as far as it tells.
    package internal(set) var master: Master?
    /// Tells this session with it from earlier ones.
    let session: UInt64
    /// Since when it is served, or followed.
    private var roleSince: HostInstant
    /// It was given its turn to serve time and did not take it.
    package private(set) var declinedToServe = false

    /// A second of Syncs; a receiver that only wakes a master sends Announce messages.
    static let insistence = 8
    private static let doubt: Duration = .seconds(1)
    /// A speaker that is taken for a master and sends no time for so long is none, and is served.
    static let masterPatience: Duration = .seconds(4)

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
            if readiness.probes == 0, let master, now - master.lastTime < Self.doubt { return (.probing, nil) }
            return (readiness.state(at: now), readiness.readyInstant)
        }
        guard let master else { return (.cold, nil) }
        if now - master.lastTime >= PeerReadiness.stallGap { return (.stalled, master.lockedSince) }
        return (master.lockedSince == nil || master.isTurnedAway ? .probing : .ready, master.lockedSince)
    }

    /// Leaves the speaker to its own clock from now on; false when that was tried already.
    mutating func yield(at now: HostInstant) -> Bool {
        guard !isFollowed, !declinedToServe else { return false }
        isFollowed = true
        roleSince = now
        return true
    }

    /// Whoever sends time and does not ask for ours insists on being followed; whoever was left to its own clock and
    /// has none is served. Never while sound lies on the one or the other.
    mutating func reconsiderRole(at now: HostInstant) {
        guard !isPlaying else { return }
        if !isFollowed {
            guard syncs >= Self.insistence, readiness.probes == 0 else { return }
            isFollowed = true
            roleSince = now
        } else if master == nil, now - roleSince >= Self.masterPatience {
            isFollowed = false
            declinedToServe = true
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
