internal import AirPlayWire
internal import MediaCore

/// The volume that a speaker's owner left, as the speaker told it before anybody here changed it.
final class SpeakerLoudness: Sendable {
    /// What a speaker is set to that was muted here and never said how loud it was: heard, and no shout.
    static let modest: Double = -20

    private let state = Lock<(owner: Double?, hasAsked: Bool)>((nil, false))

    /// In dB; −144 is mute. Nil when the speaker has not said.
    var owner: Double? { state.withLock { $0.owner } }

    /// A session has begun, with which a speaker says how loud it is.
    var hasAsked: Bool { state.withLock { $0.hasAsked } }

    /// Takes what a speaker says when a session begins. Only the first time: later it says what we made of it.
    func note(_ info: ReceiverInfo) {
        state.withLock { state in
            if !state.hasAsked, let volume = info.initialVolume, volume.isFinite {
                state.owner = max(-144, min(0, volume))
            }
            state.hasAsked = true
        }
    }
}
