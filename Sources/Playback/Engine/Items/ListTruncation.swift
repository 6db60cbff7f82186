internal import MediaCore
internal import SyncRendering

/// Removes scheduled entries in three steps: the audio pipeline stops, the renderer flushes from a time on, and the
/// video follows. Owns the removal in progress. Confined to the player's thread.
final class ListTruncation {
    /// A removal in progress.
    private struct Cut {
        enum Step { case stoppingAudio, flushing, stoppingVideo }

        let number: Int
        /// The first obsolete entry.
        let unwanted: PlaybackList.ScheduledItem
        /// The last entry that plays, and its end on the timeline.
        let kept: Int
        var time: MediaTime
        /// Whether the obsolete entry already plays and is cut early.
        var isLate: Bool { kept == unwanted.serial && !shortens }
        /// Whether the entry remains but has to end before its tracks do, so that what was read beyond is obsolete.
        var shortens = false
        var attempts = 0
        /// Whether audio of the obsolete entry was enqueued.
        let hasAudio: Bool
        var step = Step.stoppingAudio
    }

    /// A video frame is prepared this long before its time and cannot be withdrawn then.
    private static let minLead: Duration = .milliseconds(60)
    /// A margin beyond the renderer's lead, so that a second attempt still finds the position ahead of the playhead.
    private static let lateMargin: Duration = .milliseconds(60)
    private static let maxAttempts = 5
    /// A route that requires longer to flush is interrupted instead.
    private static let longestLateness: Duration = .seconds(2)

    private var cut: Cut?
    /// The number of the last removal.
    private var count = 0
    private let list: SharedPlaybackList
    private let tracks: PlaybackTracks
    private let seeks: SeekController
    private let preparation: ItemPreparation
    private let edits: PendingEdits
    private let losses: LossReporter
    private let context: PlayerContext

    init(
        context: PlayerContext, tracks: PlaybackTracks, seeks: SeekController, preparation: ItemPreparation,
        edits: PendingEdits, losses: LossReporter
    ) {
        (self.context, list, self.tracks, self.seeks) = (context, context.list, tracks, seeks)
        (self.preparation, self.edits, self.losses) = (preparation, edits, losses)
    }

    private var playhead: MediaTime { context.playhead }
    private var isPlaying: Bool { context.status.state.phase == .playing }
    private var speed: Double { context.status.state.speed }
    private var flushLead: Duration { tracks.flushLead(limit: Self.longestLateness) }

    /// Whether a removal is in progress.
    var isActive: Bool { cut != nil }

    /// Forgets the removal in progress, because the list restarts.
    func abandon() { cut = nil }

    // MARK: Obsolete entries

    /// Removes the entries from an index on.
    func remove(from index: Int) -> PlaybackAction? {
        let entries = list.list.entries
        let unwanted = entries[index]
        guard index > 0 else {
            return seeks.pending == nil ? cutLate(unwanted, lead: flushLead) : replaceCurrent()
        }
        let kept = entries[index - 1]
        let hasLeft = tracks.hasAudio(of: unwanted.serial) || list.hasEntered(unwanted.serial, .video)
        guard hasLeft, let gaplessBoundary = kept.gaplessBoundary else {
            // None of its media was delivered.
            list.update { $0.truncate(after: kept.serial) }
            tracks.withdraw(
                unwanted.serial, after: kept.serial, at: kept.gaplessBoundary, target: seeks.trackTarget)
            preparation.discardFirstFrame()
            return .reconcile
        }
        if isPlaying, (gaplessBoundary - playhead).duration < Self.minLead {
            return isStillWanted(unwanted) ? restartHere() : cutLate(unwanted, lead: flushLead)
        }
        return start(unwanted, keeping: kept.serial, until: gaplessBoundary)
    }

    /// Removes a scheduled entry that became unreadable, audio and video together.
    func removeUnreadable() -> PlaybackAction? {
        guard cut == nil, let (index, error) = list.lost else { return nil }
        preparation.fail(list.list.entries[index], error)
        return remove(from: index)
    }

