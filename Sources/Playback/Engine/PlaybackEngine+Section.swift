internal import MediaCore
internal import SyncRendering

/// A part of the film that is repeated. Where the film can be read from two places at once its end joins its beginning without a
/// seam, as parts of the list (`PlaybackList.part`); elsewhere it is an exact jump back, each time the end is passed.
extension PlaybackEngine {
    /// Nil repeats nothing.
    func setRepeatedSection(_ section: MediaTimeRange?) {
        repeated = section.map { (section: $0, from: meantMoment) }
        let joining = seamlessSection
        let isNew = list.section != joining
        shared.update { $0.section = joining }
        guard isUnderWay, let entry = current else { return }
        choosePassThrough()
        // A jump under way, or a list that is being changed, goes on as the section says.
        if jump != nil || cut != nil { return isNew ? beginHere() : () }
        if let joining, filmMoment < joining.end, entry.sectionEnd.map({ joining.end < $0 }) ?? true {
            // Where that is too late it goes back with a jump.
            _ = endCurrent(withSectionAt: joining.end)
        }
        reconcile()
    }

    /// What is repeated, where the film that plays can do so without a seam.
    var seamlessSection: MediaTimeRange? {
        guard let section = repeated?.section, let entry = current, aside == nil, PlaybackList.joins(section, in: entry)
        else {
            return nil
        }
        return section
    }

    /// Goes back to the section's start when play has come to its end, or the film's. Whoever winds past it is let go, as in mpv.
    func repeatSection() {
        guard let (section, before) = repeated, let entry = current, aside == nil else { return }
        guard jump == nil, state.phase == .playing, entry.sectionEnd == nil else {
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
