internal import MediaCore

// Reading of the renderer's store by the members; docs/decisions/0013-one-feeder-for-one-output.md
// gives the reasons.
extension OutputGroup {
    /// The number of steps between reports of `acceptedUntil`, for which a start may be waiting.
    private static let stepsPerIteration = 16

    /// Sets the store to read.
    func attach(to store: SoundStore) { state.withLock { $0.store = store } }

    /// Flushes all members, which continue at a position of the store.
    ///
    /// - Parameter moment: Earlier audio only primes the codecs; nil: all audio is delivered.
    func restart(at cursor: SoundCursor, resumingFrom moment: MediaTime?) {
        feeding.withLock { _ in
            let feeds = change { state in
                state.flushes &+= 1
                state.isFlushPending = false
            }
            for feed in feeds { feed.restart(at: cursor, resumingFrom: moment) }
        }
        changes.noteMove()
    }

    /// The result of `run`.
    struct RunResult {
        /// Whether audio has advanced, so that dependent work is due.
        var hasMoved = false
        /// The position of the member that has read least; nil if none reads.
        var slowest: SoundCursor?
        /// When the next call is due without a signal; nil: not scheduled.
        var due: HostInstant?
    }

    /// Runs the feeder of an only member. Several members run on separate threads, which are woken when there is more
    /// audio. Members for which the system provided no thread run here as well. Called on the renderer's thread.
    func run() -> RunResult {
        var result = RunResult()
        let (feeds, hasNews) = state.withLock { state in
            let count = state.store?.level.changeCount ?? 0
            defer { state.changeCount = count }
            return (state.members.feeds, count != state.changeCount)
        }
        for feed in feeds {
            guard feed.isShared else {
                if hasNews { feed.wake.raise() }
                continue
            }
            let (hasMoved, due) = feed.runIteration(
                isOnlyOutput: feeds.count == 1, atMost: Self.stepsPerIteration)
            result.hasMoved = result.hasMoved || hasMoved
            result.due = HostInstant.first(result.due, due)
        }
        for feed in feeds where feed.role == .playing && feed.isOpen {
            result.slowest = SoundStore.slower(result.slowest, feed.state.withLock { $0.cursor })
        }
        return result
    }

    /// Assigns threads to the members' feeders after members have joined or left.
    func seatFeeders() {
        let writable = seating.withLock { _ -> Signal? in
            let (members, writable) = state.withLock { ($0.members, $0.context?.writable) }
            guard let writable else { return nil }
            if let only = members.onlyFeed {
                only.share(with: writable)
            } else {
                for feed in members.feeds { feed.standAlone(orWith: writable) }
            }
            return writable
        }
        writable?.raise()
    }
}
