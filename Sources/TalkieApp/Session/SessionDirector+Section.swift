internal import MediaCore
internal import Playback

// A part of the film that is heard and seen again and again (mpv's A-B loop).
extension SessionDirector {
    /// Marks the beginning, then the end, then neither.
    func markSection() {
        let moment = FilmPosition.fromStart(stage.player.state.position)
        switch (settings.sectionStart, settings.sectionEnd) {
        case (nil, _): settings.sectionStart = moment
        case (_, nil): settings.sectionEnd = moment
        default: (settings.sectionStart, settings.sectionEnd) = (nil, nil)
        }
        applySection()
        guard let start = settings.sectionStart else { return show("A-B loop: off") }
        let first = start.moment(in: stage.player.state.duration)?.clock ?? "?"
        guard let section else { return show("A-B loop: from \(first)") }
        show("A-B loop: \(section.start.clock) to \(section.end.clock)")
        // The end is here: the first round is over.
        if stage.player.state.phase == .playing { stage.player.seek(to: section.start, exact: true) }
    }

    /// Tells the player, also of each film anew: a place may be a share of its length.
    func applySection() { stage.player.setRepeatedSection(section) }

    /// In the right order, whichever was marked first.
    private var section: MediaTimeRange? {
        let duration = stage.player.state.duration
        guard let one = settings.sectionStart?.moment(in: duration),
            let other = settings.sectionEnd?.moment(in: duration),
            one != other
        else { return nil }
        return MediaTimeRange(start: min(one, other), end: max(one, other))
    }
}
