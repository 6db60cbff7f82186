@_exported public import LocalOutput
@_exported public import MediaCodecs
@_exported public import MediaCore
@_exported public import MediaFiles
@_exported public import Playback
@_exported public import Routing
@_exported public import SyncRendering

extension Player {
    /// A player with everything real: films through libavformat, sound to the system's sound card.
    ///
    ///     let player = Player()
    ///     player.open("film.mkv")
    ///     for await state in player.states { print(state.phase, state.position) }
    ///
    /// Give `layer` to a screen to see the picture; without one the sound plays alone. Nothing is opened before the first film.
    ///
    /// - Parameters:
    ///   - options: what every film is told.
    ///   - news: called on the player's thread; must return at once. `states` says the same as values.
    public convenience init(
        options: PlayerOptions = PlayerOptions(), news: @escaping @Sendable (PlayerNews) -> Void = { _ in }
    ) { self.init(outputs: [SoundCard()], options: options, news: news) }

    /// The same for one output, as `SoundDestination` gives it.
    public convenience init(
        output: any AudioOutput, options: PlayerOptions = PlayerOptions(),
        news: @escaping @Sendable (PlayerNews) -> Void = { _ in }
    ) { self.init(outputs: [output], options: options, news: news) }
}
