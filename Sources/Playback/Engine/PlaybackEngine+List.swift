internal import MediaCore
internal import SyncRendering

/// What people do to the list, and how what is laid out follows.
extension PlaybackEngine {
    /// - Parameter done: told once, when list and sound agree again.
    func apply(_ edit: QueueEdit, done: (@Sendable (QueueEditOutcome) -> Void)? = nil) {
        guard shared.update({ $0.apply(edit) }) else {
            done?(.unchanged)
            return
        }
        if let done { settling.append(done) }
        listHasChanged()
    }

    /// These follow the item that plays.
    func setNext(_ items: [QueueItem]) {
        shared.update { $0.setFollowing(items) }
        listHasChanged()
    }

    /// For this film and the next ones.
    func setLoop(_ loop: PlayerOptions.Loop) { apply(.loop(item: loop, list: list.loopList)) }

    private func listHasChanged() {
        let list = list
        state.items = list.items
        if let opening = ahead.item, list.awaited?.opened != opening.item, !list.contains(opening.item.id) {
            forgetAhead()
        }
        choosePassThrough()
        if isAway, !list.mayComeBack {
            isAway = false
            return enter(.ended)
        }
        guard state.phase == .ended, wantsPlay else { return reconcile() }
        // Something was added behind an end that had been reached.
        let next = list.entries.first.map { list.successor(of: $0) } ?? list.firstTurn()
        if let next { begin(with: next) }
        reconcile()
    }

    /// Goes to an item, and to a position in it.
    ///
    /// - Parameter instant: when that position is to be perceived; nil as soon as it can be.
    func jump(to id: QueueItem.ID, at position: MediaTime, perceivedAt instant: HostInstant? = nil) {
        guard let turn = list.firstTurn(id) else { return }
        if let entry = current, entry.item.id == id, !entry.isCut, entry.film.summary.isSeekable {
            return instant == nil
                ? seek(to: position, exact: true)
                : begin(at: max(entry.start, position), aim: .exact, perceivedAt: instant)
        }
        // Whoever wants just this one does not wait.
        ahead.failures = [:]
        begin(with: turn, at: max(.zero, position), perceivedAt: instant)
    }

    /// Goes to the item behind the one that plays, also where that is to be played again.
    func skip() {
        if skipsBreak() { return }
        guard let turn = current.map({ $0.basis ?? $0.turn }) ?? list.awaited else { return }
        if let next = list.successor(of: turn, leavesLoop: true) { return begin(with: next) }
        shared.update { _ = $0.apply(.remove(turn.item.id)) }
        finish()
        state.items = list.items
    }

    // MARK: Following the list

    /// Brings what is laid out to what the list says.
    func reconcile() {
        guard cut == nil else { return }
        let list = list
        if let awaited = list.awaited, !list.contains(awaited.item.id) {
            // The item that was to begin is not wanted.
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

    func settleEdits(_ result: QueueEditOutcome) {
        outcome = .seamless
        guard !settling.isEmpty else { return }
        let all = settling
        settling.removeAll()
        for done in all { done(result) }
    }
}
