internal import LocalOutput
internal import SyncRendering

/// Chooses where the sound goes.
enum SoundRoute {
    /// This computer's card, by the name that was asked for or the system's default; nil without sound. It begins to
    /// open in the background at once, so that it is ready when the film is.
    static func local(_ options: PlayerOptions) -> (any AudioOutput)? {
        guard options.playsAudio else { return nil }
        let card = SoundCard(device: options.audioDevice ?? "default")
        card.open()
        return card
    }
}
