public import MediaCore

/// What is known about one speaker that our time is sent to.
public struct PTPPeer: Hashable, Sendable {
    public let address: IPv4Address
    public var readiness: PeerReadiness
    /// Announce messages of its own. A few are a habit of some speakers and never a reason to give way.
    public internal(set) var announcements = 0
    /// What it announced last.
    public internal(set) var announced: GrandmasterQuality?
    /// Sync messages of its own: it does behave as a grandmaster.
    public internal(set) var syncs = 0
    /// Added by the speaker to every time we send it: half the round trip, for speakers that do not measure it.
    public internal(set) var pathCorrection: Duration = .zero

    init(address: IPv4Address, readiness: PeerReadiness) {
        self.address = address
        self.readiness = readiness
    }
}

/// The clock that moments given to a speaker are read on, and how it relates to this computer's.
public struct PTPTimeline: Sendable {
    /// Named in every anchor and sync packet.
    public let grandmaster: ClockIdentity
    public let mapping: ClockMapping<HostInstant, PTPInstant>

    public init(grandmaster: ClockIdentity, mapping: ClockMapping<HostInstant, PTPInstant>) {
        self.grandmaster = grandmaster
        self.mapping = mapping
    }
}
