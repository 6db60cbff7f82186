internal import MediaCore
internal import SyncRendering

extension QueueCore {
    /// More than the renderer asks for, so that a second attempt finds the place still ahead.
    private static let lateMargin: Duration = .milliseconds(60)
    private static let mostAttempts = 5

    func apply(_ edit: QueueEdit, done: (@Sendable (QueueEditOutcome) -> Void)?) {
        guard timeline.apply(edit) else {
            done?(.unchanged)
            return
        }
        if let done { waiting.append(done) }
        if state.phase == .ended, !timeline.entries.isEmpty, wantsPlay { goOnAfterEnd() }
    }

    /// Something was added behind an end that had been reached.
    private func goOnAfterEnd() {
        guard let last = timeline.entries.last, let next = timeline.successor(of: last) else { return }
        _ = begin(with: next.item.id, at: 0)
    }

    /// Brings what is laid out to what the list says.
    func reconcile() {
        guard !timeline.entries.isEmpty else { return settleEdits(.seamless) }
        guard let index = timeline.firstMismatch else {
            layOut()
            return settleEdits(outcome)
        }
        let entry = timeline.entries[index]
        guard let start = entry.start, entry.written > 0 || index == 0 else {
            // Nothing of it has left this house.
            timeline.drop(from: index)
            return reconcile()
        }
        if isStarting, index == 0 { return replaceStart() }
        if index == 0 {
            cutLate(entry.serial, attempts: 0, lead: renderer.partialFlushLead ?? .zero)
        } else {
            flush(Cut(serial: entry.serial, frame: start, isLate: false, attempts: 0))
        }
    }

    /// The item that was to begin is not wanted.
    private func replaceStart() {
        let next = timeline.entries.first.flatMap { timeline.successor(of: $0) }
        if let next, begin(with: next.item.id, at: 0) { return }
        finishEmpty()
        settleEdits(.seamless)
    }

    private func index(of serial: Int) -> Int? { timeline.entries.firstIndex { $0.serial == serial } }

    /// Too late for the joint: the entry ends as soon as the route can.
    private func cutLate(_ serial: Int, attempts: Int, lead: Duration) {
        guard let index = index(of: serial), let start = timeline.entries[index].start else { return }
        let entry = timeline.entries[index]
        var frame = playhead
        if state.phase == .playing {
            frame += MediaTime.zero.advanced(by: lead + Self.lateMargin * (attempts + 1)).rescaled(to: rate)
        }
        if frame <= start, index > 0 {
            return flush(Cut(serial: serial, frame: start, isLate: false, attempts: attempts))
        }
        if entry.isComplete, frame >= start + entry.written {
            // It is over before anything could be done: what follows is another matter.
            timeline.tolerate(index)
            outcome = .late((time(start + entry.written) - max(time(start), synchronizer.currentTime)).duration)
            return
        }
        flush(Cut(serial: serial, frame: max(frame, start), isLate: true, attempts: attempts))
    }

    private func flush(_ cut: Cut) {
        self.cut = cut
        let handed = timeline.entries.last { $0.written > 0 }?.end ?? 0
        // Handed over that far it is not yet: it ends where the renderer's sound does.
        if cut.frame >= handed { return finish(cut, at: handed) }
        renderer.flush(fromSourceTime: time(cut.frame)) { [mailbox] result in
            mailbox.post { $0.hear(result, of: cut) }
        }
    }

    private func hear(_ result: PartialFlushResult, of asked: Cut) {
        guard let cut, cut.serial == asked.serial, cut.frame == asked.frame else { return }
        self.cut = nil
        switch result {
        case .flushed: finish(cut, at: cut.frame)
        case .refused(let lead?) where cut.attempts < Self.mostAttempts:
            cutLate(cut.serial, attempts: cut.attempts + 1, lead: lead)
        case .refused:
            outcome = .interrupted
            restartAfterFailedCut(cut)
        case .overtaken: break
        }
    }

    private func finish(_ cut: Cut, at frame: Int64) {
        self.cut = nil
        // The renderer expects more again, also where nothing comes.
        hasFinished = false
        guard let index = index(of: cut.serial) else { return }
        if cut.isLate {
            let heard = time(frame) - max(time(timeline.entries[index].start ?? 0), synchronizer.currentTime)
            outcome = .late(max(.zero, heard.duration))
            timeline.cut(index, at: frame)
        } else {
            timeline.drop(from: index)
        }
        layOut()
    }

    /// The route cannot take anything back: the sound begins anew where it is, or with the item that takes its place.
    private func restartAfterFailedCut(_ cut: Cut) {
        guard timeline.entries.first?.serial == cut.serial else { return restart(at: synchronizer.currentTime) }
        let next = timeline.entries.first.flatMap { timeline.successor(of: $0) }
        if let next, begin(with: next.item.id, at: 0) { return }
        finishEmpty()
    }

    func settleEdits(_ result: QueueEditOutcome) {
        outcome = .seamless
        guard !waiting.isEmpty else { return }
        let all = waiting
        waiting.removeAll()
        for done in all { done(result) }
    }

    // MARK: Transport

    func play() {
        wantsPlay = true
        switch state.phase {
        case .idle, .ended, .failed:
            if !begin(with: nil, at: 0) { enter(.ended) }
        case .paused: runTime()
        case .buffering, .playing: break
        }
    }

    func pause() {
        wantsPlay = false
        guard state.phase == .playing else { return }
        synchronizer.setRate(0, atHostTime: parts.clock.now.advanced(by: synchronizer.stopLead))
        enter(.paused)
    }

    func jump(to id: QueueItem.ID, at position: MediaTime) {
        _ = begin(with: id, at: max(0, position.rescaled(to: rate)))
    }

    func skip() {
        guard var entry = timeline.entries.first else { return }
        // Whoever wants the next one does not want this one again.
        entry.itemPass = .max - 1
        if timeline.loopItem == .forever {
            let items = timeline.items
            let place = items.firstIndex { $0.id == entry.item.id }.map { $0 + 1 } ?? 0
            if !items.isEmpty { _ = begin(with: items[place % items.count].id, at: 0) }
            return
        }
        if let next = timeline.successor(of: entry), begin(with: next.item.id, at: 0) { return }
        finishEmpty()
    }
}
