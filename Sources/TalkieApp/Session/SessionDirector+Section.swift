internal import MediaCore
internal import Playback

// The A-B loop (as in mpv).
extension SessionDirector {
    /// Sets the start, then the end, then clears both.
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
        // The current position is the end: the next iteration begins.
        if stage.player.state.phase == .playing { stage.player.seek(to: section.start, exact: true) }
    }

    /// Passes the section to the player, for each film: positions can be percentages.
    func applySection() { stage.player.setRepeatedSection(section) }

    /// The section in the right order; nil unless both ends are set.
    private var section: MediaTimeRange? {
        let duration = stage.player.state.duration
        guard let one = settings.sectionStart?.moment(in: duration),
            let other = settings.sectionEnd?.moment(in: duration),
            one != other
        else { return nil }
        return MediaTimeRange(start: min(one, other), end: max(one, other))
    }
}
