internal import MediaCore

// Distribution of audio from the renderer's queue to the members; docs/decisions/0013-one-feeder-for-one-output.md
// gives the reasons.
extension OutputGroup: PullingAudioOutput {
    /// The number of steps between reports of `acceptedUntil`, for which a start may be waiting.
    private static let stepsPerIteration = 16

    /// Runs the feeder of an only member, which pulls from the renderer's queue. Several members run on separate
    /// threads and receive all queued audio. Members for which the system provided no thread run here as well.
    func pullAudio(from queue: RendererQueue?) -> PullResult {
        let feeds = state.withLock { state in
            state.source = queue
            return state.members.feeds
        }
        var result = PullResult()
        let isOnly = feeds.count == 1
        if !isOnly { feeding.withLock { _ in distribute() } }
        for feed in feeds where feed.feeder.isShared {
            let (hasMoved, due) = feed.feeder.runIteration(
                takingFrom: isOnly ? MemberSupply(group: self, feed: feed) : nil, atMost: Self.stepsPerIteration)
            result.hasMoved = result.hasMoved || hasMoved
            result.due = HostInstant.first(result.due, due)
        }
        result.hasTaken = state.withLock { state in
            defer { state.hasTaken = false }
            return state.hasTaken
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

    // MARK: Distribution, with `feeding` held

    /// Delivers all audio in the renderer's queue to all members, unless an only member pulls it.
    func distribute() {
        while current.onlyFeed == nil, let buffer = removeNext(skipsLate: false) { deliver(buffer) }
    }

    /// Removes the next buffer from the renderer's queue and adds it to the history.
    fileprivate func removeNext(skipsLate: Bool) -> SampleBuffer? {
        guard hasRoom else { return nil }
        let (source, playhead) = state.withLock { state in
            let timebase = skipsLate ? state.context?.timebase : nil
            // While the timebase is stopped no audio becomes late.
            return (state.source, timebase.flatMap { $0.rate > 0 ? $0.currentTime : nil })
        }
        guard let buffer = source?.next(skippingTo: playhead?.advanced(by: .zero - Self.lateness)) else { return nil }
        addToHistory(buffer)
        return buffer
    }

    /// Whether the group is open and its history has space.
    var hasRoom: Bool {
        state.withLock { state in
            guard let context = state.context else { return false }
            let playhead = context.timebase.currentTime
            state.history.trim(before: playhead.advanced(by: .zero - Self.lateness))
            return state.history.hasRoom(at: playhead)
        }
    }

    /// Adds a buffer to the history.
    func addToHistory(_ buffer: SampleBuffer) {
        state.withLock { state in
            state.history.append(buffer)
            state.format = buffer.audioFormat(after: state.format)
            state.hasTaken = true
        }
    }

    /// Delivers a buffer to all members that receive audio.
    func deliver(_ buffer: SampleBuffer) {
        let (feeds, context) = state.withLock { ($0.members.feeds, $0.context) }
        guard let context else { return }
        let late = context.timebase.currentTime.advanced(by: .zero - Self.lateness)
        for feed in feeds where feed.isFed {
            feed.renderer.skip(to: late)
            feed.renderer.enqueue(buffer)
        }
    }

    /// Returns the next buffer for a member, if it is the only one and its queue is empty.
    fileprivate func next(for feed: MemberFeed) -> SampleBuffer? {
        feeding.withLock { _ in
            guard current.onlyFeed === feed, feed.isFed,
                feed.renderer.state.withLock({ $0.queue.isEmpty })
            else { return nil }
            return removeNext(skipsLate: true)
        }
    }
}

/// The audio source of a group's only member: the queue of the group's renderer.
struct MemberSupply {
    let group: OutputGroup
    let feed: MemberFeed

    func next() -> SampleBuffer? { group.next(for: feed) }
}