    /// Ends an item that was truncated during playback at the end of its data; the next entry follows at once.
    func endBrokenOffEntry() -> PlaybackAction? {
        guard cut == nil, seeks.pending == nil else { return nil }
        // The end of the audio is required as well.
        guard let entry = list.list.entries.first(where: { $0.brokenOff != nil && $0.audioEnd != .unknown }),
            let end = list.update({ $0.settleBrokenOff(entry.serial) })
        else { return nil }
        losses.report(
            MediaFailure(
                error: TalkieError(
                    .failed, "“\(entry.title)” breaks off at \(end.clock), before its end; copy or download it again"),
                position: end), of: entry)
        let entries = list.list.entries
        guard let index = entries.firstIndex(where: { $0.serial == entry.serial }) else { return nil }
        if let last = entries[index].filmEnd, last > end, let time = tornEnd(of: entries[index], at: end, last) {
            list.update { list in list.change(entry.serial) { $0.tornEnd = time.media } }
            return start(entries[index], keeping: entry.serial, until: time.line, shortens: true)
        }
        if entries.count > index + 1, entries[index + 1].offset != nil { return remove(from: index + 1) }
        return nil
    }

    /// Returns where audio of a truncated file that was read ahead of its video ends, in media time and on the
    /// timeline; nil if that is not before its own end.
    private func tornEnd(
        of entry: PlaybackList.ScheduledItem, at end: MediaTime, _ last: MediaTime
    ) -> (media: MediaTime, line: MediaTime)? {
        guard let offset = entry.offset else { return nil }
        var time = end + offset
        if isPlaying {
            let lead = max(Self.minLead, flushLead + Self.lateMargin)
            time = max(time, playhead.advanced(by: lead * speed))
        }
        return time < last + offset ? (time - offset, time) : nil
    }

    /// Ends the current entry with a section, dropping what was read beyond. Has no effect if the section's end is too
    /// close.
    func endCurrent(withSectionAt end: MediaTime) -> PlaybackAction? {
        guard cut == nil, let entry = list.current, let offset = entry.offset, !entry.isCut else { return nil }
        let lead = isPlaying ? Self.minLead * speed : .zero
        guard (end + offset - playhead).duration > lead else { return nil }
        list.update { list in list.change(entry.serial) { $0.sectionEnd = end } }
        return start(entry, keeping: entry.serial, until: end + offset, shortens: true)
    }

    /// Returns true if a part of an item is obsolete but the item is not.
    private func isStillWanted(_ entry: PlaybackList.ScheduledItem) -> Bool {
        entry.isSection && list.list.contains(entry.item.id)
    }

    /// Restarts playback at the current position with the current list.
    func restartHere() -> PlaybackAction {
        cut = nil
        edits.setOutcome(.interrupted)
        let time = seeks.mediaTime
        return .seek(to: min(time, context.status.state.duration ?? time))
    }

    /// Replaces the current entry, which is obsolete and cannot continue.
    private func replaceCurrent() -> PlaybackAction {
        let list = list.list
        return .openOrFinish(list.entries.first.flatMap { list.successor(of: $0) })
    }

    /// Ends an entry as early as the route permits, because its start has passed.
    ///
    /// - Parameter before: The preceding attempt that came too late for the route.
    private func cutLate(
        _ unwanted: PlaybackList.ScheduledItem, lead: Duration, after before: Cut? = nil
    ) -> PlaybackAction? {
        let entries = list.list.entries
        guard let index = entries.firstIndex(where: { $0.serial == unwanted.serial }), let begin = unwanted.begin else {
            return .reconcile
        }
        let attempts = before.map { $0.attempts + 1 } ?? 0
        let now = playhead
        var time = now
        if isPlaying { time = time.advanced(by: (lead + Self.lateMargin * (attempts + 1)) * speed) }
        if time <= begin, index > 0 {
            return start(unwanted, keeping: entries[index - 1].serial, until: begin, after: before)
        }
        if let gaplessBoundary = unwanted.gaplessBoundary, time >= gaplessBoundary {
            if let before { return interrupt(before) }
            // The entry ended before it could be cut: only its successor is replaced.
            list.update { $0.tolerate(unwanted.serial) }
            edits.setOutcome(.late((gaplessBoundary - max(begin, now)).duration))
            return .reconcile
        }
        return start(unwanted, keeping: unwanted.serial, until: max(time, begin), after: before)
    }

    // MARK: Steps

