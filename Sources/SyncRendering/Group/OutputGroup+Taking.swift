internal import MediaCore

// Reading of the renderer's store by the members; docs/decisions/0013-one-feeder-for-one-output.md
// gives the reasons.
extension OutputGroup: PullingAudioOutput {
    /// The number of steps between reports of `acceptedUntil`, for which a start may be waiting.
    private static let stepsPerIteration = 16

    func attach(to store: SoundStore) { state.withLock { $0.store = store } }

    /// Flushes all members, which continue at a position of the store.
    func flush(restartingAt cursor: SoundCursor, resumingFrom moment: MediaTime?) {
        feeding.withLock { _ in
            let feeds = change { state in
                state.flushes &+= 1
                (state.isFlushPending, state.isFlushDecided) = (false, false)
            }
            for feed in feeds { feed.restart(at: cursor, resumingFrom: moment) }
        }
        changes.noteMove()
    }

    /// Runs the feeder of an only member. Several members run on separate threads, which are woken when there is more
    /// audio. Members for which the system provided no thread run here as well.
    func pullAudio(isCut: Bool) -> PullResult {
        var result = PullResult()
        var hasEnded = false
        let (feeds, isDecided) = state.withLock { state in
            if let level = state.store?.level {
                result.hasNewAudio = level.enqueueCount != state.enqueueCount
                hasEnded = !state.hasEnded
                (state.enqueueCount, state.hasEnded) = (level.enqueueCount, level.isFinished || level.isEnding)
                hasEnded = hasEnded && state.hasEnded
            }
            let isDecided = isCut && state.isFlushDecided
            if isDecided { (state.isFlushPending, state.isFlushDecided) = (false, false) }
            return (state.members.feeds, isDecided)
        }
        if isDecided { for feed in feeds { feed.endCut() } }
        let isOnly = feeds.count == 1
        for feed in feeds {
            guard feed.feeder.isShared else {
                // At the end of the input nothing follows that would wake a member.
                if result.hasNewAudio || hasEnded { feed.renderer.wake.raise() }
                continue
            }
            let (hasMoved, due) = feed.feeder.runIteration(isOnlyMember: isOnly, atMost: Self.stepsPerIteration)
            result.hasMoved = result.hasMoved || hasMoved
            result.due = HostInstant.first(result.due, due)
        }
        for feed in feeds where feed.role == .playing && feed.isOpen {
            result.slowest = SoundStore.slower(result.slowest, feed.renderer.state.withLock { $0.cursor })
        }
        return result
    }

    /// Assigns threads to the members' feeders after members have joined or left.
    func seatFeeders() {
        let writable = seating.withLock { _ -> Signal? in
            let (members, writable) = state.withLock { ($0.members, $0.context?.writable) }
            guard let writable else { return nil }
            if let only = members.onlyFeed {
                only.feeder.share(with: writable)
            } else {
                for feed in members.feeds { feed.feeder.standAlone(orWith: writable) }
            }
            return writable
        }
        writable?.raise()
    }
}
