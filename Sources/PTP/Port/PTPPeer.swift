package import MediaCore
import Sockets

/// The state of one receiver that is served or followed. A value; the live copy is in `PTPEngine.shared`, under its
/// lock.
package struct PTPPeer: Sendable {
    /// The measured time of a receiver that acts as a grandmaster.
    package struct Master: Sendable {
        /// The grandmaster that the anchors refer to.
        package internal(set) var grandmaster: ClockIdentity
        /// Arrival of the last accepted Sync.
        package internal(set) var lastTime: HostInstant
        /// The instant from which it can be followed; nil while it cannot.
        var lockedSince: HostInstant?
        /// Its time against the host clock: offset, rate, uncertainty.
        var mapping: ClockMapping<HostInstant, PTPInstant>?
        /// Measured path delay; nil if it answers no Delay_Req.
        var path: Duration?
        /// True if another master is followed.
        var isTurnedAway = false
    }

    let address: NetworkAddress
    package var readiness: PeerReadiness
    /// The number of Announce messages received. Some receivers send a few routinely; they never cause a change of
    /// role.
    var announcements = 0
    /// The attributes of the last Announce.
    var announced: GrandmasterQuality?
    /// Delay requests arrived although the receiver had played by our time without any.
    private var hasLateProbes = false
    /// Consecutive Syncs from one clock at this address, without one from another clock in between.
    var syncs = 0
    private var syncSource: ClockIdentity?
    /// The target correction that the receiver adds to the served time: half the round trip, for receivers that do not
    /// measure it.
    var pathCorrection: Duration = .zero
    /// The correction in the last Follow_Up; approaches `pathCorrection`.
    package private(set) var correctionInForce: Duration = .zero
    /// True while audio is scheduled on this clock, which must not be stepped then.
    var isPlaying = false {
        didSet { if isPlaying, !isFollowed { hasPlayedByOurTime = true } }
    }
    /// The receiver accepted a start on the served time in this session, over a connection that only it can write to.
    private(set) var hasPlayedByOurTime = false
    /// The receiver rejected starts on the served time in this session, over that connection.
    package private(set) var hasRefusedOurTime = false
    /// The receiver insists on its own clock: it is sent no time and is followed.
    package internal(set) var isFollowed = false
    /// The receiver's own time; nil if it sends none.
    package internal(set) var master: Master?
    /// Whether a message came from UDP 319 or 320 in this session.
    private(set) var usesPTPPorts = false
    /// Distinguishes this session from earlier ones with the same address.
    let session: UInt64
    /// When the current role, served or followed, began.
    private var roleSince: HostInstant
    /// The receiver is followed only because it sends Sync; it has rejected no start.
    private var isFollowedForSyncOnly = false
    /// The receiver was followed and sent no time; it is not followed again in this session.
    package private(set) var declinedToServe = false
    /// Consecutive rejected timestamps, and the arrival of the last.
    private var refusals: (count: Int, last: HostInstant)?

    /// Syncs after which a receiver is followed: one second of them. A receiver that only wakes a master sends Announce
    /// messages instead.
    static let insistence = 8
    /// Time without a Sync after which a served receiver no longer counts as a master.
    private static let doubt: Duration = .seconds(1)
    /// A followed receiver that sends no usable time for this long is served again.
    static let masterTimeout: Duration = .seconds(4)

    /// Rejected timestamps from which the clock is doubted; fewer may come from a preempted computer.
    private static let minRefusals = 4
    /// Rejections further apart than this are not counted together.
    private static let refusalMemory: Duration = .seconds(3)

    /// Maximum change of the correction per Sync during playback: 100 ppm of the Sync interval, a tenth of a cent of
    /// pitch.
    static let largestStep: Duration = .nanoseconds(12_500)

    init(
        address: NetworkAddress, readiness: PeerReadiness, isFollowed: Bool = false, session: UInt64 = 0,
        now: HostInstant = .now
    ) {
        self.address = address
        self.readiness = readiness
        self.isFollowed = isFollowed
        self.session = session
        roleSince = now
    }

    /// Returns the synchronization state, and the instant of readiness if it is known.
    package func clock(at now: HostInstant) -> (readiness: ClockReadiness, ready: HostInstant?) {
        guard isFollowed else {
            // A receiver that sends time and no delay requests will be followed shortly; neither clock is ready.
            if readiness.probes == 0, !hasPlayedByOurTime, let master, now - master.lastTime < Self.doubt {
                return (.probing, nil)
            }
            return (readiness.state(at: now), readiness.readyInstant)
        }
        guard let master else { return (.cold, nil) }
        if now - master.lastTime >= PeerReadiness.stallGap { return (.stalled, master.lockedSince) }
        return (master.lockedSince == nil || master.isTurnedAway ? .probing : .ready, master.lockedSince)
    }

    /// Returns true if recent messages in the receiver's name contradict the clock in use, which may be a forgery.
    package func isDoubted(at now: HostInstant) -> Bool {
        guard isFollowed else {
            guard hasPlayedByOurTime, readiness.probes == 0, let master, master.lockedSince != nil else { return false }
            return now - master.lastTime < Self.refusalMemory
        }
        guard let refusals, refusals.count >= Self.minRefusals else { return false }
        return now - refusals.last < Self.refusalMemory
    }

    /// Returns whether a message counts. What messages from other ports had shown is discarded when the first one comes
    /// from UDP 319 or 320, unless audio is scheduled by it.
    mutating func admits(isFromPTPPort: Bool) -> Bool {
        guard isFromPTPPort else { return !usesPTPPorts }
        guard !usesPTPPorts else { return true }
        usesPTPPorts = true
        guard !isPlaying else { return true }
        (announcements, announced, syncs, syncSource, refusals) = (0, nil, 0, nil, nil)
        master = nil
        if isFollowedForSyncOnly { (isFollowed, isFollowedForSyncOnly) = (false, false) }
        return true
    }

    /// Counts a timestamp that contradicts the estimate.
    mutating func recordRefusal(at now: HostInstant) {
        let isFresh = refusals.map { now - $0.last < Self.refusalMemory } ?? false
        refusals = (isFresh ? refusals!.count &+ 1 : 1, now)
    }

    /// Counts a delay request. The first one after playback by our time may be forged: a series of them that ends would
    /// be a stalled clock, in this session and as experience in later ones.
    mutating func recordDelayRequest(at now: HostInstant) {
        if readiness.probes == 0, hasPlayedByOurTime {
            hasLateProbes = true
        } else {
            readiness.recordDelayRequest(at: now)
        }
    }

    /// Counts a Sync of a clock at this address.
    mutating func recordSync(of clock: ClockIdentity) {
        syncs = syncSource == clock ? syncs &+ 1 : 1
        syncSource = clock
    }

    /// Follows the receiver from now on, because it rejected the served time. Returns false if this was already tried.
    mutating func yield(at now: HostInstant) -> Bool {
        hasRefusedOurTime = true
        guard !isFollowed, !declinedToServe else { return false }
        isFollowed = true
        roleSince = now
        return true
    }

    /// Follows a receiver that sends Sync and no delay requests. Serves one again that was followed and sends no time.
    /// Never during playback.
    ///
    /// Sync messages can be forged. Before the first start they are the only evidence. An accepted start on the served
    /// time came over an authenticated connection; afterwards only a rejection over it changes the role (`yield`).
    mutating func reconsiderRole(at now: HostInstant) {
        guard !isPlaying else { return }
        if !isFollowed {
            guard syncs >= Self.insistence, readiness.probes == 0, !hasPlayedByOurTime else { return }
            isFollowed = true
            isFollowedForSyncOnly = true
            roleSince = now
        } else if master == nil, now - roleSince >= Self.masterTimeout {
            isFollowed = false
            // Syncs without a usable timestamp do not count as declined.
            declinedToServe = !isFollowedForSyncOnly
            isFollowedForSyncOnly = false
            syncs = 0
            roleSince = now
        }
    }

    /// Returns the correction for the next Follow_Up: the target, or during playback one limited step towards it. Zero
    /// for a receiver that sends delay requests, because it measures the path itself.
    mutating func nextCorrection() -> Duration {
        guard readiness.probes == 0, !hasLateProbes, !readiness.isKnownToProbe else {
            correctionInForce = .zero
            return .zero
        }
        let step = pathCorrection - correctionInForce
        correctionInForce += isPlaying ? max(.zero - Self.largestStep, min(Self.largestStep, step)) : step
        return correctionInForce
    }
}
