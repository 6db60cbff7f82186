internal import MediaCore
internal import SyncRendering

/// What was laid out is taken back: first the sound's pipeline stands still, then the renderer lets go of what it has from a moment
/// on, then the pictures follow.
struct ListCut {
    enum Step { case stoppingSound, flushing, stoppingPictures }

    let number: Int
    /// The first entry that is not wanted.
    let unwanted: PlaybackList.Entry
    /// The last entry that is perceived, and where it ends on the timeline.
    let kept: Int
    var time: MediaTime
    /// What is not wanted is perceived all the same, and ends early.
    var isLate: Bool { kept == unwanted.serial && !shortens }
    /// The entry is wanted, and to end earlier than its tracks do: what was read of it beyond that is not.
    var shortens = false
    var attempts = 0
    /// Sound of what is not wanted has been handed to the renderer.
    let hasSound: Bool
    var step = Step.stoppingSound
}

extension PlaybackEngine {
    /// A picture is made ready for the screen so long before its time, and is not taken back from there.
    private static let leastLead: Duration = .milliseconds(60)
    /// More than the renderer asks for, so that a second attempt finds the place still ahead.
    private static let lateMargin: Duration = .milliseconds(60)
    private static let mostAttempts = 5
    /// A route that needs longer than this to let go of sound is interrupted instead.
    private static let longestLateness: Duration = .seconds(2)

    /// Takes back the entries from one on.
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
            // Nothing of it has left this house.
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

    /// A film that was cut short while it plays is over where its data are: what was laid out behind the end that it had comes at once.
    func endWhatBrokeOff() {
        guard cut == nil, jump == nil else { return }
        // Sound that is still being read says how long it goes on.
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

    /// Sound that was read ahead of a cut file is not heard where there are no pictures to it.
    ///
    /// - Returns: whether it is to end before its own end.
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

    /// A part of a film is not to be played now, but the film is.
    private func isStillWanted(_ entry: PlaybackList.Entry) -> Bool { entry.isPart && list.contains(entry.item.id) }

    /// The film goes on from where it is, and with what the list says by now.
    func beginHere() {
        (cut, outcome) = (nil, .interrupted)
        begin(at: min(filmMoment, state.duration ?? filmMoment), exact: true)
    }

    /// Has the entry that is perceived end with a section, whatever was read beyond that.
    ///
    /// - Returns: false where that is too near; nothing has changed then.
    func endCurrent(withSectionAt end: MediaTime) -> Bool {
        guard cut == nil, let entry = current, let offset = entry.offset, !entry.isCut else { return false }
        let lead = state.phase == .playing ? Self.leastLead * speed : .zero
        guard (end + offset - synchronizer.currentTime()).duration > lead else { return false }
        shared.update { list in list.change(entry.serial) { $0.sectionEnd = end } }
        start(entry, keeping: entry.serial, until: end + offset, shortens: true)
        return true
    }

    /// The item that is perceived, or was to begin, is not wanted and cannot go on.
    private func replaceCurrent() {
        let list = list
        if let next = list.entries.first.flatMap({ list.successor(of: $0) }) { return begin(with: next) }
        finish()
    }

    /// Too late for the joint: the entry ends as soon as the route can.
    ///
    /// - Parameter before: the attempt that came too late for the route.
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
            // It is over before anything could be done: what follows is another matter.
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

    /// The sound's pipeline stands still: then the renderer lets go of what lies behind; and so on.
    func continueCut() {
        guard var cut else { return }
        switch cut.step {
        case .stoppingSound:
            guard let renderer, let audio, audio.status.cutNumber == cut.number else { return }
            let until = renderer.progress.enqueuedUntil
            if cut.isLate, let until, until < cut.time, shared.entry(cut.kept)?.soundEnd == .unknown {
                // So far it has not been handed over: it ends where the renderer's sound does.
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
            // What lies beyond that end is handed over for good: a section goes back there with a jump, and what follows begins by itself.
            ahead.closed = cut.kept
            stopPictures()
        case .refused(let lead?)
        where !isStillWanted(cut.unwanted) && cut.attempts < Self.mostAttempts && lead < Self.longestLateness:
            self.cut = nil
            cutLate(cut.unwanted, lead: lead, after: cut)
        case .refused, .overtaken: interrupt(cut)
        }
    }

    /// The route cannot take anything back: everything begins anew where the film is, or with the item that takes its place.
    private func interrupt(_ cut: ListCut) {
        if current?.serial == cut.unwanted.serial, !cut.shortens, !isStillWanted(cut.unwanted) {
            (self.cut, outcome) = (nil, .interrupted)
            return replaceCurrent()
        }
        beginHere()
    }

    /// The list loses what was taken back, and the pictures with it.
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
            // Of what is wanted to its end nobody reads anything anew.
            let first = cut.shortens ? cut.unwanted.serial + 1 : cut.unwanted.serial
            rereadSounds(thatEntered: first, handedBeyond: cut.shortens ? cut.time : nil)
            rereadSubtitles(thatEntered: first)
        }
        cut = nil
        shared.setBarrier(behind: nil)
        // More may have changed meanwhile.
        reconcile()
    }
}
