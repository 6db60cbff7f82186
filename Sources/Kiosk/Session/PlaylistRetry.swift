internal import MediaCore
internal import Playback

/// When a playlist is opened again after none of its items could be played, and how. A value.
struct PlaylistRetry: Sendable {
    /// How the playlist is opened.
    enum Attempt: Sendable {
        /// From its current item on.
        case reopen
        /// From its first item on.
        case startOver
        /// From the item after the current one on.
        case skip
    }

    /// The delay before a playlist without playable items is tried again, unless something changes earlier.
    static let delay = Duration.seconds(10)

    /// The time of the next attempt; nil without one.
    private(set) var due: HostInstant?
    private var attempt = Attempt.reopen
    /// The last pause of a playlist that has played; nil once an item plays.
    private var passDelay: RetryDelay?

    /// Schedules an attempt after `delay`.
    mutating func schedule(_ attempt: Attempt, at now: HostInstant) {
        (self.attempt, due) = (attempt, now.advanced(by: Self.delay))
    }

    /// Schedules an attempt of a playlist that has played; consecutive pauses grow.
    mutating func scheduleNextPass(at now: HostInstant) {
        let delay = RetryDelay.later(passDelay, from: now)
        (passDelay, due) = (delay, delay.notBefore)
    }

    /// Makes an attempt due at once, after a change.
    mutating func makeDue(at now: HostInstant) { due = now }

    /// Returns true if an attempt is due, once. A kiosk of a wall does not `begin` it.
    mutating func consumeDue(at now: HostInstant) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        return true
    }

    /// Cancels the next attempt.
    mutating func cancel() { due = nil }

    /// Returns how the playlist is opened now. Nothing is scheduled any more.
    mutating func begin() -> Attempt {
        defer { (due, attempt) = (nil, .reopen) }
        return attempt
    }

    /// Records that an item plays.
    mutating func resetDelay() { passDelay = nil }
}
