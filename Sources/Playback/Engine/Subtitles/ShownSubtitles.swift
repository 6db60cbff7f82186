internal import MediaCore
internal import SyncRendering

/// The primary or secondary subtitles of a player. Confined to the player's thread, except `selection`.
final class ShownSubtitles {
    /// The selection of each item's subtitles, also read by the pipeline.
    struct Selection: Sendable {
        var choice: SubtitleChoice
        var languages: [String] = []
        var userLanguages: [String] = []

        func track(of entry: PlaybackList.ScheduledItem) -> Track? {
            track(in: entry.film.summary, beside: entry.audioTrack)
        }

        func track(in summary: MediaSummary, beside sound: Track?) -> Track? {
            choice.track(in: summary, languages: languages, userLanguages: userLanguages, beside: sound)
        }
    }

    let renderer: SubtitleRenderer
    let cursor: SharedPlaybackList.TrackCursor
    let selection: SharedSelection
    /// Reads the tracks; nil while no open item has subtitles to show.
    var pipeline: TrackPipeline?
    /// The last reported failure.
    var reportedFailure: String?

    /// A selection shared by the player's thread and the pipeline's; guarded by its own lock.
    final class SharedSelection: Sendable {
        private let selection: Lock<Selection>
        init(_ selection: Selection) { self.selection = Lock(selection) }
        var value: Selection { selection.withLock { $0 } }
        func change(_ body: (inout Selection) -> Void) { selection.withLock { body(&$0) } }
    }

    init(_ parts: Player.SubtitleComponents, over layer: DisplayLayer, options: PlayerOptions) {
        cursor = .subtitle
        renderer = SubtitleRenderer(over: layer, codecs: parts.codecs, drawing: parts.makeDrawing)
        selection = SharedSelection(
            Selection(
                choice: options.subtitles, languages: options.subtitleLanguages, userLanguages: options.userLanguages))
        renderer.delay = options.subtitleDelay
        renderer.isHidden = !options.showsSubtitles
    }

    /// Creates secondary subtitles, which are selected by number only; nil if they cannot be decoded.
    init?(secondary parts: Player.SubtitleComponents, over layer: DisplayLayer, options: PlayerOptions) {
        guard let codecs = parts.secondaryCodecs else { return nil }
        cursor = .secondarySubtitle
        renderer = SubtitleRenderer(over: layer, isSecondary: true, codecs: codecs, drawing: parts.makeDrawing)
        // mpv's automatic choice is none as well.
        selection = SharedSelection(
            Selection(choice: options.secondarySubtitles == .automatic ? .none : options.secondarySubtitles))
        renderer.delay = options.subtitleDelay
        renderer.isHidden = !options.showsSecondarySubtitles
    }

    /// Sends the track to a position.
    func seek(to target: TrackTarget) { pipeline?.seek(to: target.time, aim: .exact, serial: target.serial) }
}
