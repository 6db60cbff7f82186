internal import MediaCore

/// A queue that is to loop for ever does not end because its items have vanished.
extension QueueCore {
    /// Nothing that loops can be played: it is tried again after a while.
    func waitForItems() {
        isStarting = false
        isWaitingForItems = true
        again = .later(again, from: parts.clock.now)
        enter(.buffering)
    }

    func tryVanishedItems() {
        guard isWaitingForItems, let again, parts.clock.now >= again.notBefore else { return }
        isWaitingForItems = false
        timeline.forgive()
        let item = timeline.loopItem == .forever ? timeline.entries.first?.item.id : nil
        guard timeline.mayComeBack, begin(with: item, at: 0) || begin(with: nil, at: 0) else { return enter(.ended) }
    }
}
