public import MediaCore

/// A command from an output to the player: a button on a speaker, or its remote control.
public enum OutputCommand: Hashable, Sendable {
    case play
    case pause
    /// Pauses during playback, otherwise plays.
    case togglePause
    case stop
    /// The next item.
    case next
    /// The previous item, or the beginning of the current one.
    case previous
    /// Seeks by a distance in media time; negative is backwards.
    case seek(by: MediaTime)
    /// The output's volume was set at the output itself, 0…100 (`VolumeCurve`).
    case setVolume(Double)
    /// Changes the volume of all outputs by steps; negative is quieter.
    case changeVolume(by: Double)
    case toggleMute
}
