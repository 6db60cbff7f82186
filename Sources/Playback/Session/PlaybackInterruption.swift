/// An interruption of playback by something other than its user, as `PlayerEvent.interruption`.
///
/// The player has already responded as its `PlaybackSession` requires. Interruptions of different causes may overlap:
/// the first one pauses, and playback resumes at the end of the last one, if both permit that. A `play` by the user or
/// the caller ends all that pause.
public enum PlaybackInterruption: Sendable, Hashable {
    /// What interrupts playback.
    public enum Cause: String, Sendable, CaseIterable {
        /// Another sender plays on the speaker, or another program uses the sound card, and no other output plays.
        case takenOver = "takenOver"
        /// The computer sleeps.
        case sleep = "sleep"
        /// Other audio is to be heard, as an application states it: a call, an announcement.
        case otherAudio = "otherAudio"
    }

    /// An interruption has begun.
    case began(Cause)
    /// An interruption has ended. If playback may resume, the player resumes what the interruption has paused, once no
    /// other one pauses it and the last of these permits it, unless it was paused by the user or the caller as well.
    case ended(Cause, mayResume: Bool)
}
