package import MediaCore

/// The time of the next attempt after a failure. Pauses grow but stay short, so that restored media is detected within
/// a second.
package struct RetryDelay: Sendable {
    package let notBefore: HostInstant
    let pause: Duration

    private static let shortest = Duration.milliseconds(100)
    private static let longest = Duration.milliseconds(700)

    package static func later(_ last: RetryDelay?, from now: HostInstant) -> RetryDelay {
        let pause = last.map { min(longest, $0.pause * 2) } ?? shortest
        return RetryDelay(notBefore: now.advanced(by: pause), pause: pause)
    }
}

/// Owns the pauses before failed items are opened again, and the wait for lost media of a list that repeats forever.
/// Confined to the player's thread.
final class MediaRecovery {
    /// Failures to open items since an item has begun, by address, with the time of the next attempt.
    private var failures: [String: RetryDelay] = [:]
    /// Whether playback has started since the list was replaced.
    private(set) var hasBegun = false
    /// The next attempt to open lost media; nil once an item plays.
    private var retry: RetryDelay?
    /// The lost position, or the first one of the next pass.
    private var absent: PlaylistPosition?
    /// Whether a pass of the list is awaited.
    private(set) var isBetweenPasses = false
    /// Whether that attempt is pending.
    private(set) var isWaiting = false
    private let clock: any HostClock
    private let status: PlayerStatus

    init(clock: any HostClock, status: PlayerStatus) { (self.clock, self.status) = (clock, status) }

    // MARK: Failed items

    /// Opens an item after a growing pause only.
    func pauseOpening(of address: String) {
        failures[address] = .later(failures[address], from: clock.now)
    }

    /// Returns when an item may be opened; nil: now.
    func openingTime(of address: String) -> HostInstant? {
        failures[address].flatMap { clock.now < $0.notBefore ? $0.notBefore : nil }
    }

    /// Opens failed items without a pause again.
    func forgetFailures() { failures = [:] }

    // MARK: Lost media

    /// Whether media was lost and nothing has played since.
    var isActive: Bool { retry != nil }
    /// When the pending attempt is due; nil if there is none.
    var nextAttempt: HostInstant? { isWaiting ? retry?.notBefore : nil }

    /// Schedules the next attempt and reports the first one.
    ///
    /// - Parameter listPosition: The lost position; nil: as before.
    func wait(for listPosition: PlaylistPosition?, title: String) {
        if retry == nil {
            status.report(
                .lost(
                    TalkieError(
                        .cannotOpen, "“\(title)” can no longer be read; it continues as soon as it is available again"))
            )
        }
        retry = .later(retry, from: clock.now)
        (isWaiting, isBetweenPasses) = (true, false)
        absent = listPosition ?? absent
    }

    /// Schedules the next pass of a list of which no item was playable, and reports the first wait.
    func wait(forPass listPosition: PlaylistPosition, _ pause: Duration) {
        if retry == nil {
            status.report(
                .lost(
                    TalkieError(
                        .cannotOpen,
                        "No film in the list can be played at present; playback continues as soon as one is available again."
                    )))
        }
        retry = RetryDelay(notBefore: clock.now.advanced(by: pause), pause: pause)
        (isWaiting, isBetweenPasses, absent) = (true, true, listPosition)
    }

    /// Ends the wait if the attempt is due; returns whether it is.
    func consumeDue() -> Bool {
        guard let nextAttempt, clock.now >= nextAttempt else { return false }
        isWaiting = false
        // The pause has passed.
        failures = [:]
        return true
    }

    /// Returns the position to open again; nil if the list has none.
    func position(in list: PlaybackList) -> PlaylistPosition? {
        let again = absent.flatMap { listPosition in
            isBetweenPasses || list.loopItem == .forever ? list.firstPosition(listPosition.item.id) : nil
        }
        return again ?? list.firstPosition()
    }

    /// Cancels the pending attempt; later pauses continue to grow.
    func cancel() { isWaiting = false }

    /// Resets all pauses, because an item plays.
    func resetPauses() { (retry, failures) = (nil, [:]) }

    /// Records that playback has started.
    func recordStart() { hasBegun = true }

    /// Resets all, because the list is replaced.
    func restart() { (retry, failures, hasBegun) = (nil, [:], false) }
}