    private func start(
        _ unwanted: PlaybackList.ScheduledItem, keeping kept: Int, until time: MediaTime, after before: Cut? = nil,
        shortens: Bool = false
    ) -> PlaybackAction? {
        count += 1
        let cut = Cut(
            number: count, unwanted: unwanted, kept: kept, time: time, shortens: shortens,
            attempts: before.map { $0.attempts + 1 } ?? 0,
            hasAudio: before?.hasAudio ?? tracks.hasAudio(of: unwanted.serial))
        self.cut = cut
        list.setBarrier(behind: kept)
        guard cut.hasAudio else { return stopVideo() }
        tracks.audio?.cut(after: kept, number: cut.number)
        return nil
    }

    /// Continues the removal: once the audio pipeline has stopped the renderer is flushed, then the video.
    func proceed() -> PlaybackAction? {
        guard var cut else { return nil }
        switch cut.step {
        case .stoppingAudio:
            guard let renderer = tracks.renderer, let audio = tracks.audio, audio.status.cutNumber == cut.number else {
                return nil
            }
            let until = renderer.progress.enqueuedUntil
            if cut.isLate, let until, until < cut.time, list.entry(cut.kept)?.audioEnd == .unknown {
                // Its audio is not complete yet: the entry ends with the renderer's audio.
                cut.time = max(until, cut.unwanted.begin ?? until)
                self.cut = cut
            }
            guard let until, until > cut.time else { return stopVideo() }
            self.cut?.step = .flushing
            renderer.requestFlush(fromSourceTime: cut.time) { [mailbox = context.mailbox, number = cut.number] result in
                mailbox.post { $0.perform($0.truncation.proceed(with: result, forCut: number)) }
            }
            return nil
        case .flushing: return nil
        case .stoppingVideo: return tracks.video?.status.cutNumber == cut.number ? finish() : nil
        }
    }

    /// Continues the removal after the renderer has answered.
    func proceed(with result: PartialFlushResult, forCut number: Int) -> PlaybackAction? {
        guard let cut, cut.number == number else { return nil }
        switch result {
        case .flushed: return stopVideo()
        case .refused where cut.shortens:
            // Audio beyond the end was delivered irrevocably. A section repeats with a seek, and the successor is
            // started separately.
            preparation.close(behind: cut.kept)
            return stopVideo()
        case .refused(let lead?)
        where !isStillWanted(cut.unwanted) && cut.attempts < Self.maxAttempts && lead < Self.longestLateness:
            self.cut = nil
            return cutLate(cut.unwanted, lead: lead, after: cut)
        case .refused, .overtaken: return interrupt(cut)
        }
    }

    /// The route cannot flush: playback restarts at the current position or with the replacing item.
    private func interrupt(_ cut: Cut) -> PlaybackAction {
        guard list.current?.serial == cut.unwanted.serial, !cut.shortens, !isStillWanted(cut.unwanted) else {
            return restartHere()
        }
        self.cut = nil
        edits.setOutcome(.interrupted)
        return replaceCurrent()
    }

    /// Removes the obsolete entries from the list, and their video.
    private func stopVideo() -> PlaybackAction? {
        guard var cut else { return nil }
        let (kept, time) = (cut.kept, cut.time)
        if cut.isLate {
            let heard = time - max(cut.unwanted.begin ?? time, playhead)
            edits.setOutcome(.late(max(.zero, heard.duration)))
            list.update { $0.cut(kept, at: time) }
        } else {
            list.update { $0.truncate(after: kept) }
        }
        preparation.discardFirstFrame()
        guard let video = tracks.video, list.hasEntered(cut.unwanted.serial, .video) else { return finish() }
        cut.step = .stoppingVideo
        self.cut = cut
        video.cut(after: kept, number: cut.number)
        return nil
    }

    private func finish() -> PlaybackAction {
        if let cut {
            // What remains scheduled is kept.
            let first = cut.shortens ? cut.unwanted.serial + 1 : cut.unwanted.serial
            tracks.withdraw(
                first, after: cut.kept, at: cut.time, shortens: cut.shortens, target: seeks.trackTarget)
        }
        cut = nil
        list.setBarrier(behind: nil)
        // The list may have changed meanwhile.
        return .reconcile
    }
}
