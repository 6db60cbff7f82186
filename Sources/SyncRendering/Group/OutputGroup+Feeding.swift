internal import MediaCore

// What the renderer's feeder does with all members; docs/decisions/0013-one-feeder-for-one-output.md gives the reasons.
extension OutputGroup {
    /// The number of steps between reports of `acceptedUntil`, for which a start may be waiting.
    private static let stepsPerIteration = 16
    /// The polling interval of members for which the system provided no thread.
    private static let polling: Duration = .milliseconds(10)

    /// Sets the audio and the settings of a renderer, which the members read.
    func attach(to store: AudioStore, _ settings: Lock<AudioSettings>) {
        state.withLock { ($0.store, $0.settings) = (store, settings) }
    }

    /// Flushes all members, which then receive audio from a media time on; nil: all stored audio.
    func restart(from moment: MediaTime?) {
        feeding.withLock { _ in
            let feeds = change { state in
                state.flushes &+= 1
                state.partialFlush = nil
            }
            for feed in feeds { feed.restart(from: moment) }
        }
        changes.wake()
    }

    /// The result of `run`.
    struct RunResult {
        /// Whether audio has advanced, so that dependent work is due.
        var hasMoved = false
        /// The position of the member that has read least; nil if none reads.
        var slowest: AudioCursor?
        /// When the next call is due without a signal; nil: not scheduled.
        var due: HostInstant?
    }

    /// Runs the feeders of the members without threads of their own, and wakes the others when there is more audio.
    /// Called on the renderer's thread.
    func run() -> RunResult {
        var result = RunResult()
        let (feeds, hasNews, context) = state.withLock { state in
            let count = state.store?.level.changeCount ?? 0
            defer { state.changeCount = count }
            return (state.members.feeds, count != state.changeCount, state.context)
        }
        for feed in feeds {
            guard feed.isShared else {
                if hasNews { feed.wake.raise() }
                continue
            }
            let (hasMoved, due) = feed.runIteration(atMost: Self.stepsPerIteration)
            result.hasMoved = result.hasMoved || hasMoved
            result.due = HostInstant.first(result.due, due)
            if let context, feed.wake !== context.writable {
                // Its signal does not wake this thread.
                result.due = HostInstant.first(result.due, context.timebase.clock.now.advanced(by: Self.polling))
            }
        }
        for feed in feeds where feed.role == .playing && feed.isOpen {
            result.slowest = AudioStore.slower(result.slowest, feed.state.withLock { $0.cursor })
        }
        return result
    }

    // MARK: Partial flushes

    /// Starts a partial flush of all members that receive audio.
    func beginPartialFlush(from time: MediaTime) {
        let (ballot, writable) = feeding.withLock { _ in
            state.withLock { state in
                // A joining member that was not filled has no audio to flush, and is not filled before the result.
                let ballot = GroupFlush(time: time, feeds: state.members.feeds.filter(\.isFed))
                state.partialFlush = ballot
                return (ballot, state.context?.writable)
            }
        }
        let isCurrent: @Sendable () -> Bool = { [weak self] in
            self?.state.withLock { $0.partialFlush === ballot } ?? false
        }
        ballot.begin(while: isCurrent) { writable?.raise() }
    }

    /// Returns the result for the group; nil until every member has decided.
    ///
    /// Refused only if every member refuses. If only some refuse, they are flushed completely, and the result is
    /// `flushed`.
    ///
    /// - Parameter time: The media time of the flush, which a group that was closed meanwhile answers.
    func partialFlushResult(from time: MediaTime) -> PartialFlushResult? {
        guard let ballot = state.withLock({ $0.partialFlush }) else { return .flushed(from: time) }
        guard let (result, refusing) = ballot.result else { return nil }
        // The other members have flushed: those that refused restart at the playhead.
        for feed in refusing { feed.change { $0.restartAfterCut() } }
        return result
    }

    /// Permits the members to read on, after the audio was removed from the store.
    func endPartialFlush() {
        for feed in change({ $0.partialFlush = nil }) { feed.change { $0.endCut() } }
    }
}
