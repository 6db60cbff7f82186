internal import MediaCore

/// The state of a kiosk that outlasts it: its position, the number of starts, and whether the last run ended normally.
/// Used on the kiosk's thread only.
final class ResumeState {
    /// The interval at which the position is written: the maximum loss after a kill. At most 5760 small writes a day.
    static let interval = Duration.seconds(15)

    private let store: KioskResumePositions
    private let messages: KioskMessages
    private var kept = KioskResumePositions.Kept()
    /// The position of the last run; nil once it was taken.
    private var lastPosition: KioskResumePositions.Position?
    private var lastWrite: HostInstant?
    /// Whether the last run was interrupted while it played, and its position is known. False before `restore`.
    private(set) var continues = false
    /// The message about a failure to write; nil once writing has succeeded again.
    private var failure: String?

    init(_ store: KioskResumePositions, messages: KioskMessages) { (self.store, self.messages) = (store, messages) }

    /// The number of earlier starts.
    var restarts: Int { max(0, kept.starts - 1) }

    /// Restores the state of the last run, and counts this start. Blocks on the disk.
    func restore() {
        let (last, note) = store.read()
        if let note { messages.say(.warning, note) }
        if !last.hasEndedWell, last.starts > 0 {
            messages.say(
                .warning, "the kiosk was interrupted; it resumes at its last position", KioskNote(.start))
        }
        (kept, lastPosition) = (last, last.position)
        continues = !last.hasEndedWell && !last.isWaiting && last.starts > 0 && last.position != nil
        kept.starts += 1
        (kept.hasEndedWell, kept.isWaiting) = (false, false)
        store.scheduleWrite(kept)
    }

    /// Returns the position of the last run, once. It stays stored until `write` replaces it: playback may begin much
    /// later.
    func consumePosition() -> KioskResumePositions.Position? { lastPosition.take() }

    /// Passes the state to the thread that writes it.
    ///
    /// - Parameter position: The current position; nil: unchanged.
    func write(_ position: KioskResumePositions.Position?, at now: HostInstant) {
        lastWrite = now
        if let position { (kept.position, kept.isWaiting) = (position, false) }
        store.scheduleWrite(kept)
    }

    /// Records that the kiosk waits for its time of start.
    func recordWaiting() {
        kept.isWaiting = true
        store.scheduleWrite(kept)
    }

    /// Returns true if the position is to be written.
    func isDue(at now: HostInstant) -> Bool { lastWrite.map { now - $0 >= Self.interval } ?? true }

    /// Records how the kiosk ends. After the end of the playlist, the next run starts from its beginning.
    func recordEnd(_ end: KioskEnd?) {
        switch end {
        case .asked: (kept.hasEndedWell, kept.isWaiting) = (true, false)
        case .done: (kept.hasEndedWell, kept.isWaiting, kept.position) = (true, false, nil)
        case .needsRestart, .broken, nil: break
        }
    }

    /// Logs that writing has failed, or that it succeeds again.
    func recordWriting(failure: String?) {
        if let failure {
            self.failure = failure
            messages.say(.warning, failure, KioskNote(.fault))
            return
        }
        // A repeated failure is logged again.
        if let last = self.failure.take() { messages.forget(last) }
        messages.say(.info, "the kiosk's position can be stored again", KioskNote(.repair))
    }
}
