internal import MediaCore

/// The repeated section (A-B loop) of a player. If the media can be read at two positions simultaneously, the section
/// repeats gaplessly, as parts of the list (`PlaybackList.part`). Otherwise it repeats by an exact seek each time its
/// end is passed. A value type.
struct SectionRepeat {
    private var section: MediaTimeRange?
    /// The media time at the last check.
    private var last = MediaTime.zero

    /// Sets the section; nil or an empty one: none.
    ///
    /// - Parameter moment: The current media time.
    mutating func set(_ section: MediaTimeRange?, at moment: MediaTime) {
        (self.section, last) = (section.flatMap { $0.isEmpty ? nil : $0 }, moment)
    }

    /// Returns the section if an entry can repeat it gaplessly; nil otherwise.
    func seamless(in entry: PlaybackList.ScheduledItem?) -> MediaTimeRange? {
        guard let entry, entry.listPosition.interstitialPart == nil else { return nil }
        return section.flatMap { PlaybackList.joins($0, in: entry) ? $0 : nil }
    }

    /// Returns the section if playback has passed its end, or that of the item. A user seek beyond the end stops the
    /// repetition, as in mpv. One to the end does not: the end may be set while the seek is in progress.
    ///
    /// - Parameters:
    ///   - moment: The current media time.
    ///   - canPass: Whether the playhead moves through an entry that does not repeat the section gaplessly.
    mutating func passed(at moment: MediaTime, canPass: Bool, isAtEnd: @autoclosure () -> Bool) -> MediaTimeRange? {
        guard let section else { return nil }
        guard canPass, last <= section.end, moment >= section.end || isAtEnd() else {
            last = moment
            return nil
        }
        return section
    }

    /// Records that the section is played from its start again.
    mutating func restart() { if let section { last = section.start } }

    /// The end of the section in media time; nil if it has been passed.
    var end: MediaTime? { section.flatMap { last <= $0.end ? $0.end : nil } }
}
