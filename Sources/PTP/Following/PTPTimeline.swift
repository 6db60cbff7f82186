public import MediaCore

/// The clock that moments given to a speaker are read on, and how it relates to this computer's.
public struct PTPTimeline: Sendable {
    /// Named in every anchor and sync packet; nil with NTP timing, which names no clock.
    public let grandmaster: ClockIdentity?
    public let mapping: ClockMapping<HostInstant, PTPInstant>
    /// Counts the times that moments given earlier lost their meaning: another master, one whose time has stepped, a
    /// suspension of this computer. What was given under another number must be given anew.
    public let epoch: UInt64
    /// Whether it has ever run at another rate than this computer's clock.
    public let isSteered: Bool

    public init(
        grandmaster: ClockIdentity?, mapping: ClockMapping<HostInstant, PTPInstant>, epoch: UInt64 = 0,
        isSteered: Bool = false
    ) {
        self.grandmaster = grandmaster
        self.mapping = mapping
        self.epoch = epoch
        self.isSteered = isSteered
    }
}
