package import MediaCore
internal import SyncRendering

/// Winding: to a place, by a distance, by a picture.
extension PlaybackEngine {
    package func seek(to time: MediaTime, exact: Bool) {
        guard canSeek else { return }
        var target = max(.zero, time)
        if let duration = state.duration { target = min(target, duration) }
        if windsAcrossBreak(to: target) { return }
        begin(at: target, exact: exact)
        news(.seeking(target))
    }

    /// Goes by a distance from the place that is meant: where the film is, or where a jump under way leads.
    func seek(by distance: MediaTime, exact: Bool) {
        guard canSeek, let current else { return }
        let end = [current.cutEnd ?? current.end, state.duration].compactMap { $0 }.min()
        let target = max(.zero, meantMoment + distance)
        if aside != nil || list.breakBetween(filmMoment, and: target, of: current.item.id) != nil {
            return seek(to: target, exact: true)
        }
        if distance > .zero, let end, target >= end { return passEnd(end) }
        // Where all tracks have one reader, they are to ask for one place.
        let findsSync = !exact && !current.film.summary.sharesReader && !(current.videoTrack?.isCoverArt ?? true)
        if !findsSync {
            begin(at: target, aim: .exact)
        } else if distance > .zero {
            // What lies behind the end is never seen.
            let room = end.map { $0 - target - Self.instant } ?? distance
            begin(at: target, aim: .syncAfter(within: min(distance, room)))
        } else {
            begin(at: target, aim: .syncBefore(within: .zero - distance))
        }
        news(.seeking(target))
    }

    /// From the place that is meant: where the film is, or where a jump under way leads.
    func seek(byChapters count: Int) {
        guard count != 0, let current, canSeek else { return }
        let chapters = state.chapters
        guard !chapters.isEmpty else { return news(.message("This film has no chapters.")) }
        let moment = meantMoment
        var index = chapters.index(at: moment) ?? -1
        // mpv's threshold (`--chapter-seek-threshold`, five seconds): whoever goes back in the middle of a chapter wants to see it again.
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

    /// Shorter than any picture lasts.
    private static let instant = MediaTime(value: 1, timescale: 1000)

    var canSeek: Bool {
        guard let film = current?.film, state.phase != .failed else { return false }
        // An interstitial is left, or stays; the film behind it was wound before.
        if aside != nil { return true }
        if !film.summary.isSeekable { news(.message("This film cannot be wound.")) }
        return film.summary.isSeekable
    }

    /// Whoever winds past the end wants what follows.
    private func passEnd(_ end: MediaTime) {
        let list = list
        let somethingFollows = list.entries.first.flatMap { list.successor(of: $0) } != nil
        guard wantsPlay || somethingFollows else {
            // Nobody who looks at a picture wants it taken away.
            return seek(to: max(.zero, end - MediaTime(value: 1, timescale: 10)), exact: true)
        }
        abandonHold()
        jump = nil
        progress.arm(false)
        reachEnd()
    }

    // MARK: Steps

    func stepForward() { step(by: 1) }
    func stepBackward() { step(by: -1) }

    /// Steps that are asked for faster than pictures come are made up for.
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
            // Any moment inside the picture before.
            let target = max(.zero, shown - state.lineOffset - Self.instant)
            return aside == nil ? seek(to: target, exact: true) : begin(at: target, exact: true)
        }
        guard let next = layer.nextTime else {
            if layer.isDrained { stepsLeft = 0 }
            return
        }
        // The one before is to be seen first.
        guard !layer.awaitsFirst, next > synchronizer.currentTime() else { return }
        stepsLeft -= 1
        synchronizer.setRate(0, time: next)
    }
}
