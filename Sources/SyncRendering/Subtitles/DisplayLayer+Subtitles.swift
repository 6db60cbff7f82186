package import MediaCore

/// The subtitles over a layer's video frames, of one renderer or two. Those of the second one are at the top.
extension DisplayLayer {
    /// The renderer of subtitles over the video frames; nil if there is none. Any thread.
    public var subtitles: SubtitleRenderer? { state.withLock { $0.subtitles } }
    /// The renderer of the subtitles at the top; nil if there is none. Any thread.
    public var secondarySubtitles: SubtitleRenderer? { state.withLock { $0.secondarySubtitles } }

    /// Sets a renderer and redraws the current video frame. Any thread.
    func setSubtitles(_ subtitles: SubtitleRenderer, isSecondary: Bool) {
        state.withLock { state in
            if isSecondary { state.secondarySubtitles = subtitles } else { state.subtitles = subtitles }
        }
        arrival.raise()
    }

    private var renderers: (SubtitleRenderer?, SubtitleRenderer?) {
        state.withLock { ($0.subtitles, $0.secondarySubtitles) }
    }

    /// Whether the layer has a renderer of subtitles. Any thread.
    var hasSubtitles: Bool { state.withLock { $0.subtitles != nil || $0.secondarySubtitles != nil } }

    /// Returns the overlay of a video frame at a media time; the same object while its content is unchanged. For the
    /// presenting thread: does not block.
    func subtitleOverlay(at time: MediaTime) -> Overlay? {
        let (first, second) = renderers
        let (below, above) = (first?.overlay(at: time), second?.overlay(at: time))
        guard let below else { return above }
        guard let above else { return below }
        return state.withLock { state in
            if let joined = state.joinedOverlays, joined.below === below, joined.above === above { return joined.both }
            let both = Overlay(below.images + above.images)
            state.joinedOverlays = (below, above, both)
            return both
        }
    }

    /// Returns when the overlay of a static video frame changes next; nil if no change is known.
    func nextSubtitleChange(after time: MediaTime) -> MediaTime? {
        let (first, second) = renderers
        let changes = (first?.nextChange(after: time), second?.nextChange(after: time))
        guard let one = changes.0 else { return changes.1 }
        return changes.1.map { min(one, $0) } ?? one
    }

    /// Sets the canvas of both renderers.
    func setSubtitleCanvas(_ canvas: SubtitleCanvas) {
        let (first, second) = renderers
        first?.setCanvas(canvas)
        second?.setCanvas(canvas)
    }

    /// Draws the subtitles at a media time for a separate canvas, to store a video frame. Blocks while drawing,
    /// including font lookups; any thread.
    package func drawSubtitles(at time: MediaTime, on canvas: SubtitleCanvas) -> [OverlayImage] {
        let (first, second) = renderers
        return [first, second].compactMap { $0 }.flatMap { $0.redraw(at: time, on: canvas) }
    }
}

extension SubtitleRenderer {
    /// Draws with a separate instance, so that the renderer's thread continues undisturbed.
    fileprivate func redraw(at time: MediaTime, on canvas: SubtitleCanvas) -> [OverlayImage] {
        let (cues, subtitleTime) = state.withLock { state -> ([ActiveCue], MediaTime) in
            let subtitleTime = time - state.delay
            return (state.isHidden ? [] : state.store.active(at: subtitleTime), subtitleTime)
        }
        return cues.isEmpty ? [] : makeDrawing()?.draw(cues, at: subtitleTime, on: canvas) ?? []
    }
}
