internal import MediaCore

/// A-B loops (mpv's term): a repeated section is scheduled as contiguous parts of one item. The first part leads to the
/// end of the section, then the section repeats. When the loop ends, the rest of the item follows.
extension PlaybackList {
    /// Shorter sections would repeat faster than readers and decoders open.
    private static let shortestSection = MediaTime(value: 200, timescale: 1000)

    /// Returns true if a section can repeat gaplessly: it ends within the media, which can be read at two positions
    /// simultaneously.
    static func joins(_ section: MediaTimeRange, in entry: ScheduledItem) -> Bool {
        guard entry.media.hasOwnReaders, let length = entry.film.summary.duration else { return false }
        return section.end - section.start >= shortestSection
            && section.end < (entry.end.map { min($0, length) } ?? length)
    }

    /// Returns what follows an entry that ends with a section; nil for other entries.
    func sectionSuccessor(behind entry: ScheduledItem) -> PlaylistPosition? {
        guard entry.cutEnd == nil, let end = entry.sectionEnd, contains(entry.item.id) else { return nil }
        var next = entry.basis ?? entry.listPosition
        if let section, section.end == end {
            (next.from, next.until) = (section.start, section.end)
        } else {
            (next.from, next.until) = (end, section.flatMap { $0.end > end ? $0.end : nil })
            next.until = next.until ?? nextBreak(of: entry.listPosition, behind: end)
        }
        return next
    }
}
