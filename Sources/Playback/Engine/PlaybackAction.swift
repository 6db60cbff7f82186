internal import MediaCore

/// What the engine does next, as decided by one of its parts.
enum PlaybackAction: Sendable {
    /// Reports an event.
    case report(PlayerNews)
    /// Seeks to a media time of the current entry.
    case seek(to: MediaTime, aim: SeekAim = .exact, perceivedAt: HostInstant? = nil)
    /// Opens an item and starts it, at a media time if there is one.
    case open(PlaybackList.Turn, at: MediaTime? = nil)
    /// Makes the next entry current and starts it.
    case advance(to: PlaybackList.Entry)
    /// Starts the current entry again, as a further pass.
    case startAgain(as: PlaybackList.Turn)
    /// Skips a position that cannot be played.
    case skip(PlaybackList.Turn, TalkieError)
    /// Ends the current entry at once; the next one follows.
    case endEntry
    /// Compares the schedule with the list.
    case reconcile
    /// Waits until lost media can be opened again.
    case waitForReturn
    /// Waits before a pass of the list that begins with a position.
    case waitForPass(PlaybackList.Turn, Duration)
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
    static func openOrFinish(_ turn: PlaybackList.Turn?) -> PlaybackAction { turn.map { .open($0) } ?? .finish }
}

extension PlaybackList {
    /// What follows the current entry if its end is reached and nothing has followed gaplessly.
    var actionsAtEnd: [PlaybackAction] {
        if entries.count > 1 { return [.advance(to: entries[1])] }
        guard let entry = entries.first, let turn = successor(of: entry) else {
            return [.stop, mayComeBack ? .waitForReturn : .end]
        }
        let pause = pause(between: entry.basis ?? entry.turn, and: turn, plays: true)
        if pause > .zero { return [.waitForPass(turn, pause)] }
        if turn.aside != nil || entry.turn.aside != nil { return [.open(turn)] }
        if let place = turn.from { return [.seek(to: place)] }
        guard turn.item == entry.item, turn.itemPass > 0 else { return [.open(turn)] }
        if entry.film.summary.isSeekable { return [.startAgain(as: turn)] }
        let next = successor(of: turn, leavesLoop: true, plays: true)
        let message = PlaybackAction.message("This film is not seekable; it is played once.")
        return next.map { [message, .open($0)] } ?? [message, .stop, .end]
    }

    /// What follows a position that could not be played.
    func actionAfterFailure(of turn: Turn) -> PlaybackAction {
        guard let next = successor(of: turn, leavesLoop: true) else { return .finish }
        let pause = pause(between: turn, and: next, plays: false)
        return pause > .zero ? .waitForPass(next, pause) : .open(next)
    }
}
