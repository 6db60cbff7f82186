/// A change of a player's list, allowed at any time, also while the items it is about play.
///
/// As in AVFoundation's queue player, the list holds the item that plays and those to come; an item that has been played is no
/// longer in it, unless the list is to be played again.
public enum QueueEdit: Sendable {
    /// Puts items behind another; nil puts them last.
    case insert([QueueItem], after: QueueItem.ID?)
    /// Puts items last.
    case append([QueueItem])
    case remove(QueueItem.ID)
    /// Moves an item behind another; nil moves it to the end.
    case move(QueueItem.ID, after: QueueItem.ID?)
    /// Puts another item in an item's place.
    case replace(QueueItem.ID, with: QueueItem)
    case removeAll
    /// How often each item is played again at once, and how often the whole list; counted from now.
    case loop(item: PlayerOptions.Loop, list: PlayerOptions.Loop)
}

/// How a change of the list is heard.
public enum QueueEditOutcome: Sendable, Hashable {
    /// Not at all before its place: what is not wanted any more had not been handed over, or was taken back whole, and what
    /// follows joins without a gap.
    case seamless
    /// It came too late for that: what is not wanted any more is heard for so long, and what follows joins without a gap.
    case late(Duration)
    /// The route could not take back what it had: the sound was interrupted.
    case interrupted
    /// There is no such item, or it is in the list already; nothing was changed.
    case unchanged
}
