package import MediaCore

/// The words that lie over a layer's pictures: those of one renderer or of two, the second of which stand at the top.
extension DisplayLayer {
    /// The renderer whose words lie over its pictures; nil while there is none. Any thread.
    public var subtitles: SubtitleRenderer? { state.withLock { $0.subtitles } }
    /// The one whose words stand at the top; nil while there is none. Any thread.
    public var secondarySubtitles: SubtitleRenderer? { state.withLock { $0.secondarySubtitles } }

    func setSubtitles(_ subtitles: SubtitleRenderer, isSecondary: Bool) {
        state.withLock { state in
            if isSecondary { state.secondarySubtitles = subtitles } else { state.subtitles = subtitles }
        }
        arrival.raise()
    }

    private var renderers: (SubtitleRenderer?, SubtitleRenderer?) {
        state.withLock { ($0.subtitles, $0.secondarySubtitles) }
    }

    var hasWords: Bool { state.withLock { $0.subtitles != nil || $0.secondarySubtitles != nil } }

    /// What lies over a picture of this film time. For the thread that shows pictures: waits for nothing, and gives the same object
    /// for as long as it looks the same.
    func words(at time: MediaTime) -> Overlay? {
        let (first, second) = renderers
        let (below, above) = (first?.overlay(at: time), second?.overlay(at: time))
        guard let below else { return above }
        guard let above else { return below }
        return state.withLock { state in
            if let joined = state.joinedWords, joined.below === below, joined.above === above { return joined.both }
            let both = Overlay(below.images + above.images)
            state.joinedWords = (below, above, both)
            return both
        }
    }

    /// When a picture that stays looks different; nil when it does not for as long as is known.
    func nextChangeOfWords(after time: MediaTime) -> MediaTime? {
        let (first, second) = renderers
        let changes = (first?.nextChange(after: time), second?.nextChange(after: time))
        guard let one = changes.0 else { return changes.1 }
        return changes.1.map { min(one, $0) } ?? one
    }

    func setCanvasOfWords(_ canvas: SubtitleCanvas) {
        let (first, second) = renderers
        first?.setCanvas(canvas)
        second?.setCanvas(canvas)
    }

    /// Draws what lies over a picture of this film time for a canvas of its own: for a picture that is kept. Blocks while it is drawn,
    /// also by fonts that are looked for; any thread.
    package func drawWords(at time: MediaTime, on canvas: SubtitleCanvas) -> [OverlayImage] {
        let (first, second) = renderers
        return [first, second].compactMap { $0 }.flatMap { $0.drawAnew(at: time, on: canvas) }
    }
}

extension SubtitleRenderer {
    /// By a drawing of its own, so that the renderer's thread goes on with its own.
    fileprivate func drawAnew(at time: MediaTime, on canvas: SubtitleCanvas) -> [OverlayImage] {
        let (cues, moment) = state.withLock { state -> ([ActiveCue], MediaTime) in
            let moment = time - state.delay
            return (state.isHidden ? [] : state.store.active(at: moment), moment)
        }
        return cues.isEmpty ? [] : makeDrawing()?.draw(cues, at: moment, on: canvas) ?? []
    }
}
