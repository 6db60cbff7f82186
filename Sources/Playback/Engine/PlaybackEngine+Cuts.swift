internal import MediaCore
internal import SyncRendering

/// The removal of scheduled entries in three steps: the audio pipeline stops, the renderer flushes from a time on, and
/// the video follows.
struct ListCut {
    enum Step { case stoppingSound, flushing, stoppingPictures }

    let number: Int
    /// The first obsolete entry.
    let unwanted: PlaybackList.Entry
    /// The last entry that plays, and its end on the timeline.
    let kept: Int
    var time: MediaTime
    /// Whether the obsolete entry already plays and is cut early.
    var isLate: Bool { kept == unwanted.serial && !shortens }
    /// Whether the entry remains but has to end before its tracks do, so that what was read beyond is obsolete.
    var shortens = false
    var attempts = 0
    /// Whether audio of the obsolete entry was enqueued.
    let hasSound: Bool
    var step = Step.stoppingSound
}

extension PlaybackEngine {
    /// A video frame is prepared this long before its time and cannot be withdrawn then.
    private static let leastLead: Duration = .milliseconds(60)
    /// A margin beyond the renderer's lead, so that a second attempt still finds the position ahead of the playhead.
    private static let lateMargin: Duration = .milliseconds(60)
    private static let mostAttempts = 5
    /// A route that requires longer to flush is interrupted instead.
    private static let longestLateness: Duration = .seconds(2)

    /// Removes the entries from an index on.
    func takeBack(_ index: Int) {
        let entries = list.entries
        let unwanted = entries[index]
        guard index > 0 else {
            if jump != nil { return replaceCurrent() }
            return cutLate(unwanted, lead: renderer?.partialFlushLead ?? .zero)
        }
        let kept = entries[index - 1]
        let hasLeft = shared.hasEntered(unwanted.serial, .sound) || shared.hasEntered(unwanted.serial, .picture)
        guard hasLeft, let joint = kept.joint else {
            // None of its media was delivered.
            shared.update { $0.truncate(after: kept.serial) }
            rereadSounds(thatEntered: unwanted.serial)
            rereadSubtitles(thatEntered: unwanted.serial)
            ahead.pictures = nil
            return reconcile()
        }
        if state.phase == .playing, (joint - synchronizer.currentTime()).duration < Self.leastLead {
            if isStillWanted(unwanted) { return beginHere() }
            return cutLate(unwanted, lead: renderer?.partialFlushLead ?? .zero)
        }
        start(unwanted, keeping: kept.serial, until: joint)
    }

    /// Ends an item that was truncated during playback at the end of its data; the next entry follows at once.
    func endWhatBrokeOff() {
        guard cut == nil, jump == nil else { return }
        // The end of the audio is required as well.
        guard let entry = list.entries.first(where: { $0.brokenOff != nil && $0.soundEnd != .unknown }),
            let end = shared.update({ $0.settleBrokenOff(entry.serial) })
        else { return }
        report(
            MediaFailure(
                error: TalkieError(
                    .failed, "“\(entry.title)” breaks off at \(end.clock), before its end; copy or download it again"),
                position: end), of: entry)
        let list = list
        guard let index = list.entries.firstIndex(where: { $0.serial == entry.serial }) else { return }
        if let last = list.entries[index].filmEnd, last > end, endTorn(list.entries[index], at: end, last) { return }
        if list.entries.count > index + 1, list.entries[index + 1].offset != nil { takeBack(index + 1) }
    }

    /// Drops audio of a truncated file that was read ahead of its video.
    ///
    /// - Returns: Whether the entry ends before its own end.
    private func endTorn(_ entry: PlaybackList.Entry, at end: MediaTime, _ last: MediaTime) -> Bool {
        guard let offset = entry.offset else { return false }
        var time = end + offset
        if state.phase == .playing {
            let lead = max(Self.leastLead, (renderer?.partialFlushLead ?? .zero) + Self.lateMargin)
            time = max(time, synchronizer.currentTime().advanced(by: lead * speed))
        }
        guard time < last + offset else { return false }
        shared.update { list in list.change(entry.serial) { $0.tornEnd = time - offset } }
        start(entry, keeping: entry.serial, until: time, shortens: true)
        return true
    }

    /// Returns true if a part of an item is obsolete but the item is not.
    private func isStillWanted(_ entry: PlaybackList.Entry) -> Bool { entry.isPart && list.contains(entry.item.id) }

    /// Restarts playback at the current position with the current list.
    func beginHere() {
        (cut, outcome) = (nil, .interrupted)
        begin(at: min(filmMoment, state.duration ?? filmMoment), exact: true)
    }

    /// Ends the current entry with a section, dropping what was read beyond.
    ///
    /// - Returns: False without a change if the section's end is too close.
    func endCurrent(withSectionAt end: MediaTime) -> Bool {
        guard cut == nil, let entry = current, let offset = entry.offset, !entry.isCut else { return false }
        let lead = state.phase == .playing ? Self.leastLead * speed : .zero
        guard (end + offset - synchronizer.currentTime()).duration > lead else { return false }
        shared.update { list in list.change(entry.serial) { $0.sectionEnd = end } }
        start(entry, keeping: entry.serial, until: end + offset, shortens: true)
        return true
    }

