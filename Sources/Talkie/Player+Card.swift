@_exported public import LocalOutput
@_exported public import MediaCodecs
@_exported public import MediaCore
@_exported public import MediaFiles
@_exported public import Playback
package import Profiles
@_exported public import Routing
@_exported public import SyncRendering

extension Player {
    /// A player with everything real: films through libavformat, sound to the system's sound card.
    ///
    ///     let player = Player()
    ///     player.open("film.mkv")
    ///     for await state in player.states { print(state.phase, state.position) }
    ///
    /// Give `layer` to a screen to see the picture. Without one the sound plays alone, pictures are dropped when their time has passed,
    /// and a film ends as with one. Nothing is opened before the first film.
    ///
    /// What `talkie calibrate` has measured for the card and the screen is applied, also when either changes: `PlayerWindow` tells the
    /// player its screen, a window of the application's own calls `setScreen`. `PlayerOptions.appliesCalibrations` switches that off.
    ///
    /// - Parameters:
    ///   - options: what every film is told.
    ///   - news: called on the player's thread; must return at once. `states` says the same as values.
    public convenience init(
        options: PlayerOptions = PlayerOptions(), news: @escaping @Sendable (PlayerNews) -> Void = { _ in }
    ) { self.init(output: SoundCard(channels: options.audioChannels), options: options, news: news) }

    /// The same for speakers that are found by name. Each is moved by what was calibrated for it.
    public convenience init(
        destination: SoundDestination, options: PlayerOptions = PlayerOptions(),
        news: @escaping @Sendable (PlayerNews) -> Void = { _ in }
    ) { self.init(destination.output, registry: destination.registry, options: options, news: news) }

    /// The same for an output that the application has made: sound cards, alone or in an `OutputGroup`, are moved by what was
    /// calibrated; of others it is not known which speaker they are.
    public convenience init(
        output: any AudioOutput, options: PlayerOptions = PlayerOptions(),
        news: @escaping @Sendable (PlayerNews) -> Void = { _ in }
    ) { self.init(output, registry: nil, options: options, news: news) }

    /// The same for several outputs, which play together.
    ///
    /// - Parameters:
    ///   - outputs: sound cards, speakers; empty plays without sound.
    ///   - registry: the one that has made them; each is moved by what was calibrated for it then. Nil knows sound cards only.
    public convenience init(
        outputs: [any AudioOutput], registry: OutputRegistry? = nil, options: PlayerOptions = PlayerOptions(),
        news: @escaping @Sendable (PlayerNews) -> Void = { _ in }
    ) { self.init(outputs: outputs, registry: registry, profiles: ProfileStore(), options: options, news: news) }

    /// - Parameter profiles: what calibrations found out.
    package convenience init(
        outputs: [any AudioOutput], registry: OutputRegistry?, profiles: ProfileStore, options: PlayerOptions,
        news: @escaping @Sendable (PlayerNews) -> Void
    ) {
        guard outputs.isEmpty else {
            let output =
                outputs.count == 1 ? outputs[0] : OutputGroup(members: outputs, codecs: FilmAudioCodecs())
            self.init(output, registry: registry, profiles: profiles, options: options, news: news)
            return
        }
        var parts = Player.Parts.film(audioOutput: nil, options: options)
        parts.subtitles?.makeDrawing = { SubtitlePainter() }
        self.init(parts: parts, options: options, events: EventLog(clock: MonotonicClock()), news: news)
    }

    /// - Parameters:
    ///   - registry: knows the outputs that its providers have made.
    ///   - profiles: what calibrations found out.
    ///   - willOpen: called with the address of each film before it is opened, on the thread that opens it.
    package convenience init(
        _ output: any AudioOutput, registry: OutputRegistry?, profiles: ProfileStore = ProfileStore(),
        options: PlayerOptions, willOpen: (@Sendable (String) -> Void)? = nil,
        news: @escaping @Sendable (PlayerNews) -> Void
    ) {
        let group = output as? OutputGroup ?? OutputGroup(members: [output], codecs: FilmAudioCodecs())
        let known = KnownOutputs(registry)
        let calibration = RouteCalibration(
            group, identify: { known.identity(of: $0) }, profiles: { profiles.all().profiles })
        known.calibration.withLock { $0.value = calibration }
        registry?.onIdentityChange { [weak calibration] in calibration?.apply() }
        var parts = Player.Parts.film(audioOutput: group, options: options)
        parts.subtitles?.makeDrawing = { SubtitlePainter() }
        parts.calibration = calibration
        if let willOpen {
            let open = parts.open
            parts.open = { (address, cancellation) throws(MediaError) in
                willOpen(address)
                return try open(address, cancellation)
            }
        }
        self.init(parts: parts, options: options, events: EventLog(clock: MonotonicClock()), news: news)
    }
}
