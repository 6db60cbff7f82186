package import MediaCore

/// The clock that moments given to a speaker are read on, and how it relates to this computer's.
package struct PTPTimeline: Sendable {
    /// Named in every anchor and sync packet; nil with NTP timing, which names no clock.
    package let grandmaster: ClockIdentity?
    package let mapping: ClockMapping<HostInstant, PTPInstant>
    /// Counts the times that moments given earlier lost their meaning: another master, one whose time has stepped, a
    /// suspension of this computer. What was given under another number must be given anew.
    package let epoch: UInt64
    /// Whether it has ever run at another rate than this computer's clock.
    package let isSteered: Bool

    package init(
        grandmaster: ClockIdentity?, mapping: ClockMapping<HostInstant, PTPInstant>, epoch: UInt64 = 0,
        isSteered: Bool = false
    ) {
        self.grandmaster = grandmaster
        self.mapping = mapping
        self.epoch = epoch
        self.isSteered = isSteered
    }
}
