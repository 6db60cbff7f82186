internal import MediaCore

/// Decides what a seek command of the user does. A value, made for one command.
struct SeekDecision {
    /// Shorter than the duration of any frame.
    static let instant = MediaTime(value: 1, timescale: 1000)
    /// mpv's threshold (`--chapter-seek-threshold`): a backward seek within a chapter repeats it.
    private static let chapterThreshold = Duration.seconds(5)
    private static let refusal = "This interstitial cannot be skipped; the film continues after it."

    private let list: PlaybackList
    private let state: PlayerState
    /// The current media time, or the target of a seek in progress.
    private let mediaTime: MediaTime
    private let wantsPlay: Bool

    init(in list: PlaybackList, _ state: PlayerState, at time: MediaTime, wantsPlay: Bool) {
        (self.list, self.state, self.mediaTime, self.wantsPlay) = (list, state, time, wantsPlay)
    }

    private var entry: PlaybackList.ScheduledItem? { list.entries.first }
    /// The playing interstitial part; nil if there is none.
    private var interstitialPart: InterstitialPart? { entry?.listPosition.interstitialPart }
    /// The media time to which user commands refer: during an interstitial, that of its item.
    var commandTime: MediaTime { interstitialPart?.resumePosition ?? mediaTime }
    /// The end of the current item; nil if unknown.
    private var end: MediaTime? {
        guard let own = entry.flatMap({ $0.cutEnd ?? $0.end }) else { return state.duration }
        return state.duration.map { min(own, $0) } ?? own
    }

    // MARK: Permissions

    /// Why no seek is possible; nil if it is.
    var refusal: [PlaybackAction]? {
        guard let film = entry?.film, state.phase != .failed else { return [] }
        // A seek ends the interstitial or is refused; its item was seekable.
        if interstitialPart != nil || film.summary.isSeekable { return nil }
        return [.message("This film is not seekable.")]
    }

    /// Whether the playing interstitial must be played to its end at its own speed.
    var forbidsSkipping: Bool {
        guard let interstitialPart, let entry else { return false }
        return list.interstitials[entry.item.id]?.forbidsSkipping(interstitialPart) ?? false
    }

    // MARK: Seeks

    /// Seeks to a media time; exactly, or to the sync frame before it.
    func seek(to time: MediaTime, exact: Bool) -> [PlaybackAction] {
        if let refusal { return refusal }
        var target = max(.zero, time)
        if let duration = state.duration { target = min(target, duration) }
        return interstitial(before: target) ?? reported(target, exact ? .exact : .anySyncBefore)
    }

    /// Seeks by a distance from the current position, or from the target of a seek in progress.
    func seek(by distance: MediaTime, exact: Bool) -> [PlaybackAction] {
        if let refusal { return refusal }
        guard let entry else { return [] }
        let target = max(.zero, commandTime + distance)
        if interstitialPart != nil || mandatoryBreak(before: target) != nil {
            return seek(to: target, exact: true)
        }
        if distance > .zero, let end, target >= end { return passEnd(end) }
        // Tracks with a shared reader must seek to the same position.
        let findsSync = !exact && !entry.film.summary.sharesReader && !(entry.videoTrack?.isCoverArt ?? true)
        guard findsSync else { return reported(target, .exact) }
        guard distance > .zero else { return reported(target, .syncBefore(within: .zero - distance)) }
        // A sync frame beyond the end is never shown.
        let room = end.map { $0 - target - Self.instant } ?? distance
        return reported(target, .syncAfter(within: min(distance, room)))
    }

    /// Seeks by chapters from the current position, or from the target of a seek in progress.
    func seek(byChapters count: Int) -> [PlaybackAction] {
        guard count != 0, entry != nil else { return [] }
        if let refusal { return refusal }
        let chapters = state.chapters
        guard !chapters.isEmpty else { return [.message("This film has no chapters.")] }
        let time = commandTime
        let count = max(-chapters.count - 1, min(chapters.count + 1, count))
        var index = chapters.index(at: time) ?? -1
        let isInside = index >= 0 && (time - chapters[index].start).duration > Self.chapterThreshold
        index += count < 0 && isInside ? count + 1 : count
        if index >= chapters.count || (index >= 0 && end.map { chapters[index].start >= $0 } ?? false) {
            return skipInterstitial() ?? passEnd(end ?? time)
        }
        let target = index < 0 ? MediaTime.zero : chapters[index].start
        return interstitial(before: target) ?? reported(target, .exact)
    }

    private func reported(_ target: MediaTime, _ aim: SeekAim) -> [PlaybackAction] {
        [.seek(to: target, aim: aim), .report(.seeking(target))]
    }

    /// Ends the item after a seek beyond its end; the next one follows.
    private func passEnd(_ end: MediaTime) -> [PlaybackAction] {
        guard wantsPlay || entry.flatMap({ list.successor(of: $0) }) != nil else {
            // At the end of the list while paused, the last frame remains visible.
            return seek(to: max(.zero, end - MediaTime(value: 1, timescale: 10)), exact: true)
        }
        return [.endEntry]
    }

    // MARK: Interstitials

    /// Handles a seek during an interstitial, or across a mandatory one; returns nil in other cases.
    private func interstitial(before target: MediaTime) -> [PlaybackAction]? {
        guard let entry else { return nil }
        if let interstitialPart {
            guard target <= interstitialPart.resumePosition || !forbidsSkipping else { return [.message(Self.refusal)] }
            return [.open(entry.listPosition.plain, at: target)]
        }
        guard let number = mandatoryBreak(before: target),
            let listPosition = list.firstPart(of: number, at: entry.listPosition.plain, goal: target)
        else { return nil }
        return [
            .message("An interstitial is played first; the film continues at \(target.clock)."), .open(listPosition),
        ]
    }

    /// Returns the last mandatory break before a target, which is shown first; nil if there is none.
    private func mandatoryBreak(before target: MediaTime) -> Int? {
        entry.flatMap {
            list.interstitials[$0.item.id]?.mandatoryBreak(
                between: mediaTime, and: target, in: $0.listPosition.listPass)
        }
    }

    /// Skips the playing interstitial; returns nil if there is none.
    func skipInterstitial() -> [PlaybackAction]? {
        guard let entry, let interstitialPart else { return nil }
        guard !forbidsSkipping else { return [.message(Self.refusal)] }
        var next = list.following(entry.listPosition, lasting: entry.interstitialLength)
        while let listPosition = next, listPosition.interstitialPart?.number == interstitialPart.number {
            next = list.following(listPosition, lasting: .zero)
        }
        return [.openOrFinish(next)]
    }
}
