package import MediaCore
internal import SyncRendering

/// The anchor that a speaker holds, and from when it is audible.
package struct SpeakerAnchors: Sendable {
    /// The anchor of the current session; nil while paused.
    package private(set) var sent: SentAnchor?
    /// Incremented at seeks and new streams: an anchor of an older epoch is void.
    package private(set) var epoch: UInt64
    /// The sessions renewed because of a stalled clock, and when the last one was.
    private var renewals: (count: Int, last: HostInstant)?
    /// The instant of the first start that was accepted and not revoked before it came.
    private var firstAudible: HostInstant?
    /// The instant from which the current session is audible; nil before its first start.
    private var audibleFrom: HostInstant?

    private static let maxRenewals = 2
    /// Renewals further apart are not counted together: a session may last for weeks.
    private static let renewalMemory: Duration = .seconds(600)

    /// What to do about a clock that stalled and did not recover.
    package enum StallRemedy {
        /// Another session may synchronize.
        case renew
        /// The speaker plays on by its anchor.
        case wait
        /// The speaker has no anchor, and no session has helped: it would remain silent.
        case giveUp
    }

    package init(epoch: UInt64 = 0) { self.epoch = epoch }

    /// Begins another session without an anchor.
    package mutating func beginSession() {
        audibleFrom = nil
        reset()
    }

    /// Voids the anchor after all audio was discarded.
    package mutating func reset() {
        sent = nil
        void()
    }

    /// Voids the anchor: the speaker receives all remaining packets and a new anchor. Until then it keeps this one.
    package mutating func void() { epoch += 1 }

    /// Records the anchor that the speaker holds; nil when it is paused.
    package mutating func hold(_ anchor: SentAnchor?) { sent = anchor }

    /// Records a start that the speaker has accepted.
    package mutating func recordStart(at instant: HostInstant) {
        firstAudible = firstAudible ?? instant
        audibleFrom = audibleFrom ?? instant
    }

    /// Records a stop. A start that has not come yet is revoked.
    package mutating func recordStop(at now: HostInstant) {
        revokeStart(at: now)
        audibleFrom = nil
    }

    /// Revokes a future first start, after the session was lost or stopped.
    package mutating func revokeStart(at now: HostInstant) { if !hasBeenAudible(at: now) { firstAudible = nil } }

    /// Whether the speaker has been audible in any session.
    package func hasBeenAudible(at now: HostInstant) -> Bool { firstAudible.map { $0 <= now } ?? false }

    /// Whether the current session is audible; nil before its first start.
    package func isAudible(at now: HostInstant) -> Bool? { audibleFrom.map { $0 <= now } }

    /// Returns the remedy for a stalled clock, and counts a renewal.
    package mutating func remedy(forStallAt now: HostInstant, isAnchored: Bool) -> StallRemedy {
        let count = renewals.map { now - $0.last < Self.renewalMemory ? $0.count : 0 } ?? 0
        guard count < Self.maxRenewals else { return isAnchored ? .wait : .giveUp }
        renewals = (count + 1, now)
        return .renew
    }
}
