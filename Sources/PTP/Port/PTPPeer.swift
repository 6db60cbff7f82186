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
    /// What the speaker shall add to every time we send it: half the round trip, for speakers that do not measure it.
    public internal(set) var pathCorrection: Duration = .zero
    /// What it is told to add at present.
    public private(set) var correctionInForce: Duration = .zero
    /// Sound follows this clock: it may not be moved in steps.
    var isPlaying = false

    /// 100 ppm of the interval between two Syncs: a tenth of a cent of pitch.
    static let largestStep: Duration = .nanoseconds(12_500)

    init(address: IPv4Address, readiness: PeerReadiness) {
        self.address = address
        self.readiness = readiness
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
