internal import MediaCore

/// What the engine does next, as decided by one of its parts.
enum PlaybackAction: Sendable {
    /// Reports an event.
    case report(PlayerEvent)
    /// Seeks to a media time of the current entry.
    case seek(to: MediaTime, aim: SeekAim = .exact, perceivedAt: HostInstant? = nil)
    /// Opens an item and starts it, at a media time if there is one.
    case open(PlaylistPosition, at: MediaTime? = nil)
    /// Makes the next entry current and starts it.
    case advance(to: PlaybackList.ScheduledItem)
    /// Starts the current entry again, as a further pass.
    case startAgain(as: PlaylistPosition)
    /// Skips a position that cannot be played.
    case skip(PlaylistPosition, TalkieError)
    /// Ends the current entry at once; the next one follows.
    case endEntry
    /// Compares the schedule with the list.
    case reconcile
    /// Waits until lost media can be opened again.
    case waitForReturn
    /// Waits before a pass of the list that begins with a position.
    case waitForPass(PlaylistPosition, Duration)
    /// Stops the timeline at once.
    case stop
    /// Ends playback at the end of the list; the last frame remains visible.
    case end
    /// Closes the media and ends playback.
    case finish
    /// Closes the media and ends playback with a failure.
    case fail(TalkieError)

    /// Reports a message for the user.
    static func message(_ text: String) -> PlaybackAction { .report(.message(text)) }

    /// Opens an item, or ends playback if there is none.
    static func openOrFinish(_ listPosition: PlaylistPosition?) -> PlaybackAction {
        listPosition.map { .open($0) } ?? .finish
    }
}

extension PlaybackList {
    /// What follows the current entry if its end is reached and nothing has followed gaplessly.
    var actionsAtEnd: [PlaybackAction] {
        if entries.count > 1 { return [.advance(to: entries[1])] }
        guard let entry = entries.first, let listPosition = successor(of: entry) else {
            return [.stop, mayComeBack ? .waitForReturn : .end]
        }
        let pause = pause(between: entry.basis ?? entry.listPosition, and: listPosition, plays: true)
        if pause > .zero { return [.waitForPass(listPosition, pause)] }
        if listPosition.interstitialPart != nil || entry.listPosition.interstitialPart != nil {
            return [.open(listPosition)]
        }
        if let position = listPosition.from { return [.seek(to: position)] }
        guard listPosition.item == entry.item, listPosition.itemPass > 0 else { return [.open(listPosition)] }
        if entry.film.summary.isSeekable { return [.startAgain(as: listPosition)] }
        let next = successor(of: listPosition, leavesLoop: true, plays: true)
        let message = PlaybackAction.message("This film is not seekable; it is played once.")
        return next.map { [message, .open($0)] } ?? [message, .stop, .end]
    }

    /// What follows a position that could not be played.
    func actionAfterFailure(of listPosition: PlaylistPosition) -> PlaybackAction {
        guard let next = successor(of: listPosition, leavesLoop: true) else { return .finish }
        let pause = pause(between: listPosition, and: next, plays: false)
        return pause > .zero ? .waitForPass(next, pause) : .open(next)
    }
}
