package import MediaCore
internal import SyncRendering

/// Seeks: to a position, by a distance, by frames.
extension PlaybackEngine {
    /// Seeks to a media time; exactly, or to the sync frame before it.
    package func seek(to time: MediaTime, exact: Bool) {
        guard canSeek else { return }
        var target = max(.zero, time)
        if let duration = state.duration { target = min(target, duration) }
        if windsAcrossBreak(to: target) { return }
        begin(at: target, exact: exact)
        news(.seeking(target))
    }

    /// Seeks by a distance from the current position, or from the target of a seek in progress.
    func seek(by distance: MediaTime, exact: Bool) {
        guard canSeek, let current else { return }
        let end = [current.cutEnd ?? current.end, state.duration].compactMap { $0 }.min()
        let target = max(.zero, meantMoment + distance)
        if aside != nil || list.breakBetween(filmMoment, and: target, of: current.item.id) != nil {
            return seek(to: target, exact: true)
        }
        if distance > .zero, let end, target >= end { return passEnd(end) }
        // Tracks with a shared reader must seek to the same position.
        let findsSync = !exact && !current.film.summary.sharesReader && !(current.videoTrack?.isCoverArt ?? true)
        if !findsSync {
            begin(at: target, aim: .exact)
        } else if distance > .zero {
            // A sync frame beyond the end is never shown.
            let room = end.map { $0 - target - Self.instant } ?? distance
            begin(at: target, aim: .syncAfter(within: min(distance, room)))
        } else {
            begin(at: target, aim: .syncBefore(within: .zero - distance))
        }
        news(.seeking(target))
    }

    /// Seeks by chapters from the current position, or from the target of a seek in progress.
    func seek(byChapters count: Int) {
        guard count != 0, let current, canSeek else { return }
        let chapters = state.chapters
        guard !chapters.isEmpty else { return news(.message("This film has no chapters.")) }
        let moment = meantMoment
        var index = chapters.index(at: moment) ?? -1
        // mpv's threshold (`--chapter-seek-threshold`, five seconds): a backward seek within a chapter repeats it.
        let isInside = index >= 0 && (moment - chapters[index].start).duration > .seconds(5)
        index += count < 0 && isInside ? count + 1 : count
        let end = [current.cutEnd ?? current.end, state.duration].compactMap { $0 }.min()
        if index >= chapters.count || (index >= 0 && end.map { chapters[index].start >= $0 } ?? false) {
            if skipsBreak() { return }
            return passEnd(end ?? moment)
        }
        let target = index < 0 ? MediaTime.zero : chapters[index].start
        if windsAcrossBreak(to: target) { return }
        begin(at: target, exact: true)
        news(.seeking(target))
    }

    /// Shorter than the duration of any frame.
    private static let instant = MediaTime(value: 1, timescale: 1000)

    /// Whether the current item is seekable; reports if it is not.
    var canSeek: Bool {
        guard let film = current?.film, state.phase != .failed else { return false }
        // A seek ends the interstitial or is refused; its item was seekable.
        if aside != nil { return true }
        if !film.summary.isSeekable { news(.message("This film is not seekable.")) }
        return film.summary.isSeekable
    }

    /// Ends the item after a seek beyond its end; the next one follows.
    private func passEnd(_ end: MediaTime) {
        let list = list
        let somethingFollows = list.entries.first.flatMap { list.successor(of: $0) } != nil
        guard wantsPlay || somethingFollows else {
            // At the end of the list while paused, the last frame remains visible.
            return seek(to: max(.zero, end - MediaTime(value: 1, timescale: 10)), exact: true)
        }
        abandonHold()
        jump = nil
        progress.arm(false)
        reachEnd()
    }

    // MARK: Frame steps

    func stepForward() { step(by: 1) }
    func stepBackward() { step(by: -1) }

    /// Steps requested faster than frames arrive are accumulated.
    private func step(by count: Int) {
        pause()
        guard current?.videoTrack != nil else { return }
        stepsLeft += count
        continueSteps()
    }

    func continueSteps() {
        guard stepsLeft != 0, jump == nil else { return }
        guard state.phase == .paused else { return stepsLeft = 0 }
        if stepsLeft < 0 {
            guard let shown = layer.shownTime else { return }
            stepsLeft += 1
            // Any time within the preceding frame.
            let target = max(.zero, shown - state.lineOffset - Self.instant)
            return aside == nil ? seek(to: target, exact: true) : begin(at: target, exact: true)
        }
        guard let next = layer.nextTime else {
            if layer.isDrained { stepsLeft = 0 }
            return
        }
        // The preceding frame must be shown first.
        guard !layer.awaitsFirst, next > synchronizer.currentTime() else { return }
        stepsLeft -= 1
        synchronizer.setRate(0, time: next)
    }
}
