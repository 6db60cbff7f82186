internal import Glibc
internal import MediaCore
package import SyncRendering

/// The volume of a speaker: that of its owner, the requested one, and whether the speaker refuses it.
package struct SpeakerVolume: Sendable {
    /// The volume after unmuting a speaker that never reported its own: audible, not loud.
    private static let modest: Double = -20
    private static let mute: Double = -144

    /// The owner's volume in dB, as reported before it was changed here; nil if not reported.
    private var owner: Double?
    /// Whether the first session has started, with which a speaker reports its volume.
    package private(set) var isOwnKnown = false
    /// The requested volume in dB; nil: the owner's setting is unchanged.
    package private(set) var requested: Double?
    /// Whether a task that sends the requested volume waits for its turn.
    private var isQueued = false
    /// The refusal of the last requested volume.
    package private(set) var refusal: OutputError?

    package init() {}

    /// The owner's volume, 0…100; that of `modest` for a speaker that does not report its own. Nil before the first
    /// session.
    package var own: Double? { isOwnKnown ? VolumeCurve.volume(decibels: owner ?? Self.modest) : nil }

    /// Records the volume that a speaker reports. Only the first session counts: later the speaker reports what was set
    /// here.
    ///
    /// - Parameter decibels: −144 is mute; nil: not reported.
    package mutating func recordReport(_ decibels: Double?) {
        if !isOwnKnown, let decibels, decibels.isFinite { owner = max(Self.mute, min(0, decibels)) }
        isOwnKnown = true
    }

    /// Requests a gain, limited to −30…0 dB or mute.
    package mutating func request(gain: Float) {
        requested = gain > 0 ? max(-30, min(0, 20 * log10(Double(gain)))) : Self.mute
    }

    /// Requests the owner's volume, if it was changed here.
    package mutating func restore() { if requested != nil { requested = owner ?? Self.modest } }

    /// Returns whether a task must be queued that sends the requested volume. There is at most one: a volume control
    /// that is dragged requests values faster than a speaker answers, and only the last one matters.
    package mutating func queue() -> Bool {
        guard requested != nil, !isQueued else { return false }
        isQueued = true
        return true
    }

    /// Returns the volume to send in dB; nil if none was requested. A later request queues another task.
    package mutating func consumeRequest() -> Double? {
        isQueued = false
        return requested
    }

    /// Records the result of a request.
    ///
    /// Only a response can refuse. After a timeout the request is still delivered unless the session is lost, and the
    /// next session sets the volume again.
    ///
    /// - Parameter speaker: The speaker's name.
    /// - Returns: Whether the speaker refused it.
    package mutating func recordResult(_ error: AirPlayError?, of decibels: Double, speaker: String) -> Bool {
        let isRefused = error.map { [.refused, .busy, .pairingRequired].contains($0.code) } ?? false
        let what = decibels <= Self.mute ? "muting" : "the volume"
        refusal = isRefused ? OutputError(.failed, "\(speaker) refused \(what); set it on the speaker itself") : nil
        return isRefused
    }

    /// Forgets the refusal when the session is closed.
    package mutating func endUse() { refusal = nil }
}

extension Lock<SpeakerVolume> {
    /// Sends the requested volume, a second time after a refusal, and records the result. Returns the volume in dB; nil
    /// if none was requested.
    ///
    /// - Parameter speaker: The speaker's name.
    package func sendRequested(
        to speaker: String, _ send: (Double) throws(AirPlayError) -> Void
    ) -> Double? {
        guard let decibels = withLock({ $0.consumeRequest() }) else { return nil }
        for _ in 0..<2 {
            var error: AirPlayError?
            do throws(AirPlayError) { try send(decibels) } catch let failure { error = failure }
            if !withLock({ $0.recordResult(error, of: decibels, speaker: speaker) }) { break }
        }
        return decibels
    }
}
