internal import MediaCore
internal import SyncRendering

/// User edits of the list, and the adaptation of the schedule.
extension PlaybackEngine {
    /// Applies an edit.
    ///
    /// - Parameter done: Called once, when the schedule and the audio agree with the list.
    func apply(_ edit: QueueEdit, done: (@Sendable (QueueEditOutcome) -> Void)? = nil) {
        guard shared.update({ $0.apply(edit) }) else {
            done?(.unchanged)
            return
        }
        if let done { settling.append(done) }
        listHasChanged()
    }

    /// Replaces the items after the current one.
    func setNext(_ items: [QueueItem]) {
        shared.update { $0.setFollowing(items) }
        listHasChanged()
    }

    /// Sets the repetitions of this item and the following ones.
    func setLoop(_ loop: PlayerOptions.Loop) { apply(.loop(item: loop, list: list.loopList)) }

    /// Inserts items after the first item from the current one on that has an address, unless they are there.
    func insert(_ items: [QueueItem], after address: String, done: () -> Void) {
        guard shared.update({ $0.insert(items, after: address) }) else { return }
        listHasChanged()
        done()
    }

    private func listHasChanged() {
        describeList()
        let list = list
        if let opening = ahead.item, list.awaited?.opened != opening.item, !list.contains(opening.item.id) {
            forgetAhead()
        }
        choosePassThrough()
        if isAway, !list.mayComeBack, !isBetweenPasses || list.items.isEmpty {
            isAway = false
            return enter(.ended)
        }
        guard state.phase == .ended, wantsPlay else { return reconcile() }
        // Items were added after the end had been reached.
        let next = list.entries.first.map { list.successor(of: $0) } ?? list.firstTurn()
        if let next { begin(with: next) }
        reconcile()
    }

    /// Seeks to a position of an item in the list.
    ///
    /// - Parameter instant: When the position is to be presented; nil: as soon as possible.
    func jump(to id: QueueItem.ID, at position: MediaTime, perceivedAt instant: HostInstant? = nil) {
        guard let turn = shared.update({ $0.recall(id) }) else { return }
        if let entry = current, entry.item.id == id, !entry.isCut, entry.film.summary.isSeekable {
            return instant == nil
                ? seek(to: position, exact: true)
                : begin(at: max(entry.start, position), aim: .exact, perceivedAt: instant)
        }
        // An explicitly requested item is not delayed after failures.
        ahead.failures = [:]
        begin(with: turn, at: max(.zero, position), perceivedAt: instant)
    }

    /// Skips to the next item, also if the current one is to be repeated.
    func skip() {
        if skipsBreak() { return }
        let entry = current
        guard let turn = entry.map({ $0.basis ?? $0.turn }) ?? list.awaited else { return }
        if let next = list.successor(of: turn, leavesLoop: true, plays: entry != nil) { return begin(with: next) }
        shared.update { _ = $0.apply(.remove(turn.item.id)) }
        finish()
        describeList()
    }

    /// Continues after an item that has failed; ends if nothing follows.
    func skipFailed() {
        guard state.phase == .failed, let turn = list.present else { return }
        guard let next = list.successor(of: turn, leavesLoop: true) else { return finish() }
        if !waitsForPass(next, after: turn) { begin(with: next) }
    }

    /// Starts the item at a distance in the order of the current pass.
    func step(by distance: Int, refuse: () -> Void = {}) {
        guard let turn = shared.update({ $0.step(by: distance) }) else { return refuse() }
        (hasBegun, returning, ahead.loopAgain, ahead.failures) = (false, nil, nil, [:])
        begin(with: turn)
    }

    // MARK: Schedule

    /// Adapts the schedule to the list.
    func reconcile() {
        guard cut == nil else { return }
        let list = list
        if let awaited = list.awaited, !list.contains(awaited.item.id) {
            // The awaited item was removed.
            if let next = list.successor(of: awaited) { begin(with: next) } else { finish() }
        }
        guard isUnderWay, !list.entries.isEmpty else { return settleEdits(outcome) }
        if let index = list.firstMismatch {
            takeBack(index)
        } else {
            layOut()
            settleEdits(outcome)
        }
    }

    /// Reports the outcome of the pending edits.
    func settleEdits(_ result: QueueEditOutcome) {
        outcome = .seamless
        guard !settling.isEmpty else { return }
        let all = settling
        settling.removeAll()
        for done in all { done(result) }
    }
}
