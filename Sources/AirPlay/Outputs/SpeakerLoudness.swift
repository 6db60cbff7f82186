internal import AirPlayWire
internal import MediaCore

/// The volume set by the speaker's owner, as reported before it was changed here. Any thread.
final class SpeakerLoudness: Sendable {
    /// The volume after unmuting a speaker that never reported its own: audible, not loud.
    static let modest: Double = -20

    /// `hasAsked`: whether the first session has started.
    private let state = Lock<(owner: Double?, hasAsked: Bool)>((nil, false))

    /// In dB; −144 is mute. Nil if not reported.
    var owner: Double? { state.withLock { $0.owner } }

    /// A session has begun, with which a speaker says how loud it is.
    var hasAsked: Bool { state.withLock { $0.hasAsked } }

    /// Records the volume of the first session only: later the speaker reports what was set here.
    func note(_ info: ReceiverInfo) {
        state.withLock { state in
            if !state.hasAsked, let volume = info.initialVolume, volume.isFinite {
                state.owner = max(-144, min(0, volume))
            }
            state.hasAsked = true
        }
    }
}
