package import MediaCore

/// The clock that a receiver's anchors refer to, and its relation to the host clock.
package struct PTPTimeline: Sendable {
    /// The grandmaster in every anchor and sync packet; nil for NTP timing, which names no clock.
    package let grandmaster: ClockIdentity?
    /// The clock against the host clock.
    package let mapping: ClockMapping<HostInstant, PTPInstant>
    /// Incremented when anchors sent earlier become invalid and must be sent again. Causes: another master, a step of
    /// its time, a suspension of this computer.
    package let epoch: UInt64
    /// True if it has ever run at another rate than the host clock.
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

    /// Returns the timeline whose instants are named `duration` earlier.
    package func earlier(by duration: Duration) -> PTPTimeline {
        guard duration != .zero else { return self }
        var mapping = mapping
        mapping.targetAnchor = mapping.targetAnchor.advanced(by: .zero - duration)
        return PTPTimeline(grandmaster: grandmaster, mapping: mapping, epoch: epoch, isSteered: isSteered)
    }
}
