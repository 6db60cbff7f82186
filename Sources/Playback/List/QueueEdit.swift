/// An edit of a player's playlist; permitted at any time, also for items that play.
///
/// As in AVFoundation's queue player, the playlist contains the current item and the upcoming ones. An item that has
/// played moves to `PlayerState.history`, unless the playlist repeats.
public enum QueueEdit: Sendable {
    /// Inserts items after another one; nil: at the end.
    case insert([QueueItem], after: QueueItem.ID?)
    /// Appends items.
    case append([QueueItem])
    /// Removes an item.
    case remove(QueueItem.ID)
    /// Moves an item after another one; nil: to the end.
    case move(QueueItem.ID, after: QueueItem.ID?)
    /// Replaces an item.
    case replace(QueueItem.ID, with: QueueItem)
    /// Replaces all items and the history. The current item plays to its end, in its place in the new playlist or, if
    /// that lacks it, once. Items with the same address and title remain the same items. The order is changed unless
    /// it is nil.
    case replaceAll([QueueItem], order: PlayerOptions.PlaylistOrder?)
    /// Removes all items.
    case removeAll
    /// Sets the repetitions of each item and of the playlist, counted from now on.
    case loop(item: PlayerOptions.Loop, list: PlayerOptions.Loop)
    /// Sets the order of the items after the current one.
    case order(PlayerOptions.PlaylistOrder)
    /// Sets when unplayable items are tried again.
    case retry(PlayerOptions.Retry)
}

extension QueueEdit {
    /// The number of items that the edit adds.
    var itemCount: Int {
        switch self {
        case .insert(let items, _), .append(let items), .replaceAll(let items, _): items.count
        default: 1
        }
    }
}

/// The audible effect of an edit.
public enum QueueEditOutcome: Sendable, Hashable {
    /// None before the edited position: obsolete audio was not delivered or was flushed completely, and the successor
    /// follows gaplessly.
    case seamless
    /// The edit came too late: obsolete audio plays for this long, and the successor follows gaplessly.
    case late(Duration)
    /// The route could not flush its audio: playback was interrupted.
    case interrupted
    /// Nothing was changed, because the item does not exist or is already in the playlist.
    case unchanged
}
