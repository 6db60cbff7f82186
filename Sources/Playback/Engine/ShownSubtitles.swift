internal import MediaCore
internal import SyncRendering

/// The subtitles of the films that play, on the one synchronizer. Confined to the player's thread, but for the choice.
final class ShownSubtitles {
    /// What is shown of each film, as the pipeline reads it, too.
    struct Wish: Sendable {
        var choice: SubtitleChoice
        var languages: [String] = []

        func track(of entry: PlaybackList.Entry) -> Track? {
            choice.track(in: entry.film.summary, languages: languages, beside: entry.audioTrack)
        }
    }

    let renderer: SubtitleRenderer
    let walker: SharedPlaybackList.Walker
    let wish: SharedWish
    /// Reads their tracks; nil while no film is open that has any to show.
    var pipeline: TrackPipeline?
    /// A failure that people have heard of.
    var toldFailure: String?

    /// The wish, for two threads.
    final class SharedWish: Sendable {
        private let wish: Lock<Wish>
        init(_ wish: Wish) { self.wish = Lock(wish) }
        var value: Wish { wish.withLock { $0 } }
        func change(_ body: (inout Wish) -> Void) { wish.withLock { body(&$0) } }
    }

    init(_ parts: Player.SubtitleParts, over layer: DisplayLayer, options: PlayerOptions) {
        walker = .subtitle
        renderer = SubtitleRenderer(over: layer, codecs: parts.codecs, drawing: parts.makeDrawing)
        wish = SharedWish(Wish(choice: options.subtitles, languages: options.subtitleLanguages))
        renderer.delay = options.subtitleDelay
        renderer.isHidden = !options.showsSubtitles
    }

    /// Second ones, at the top, which are chosen by number alone; nil where nobody decodes such.
    init?(secondary parts: Player.SubtitleParts, over layer: DisplayLayer, options: PlayerOptions) {
        guard let codecs = parts.secondaryCodecs else { return nil }
        walker = .secondarySubtitle
        renderer = SubtitleRenderer(over: layer, isSecondary: true, codecs: codecs, drawing: parts.makeDrawing)
        // mpv's automatic choice is none, too.
        wish = SharedWish(Wish(choice: options.secondarySubtitles == .automatic ? .none : options.secondarySubtitles))
        renderer.delay = options.subtitleDelay
        renderer.isHidden = !options.showsSecondarySubtitles
    }
}
