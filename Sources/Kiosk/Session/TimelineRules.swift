/// What a kiosk may do with the positions of its films. A value.
struct TimelineRules: Sendable, Equatable {
    /// Whether positions can be chosen: by commands and repairs, for an item that is played alone, and to end before a
    /// broken item.
    let allowsSeeking: Bool
    /// Whether playback can be delayed: for a start, or until lost or slow media is available.
    let allowsWaiting: Bool
    /// Whether playback continues at the position of a clock after an item has ended, failed or was skipped, and after
    /// quiet hours. Otherwise the playlist says what follows.
    let restartsByClock: Bool

    /// Of a kiosk without a wall.
    static let own = TimelineRules(allowsSeeking: true, allowsWaiting: true, restartsByClock: false)
    /// Of a kiosk in sync with others.
    static let wall = TimelineRules(allowsSeeking: false, allowsWaiting: false, restartsByClock: true)
}