    /// Replaces the current entry, which is obsolete and cannot continue.
    private func replaceCurrent() {
        let list = list
        if let next = list.entries.first.flatMap({ list.successor(of: $0) }) { return begin(with: next) }
        finish()
    }

    /// Ends an entry as early as the route permits, because its start has passed.
    ///
    /// - Parameter before: The preceding attempt that came too late for the route.
    private func cutLate(_ unwanted: PlaybackList.Entry, lead: Duration, after before: ListCut? = nil) {
        let entries = list.entries
        guard let index = entries.firstIndex(where: { $0.serial == unwanted.serial }), let begin = unwanted.begin else {
            return reconcile()
        }
        let attempts = before.map { $0.attempts + 1 } ?? 0
        let now = synchronizer.currentTime()
        var time = now
        if state.phase == .playing { time = time.advanced(by: (lead + Self.lateMargin * (attempts + 1)) * speed) }
        if time <= begin, index > 0 {
            return start(unwanted, keeping: entries[index - 1].serial, until: begin, after: before)
        }
        if let joint = unwanted.joint, time >= joint {
            if let before { return interrupt(before) }
            // The entry ended before it could be cut: only its successor is replaced.
            shared.update { $0.tolerate(unwanted.serial) }
            outcome = .late((joint - max(begin, now)).duration)
            return reconcile()
        }
        start(unwanted, keeping: unwanted.serial, until: max(time, begin), after: before)
    }

    private func start(
        _ unwanted: PlaybackList.Entry, keeping kept: Int, until time: MediaTime, after before: ListCut? = nil,
        shortens: Bool = false
    ) {
        cuts += 1
        let cut = ListCut(
            number: cuts, unwanted: unwanted, kept: kept, time: time, shortens: shortens,
            attempts: before.map { $0.attempts + 1 } ?? 0,
            hasSound: before?.hasSound ?? (audio != nil && shared.hasEntered(unwanted.serial, .sound)))
        self.cut = cut
        shared.setBarrier(behind: kept)
        if cut.hasSound { audio?.cut(after: kept, number: cut.number) } else { stopPictures() }
    }

    /// Continues the cut: once the audio pipeline has stopped the renderer is flushed, then the video.
    func continueCut() {
        guard var cut else { return }
        switch cut.step {
        case .stoppingSound:
            guard let renderer, let audio, audio.status.cutNumber == cut.number else { return }
            let until = renderer.progress.enqueuedUntil
            if cut.isLate, let until, until < cut.time, shared.entry(cut.kept)?.soundEnd == .unknown {
                // Its audio is not complete yet: the entry ends with the renderer's audio.
                cut.time = max(until, cut.unwanted.begin ?? until)
                self.cut = cut
            }
            guard let until, until > cut.time else { return stopPictures() }
            self.cut?.step = .flushing
            let number = cut.number
            renderer.requestFlush(fromSourceTime: cut.time) { [mailbox] result in
                mailbox.post { $0.hear(result, ofCut: number) }
            }
        case .flushing: break
        case .stoppingPictures: if video?.status.cutNumber == cut.number { finishCut() }
        }
    }

    private func hear(_ result: PartialFlushResult, ofCut number: Int) {
        guard let cut, cut.number == number else { return }
        switch result {
        case .flushed: stopPictures()
        case .refused where cut.shortens:
            // Audio beyond the end was delivered irrevocably. A section repeats with a seek, and the successor is
            // started separately.
            ahead.closed = cut.kept
            stopPictures()
        case .refused(let lead?)
        where !isStillWanted(cut.unwanted) && cut.attempts < Self.mostAttempts && lead < Self.longestLateness:
            self.cut = nil
            cutLate(cut.unwanted, lead: lead, after: cut)
        case .refused, .overtaken: interrupt(cut)
        }
    }

    /// The route cannot flush: playback restarts at the current position or with the replacing item.
    private func interrupt(_ cut: ListCut) {
        if current?.serial == cut.unwanted.serial, !cut.shortens, !isStillWanted(cut.unwanted) {
            (self.cut, outcome) = (nil, .interrupted)
            return replaceCurrent()
        }
        beginHere()
    }

    /// Removes the obsolete entries from the list, and their video.
    private func stopPictures() {
        guard var cut else { return }
        let (kept, time) = (cut.kept, cut.time)
        if cut.isLate {
            let heard = time - max(cut.unwanted.begin ?? time, synchronizer.currentTime())
            outcome = .late(max(.zero, heard.duration))
            shared.update { $0.cut(kept, at: time) }
        } else {
            shared.update { $0.truncate(after: kept) }
        }
        ahead.pictures = nil
        guard let video, shared.hasEntered(cut.unwanted.serial, .picture) else { return finishCut() }
        cut.step = .stoppingPictures
        self.cut = cut
        video.cut(after: kept, number: cut.number)
    }

    private func finishCut() {
        if let cut {
            // Tracks need not read again what remains scheduled.
            let first = cut.shortens ? cut.unwanted.serial + 1 : cut.unwanted.serial
            rereadSounds(thatEntered: first, handedBeyond: cut.shortens ? cut.time : nil)
            rereadSubtitles(thatEntered: first)
        }
        cut = nil
        shared.setBarrier(behind: nil)
        // The list may have changed meanwhile.
        reconcile()
    }
}
