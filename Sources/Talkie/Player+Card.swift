@_exported public import CardOutput
@_exported public import MediaCodecs
@_exported public import MediaCore
@_exported public import MediaFiles
@_exported public import Playback
package import Profiles
@_exported public import Routing
@_exported public import ScreenOutput
@_exported public import SyncRendering

extension Player {
    /// Creates a player for real devices: films are read by libavformat, audio plays on the system's sound card.
    ///
    ///     let player = Player()
    ///     player.open("film.mkv")
    ///     for await state in player.states { print(state.phase, state.position) }
    ///
    /// Attach `layer` to a screen to display the video. Without a screen the audio plays alone, video frames are
    /// dropped when their time has passed, and the film ends as usual. Nothing is opened before the first film.
    ///
    /// Results of `talkie calibrate` for card and screen are applied, also after either changes. `PlayerWindow` reports
    /// its screen to the player; an application's own window calls `setScreen`. `PlayerOptions.appliesCalibrations`
    /// disables that.
    ///
    /// - Parameters:
    ///   - options: The options of every film.
    ///   - onEvent: Called on the player's thread; must not block. `states` delivers the same information as values.
    public convenience init(
        options: PlayerOptions = PlayerOptions(), onEvent: @escaping @Sendable (PlayerEvent) -> Void = { _ in }
    ) { self.init(output: SoundCard(channels: options.audioChannels), options: options, onEvent: onEvent) }

    /// Creates a player for speakers found by name. The calibration of each one is applied.
    public convenience init(
        destination: OutputSelection, options: PlayerOptions = PlayerOptions(),
        onEvent: @escaping @Sendable (PlayerEvent) -> Void = { _ in }
    ) { self.init(destination.output, registry: destination.registry, options: options, onEvent: onEvent) }

    /// Creates a player for an output of the application.
    ///
    /// Calibrations are applied to sound cards, alone or in an `OutputGroup`. Other outputs cannot be identified.
    public convenience init(
        output: any AudioDestination, options: PlayerOptions = PlayerOptions(),
        onEvent: @escaping @Sendable (PlayerEvent) -> Void = { _ in }
    ) { self.init(output, registry: nil, options: options, onEvent: onEvent) }

    /// Creates a player for several outputs, which play in sync.
    ///
    /// - Parameters:
    ///   - outputs: Sound cards or speakers; empty: no audio.
    ///   - registry: The registry that created the outputs, to apply their calibrations. Nil: only sound cards are
    ///     identified.
    public convenience init(
        outputs: [any AudioOutput], registry: OutputRegistry? = nil, options: PlayerOptions = PlayerOptions(),
        onEvent: @escaping @Sendable (PlayerEvent) -> Void = { _ in }
    ) { self.init(outputs: outputs, registry: registry, profiles: ProfileStore(), options: options, onEvent: onEvent) }

    /// - Parameter profiles: what calibrations found out.
    package convenience init(
        outputs: [any AudioOutput], registry: OutputRegistry?, profiles: ProfileStore, options: PlayerOptions,
        onEvent: @escaping @Sendable (PlayerEvent) -> Void
    ) {
        guard outputs.isEmpty else {
            let group = OutputGroup(members: outputs, codecs: FilmAudioCodecs())
            self.init(group, registry: registry, profiles: profiles, options: options, onEvent: onEvent)
            return
        }
        var components = Player.Components.film(audioOutput: nil, options: options)
        components.subtitles?.makeDrawing = { SubtitlePainter() }
        self.init(components: components, options: options, events: EventLog(clock: MonotonicClock()), onEvent: onEvent)
    }

    /// Creates a player with a group of outputs.
    ///
    /// - Parameters:
    ///   - registry: Identifies the outputs of its providers.
    ///   - profiles: The results of calibrations.
    ///   - willOpen: Called with the address of each film before it is opened, on the opening thread. Returns media to
    ///     play instead; nil: the film is opened.
    package convenience init(
        _ output: any AudioDestination, registry: OutputRegistry?, profiles: ProfileStore = ProfileStore(),
        options: PlayerOptions, willOpen: (@Sendable (String) -> (any MediaSource)?)? = nil,
        onEvent: @escaping @Sendable (PlayerEvent) -> Void
    ) {
        let group = output.group(codecs: FilmAudioCodecs())
        let known = KnownOutputs(registry)
        let calibration = RouteCalibration(
            group, identify: { known.identity(of: $0) }, edition: { profiles.edition },
            profiles: { profiles.all().profiles })
        known.calibration.withLock { $0.value = calibration }
        registry?.onIdentityChange { [weak calibration] in calibration?.reapply() }
        var components = Player.Components.film(audioOutput: group, options: options)
        components.subtitles?.makeDrawing = { SubtitlePainter() }
        components.calibration = calibration
        if let willOpen {
            let (open, openListed) = (components.open, components.openListed)
            components.open = { (address, cancellation) throws(MediaError) in
                if let media = willOpen(address) { return media }
                return try open(address, cancellation)
            }
            components.openListed = { (address, cancellation) throws(MediaError) in
                if let media = willOpen(address) { return media }
                return try openListed(address, cancellation)
            }
        }
        self.init(components: components, options: options, events: EventLog(clock: MonotonicClock()), onEvent: onEvent)
    }
}
