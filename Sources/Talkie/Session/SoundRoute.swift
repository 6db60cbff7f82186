internal import SyncRendering

/// Chooses where the sound goes.
enum SoundRoute {
    /// This computer's card, by the name that was asked for or the system's default; nil without sound.
    static func local(_ options: PlayerOptions) -> (any AudioOutput)? { nil }
}
