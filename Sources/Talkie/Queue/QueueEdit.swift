/// A change of a queue, allowed at any time, also while the items it is about play.
public enum QueueEdit: Sendable {
    /// Puts items behind another; nil puts them first.
    case insert([QueueItem], after: QueueItem.ID?)
    /// Puts items last.
    case append([QueueItem])
    case remove(QueueItem.ID)
    /// Moves an item behind another; nil moves it to the front.
    case move(QueueItem.ID, after: QueueItem.ID?)
    /// Puts another item in an item's place.
    case replace(QueueItem.ID, with: QueueItem)
    case removeAll
    /// How often each item is played again at once, and how often the whole queue.
    case loop(item: PlayerOptions.Loop, queue: PlayerOptions.Loop)
}

/// How a change of a queue is heard.
public enum QueueEditOutcome: Sendable, Hashable {
    /// Not at all before its place: what is not wanted any more had not been handed over, or was taken back whole, and what
    /// follows joins without a gap.
    case seamless
    /// It came too late for that: what is not wanted any more is heard for so long, and what follows joins without a gap.
    case late(Duration)
    /// The route could not take back what it had: the sound was interrupted.
    case interrupted
    /// There is no such item, or it is in the queue already; nothing was changed.
    case unchanged
}
