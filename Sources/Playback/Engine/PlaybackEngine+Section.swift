internal import MediaCore
internal import SyncRendering

/// A part of the film that is repeated: an exact jump back, each time its end is passed.
extension PlaybackEngine {
    /// Nil repeats nothing.
    func setRepeatedSection(_ section: MediaTimeRange?) {
        repeated = section.map { (section: $0, from: filmMoment) }
    }

    /// Goes back to the section's start when play has come to its end, or the film's. Whoever winds past it is let go, as in mpv.
    func repeatSection() {
        guard let (section, before) = repeated, current != nil else { return }
        guard jump == nil, state.phase == .playing else {
            repeated?.from = filmMoment
            return
        }
        let now = filmMoment
        guard before < section.end, now >= section.end || hasReachedEnd else {
            repeated?.from = now
            return
        }
        guard canSeek else { return repeated = nil }
        // A section behind the film's end has no start to go to.
        guard state.duration.map({ section.start < $0 }) ?? true else { return }
        begin(at: section.start, exact: true)
        repeated?.from = section.start
    }

    /// Where a section ends on the line that is repeated and has not been passed.
    var sectionEnd: MediaTime? {
        guard let (section, before) = repeated, before < section.end else { return nil }
        return section.end + state.lineOffset
    }
}
