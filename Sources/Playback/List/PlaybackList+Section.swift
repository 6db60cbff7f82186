internal import MediaCore

/// A section that is repeated (mpv's A-B loop) is laid out as parts of one film that follow one another: from where the film is to
/// the section's end, then the section again and again; and where the section is given up, the rest of the film.
extension PlaybackList {
    /// Shorter ones follow one another faster than readers and decoders are opened.
    private static let shortestSection = MediaTime(value: 200, timescale: 1000)

    /// Whether a section can follow itself without a seam: it ends within the film, which can be read from two places at once.
    static func joins(_ section: MediaTimeRange, in entry: Entry) -> Bool {
        guard entry.media.hasOwnReaders, let length = entry.film.summary.duration else { return false }
        return section.end - section.start >= shortestSection
            && section.end < (entry.end.map { min($0, length) } ?? length)
    }

    /// What follows an entry that was made to end with a section; nil where none was.
    func part(behind entry: Entry) -> Turn? {
        guard entry.cutEnd == nil, let end = entry.sectionEnd, contains(entry.item.id) else { return nil }
        var next = entry.basis ?? entry.turn
        if let section, section.end == end {
            (next.from, next.until) = (section.start, section.end)
        } else {
            (next.from, next.until) = (end, section.flatMap { $0.end > end ? $0.end : nil })
            next.until = next.until ?? nextBreak(of: entry.item.id, behind: end)?.place
        }
        return next
    }
}
