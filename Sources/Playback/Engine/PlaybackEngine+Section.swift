internal import MediaCore
internal import SyncRendering

/// A-B loops. If the media can be read at two positions simultaneously, the section repeats gaplessly, as parts of the
/// list (`PlaybackList.part`). Otherwise it repeats by an exact seek each time its end is passed.
extension PlaybackEngine {
    /// Sets the repeated section; nil: none.
    func setRepeatedSection(_ section: MediaTimeRange?) {
        repeated = section.map { (section: $0, from: meantMoment) }
        let joining = seamlessSection
        let isNew = list.section != joining
        shared.update { $0.section = joining }
        guard isUnderWay, let entry = current else { return }
        choosePassThrough()
        // A seek in progress or a pending edit continues with the new section.
        if jump != nil || cut != nil { return isNew ? beginHere() : () }
        if let joining, filmMoment < joining.end, entry.sectionEnd.map({ joining.end < $0 }) ?? true {
            // If it is too late, the section repeats with a seek.
            _ = endCurrent(withSectionAt: joining.end)
        }
        reconcile()
    }

    /// The repeated section if the current item can repeat it gaplessly; otherwise nil.
    var seamlessSection: MediaTimeRange? {
        guard let section = repeated?.section, let entry = current, aside == nil, PlaybackList.joins(section, in: entry)
        else {
            return nil
        }
        return section
    }

    /// Seeks to the section's start when playback passes its end or that of the item. A user seek beyond the end stops
    /// the repetition, as in mpv.
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
        // The section is beyond the end of the item.
        guard state.duration.map({ section.start < $0 }) ?? true else { return }
        begin(at: section.start, exact: true)
        repeated?.from = section.start
    }

    /// The end of the repeated section on the timeline; nil if it has been passed.
    var sectionEnd: MediaTime? {
        guard let (section, before) = repeated, before < section.end else { return nil }
        return section.end + state.lineOffset
    }
}
