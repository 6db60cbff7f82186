internal import MediaCore

// How sound gets from the renderer's queue to the members; docs/decisions/0013-one-feeder-for-one-output.md tells why in this
// way.
extension OutputGroup: SoundTaking {
    /// Beyond this a group that holds as many bytes as it may takes no more for now.
    private static let leastDepth: Duration = .seconds(5)
    /// So many blocks or packets are converted before it is told how far the sound came: a start may be waiting for that.
    private static let stepsInTurn = 16

    /// Gives the only member's feeder its turn, which takes what it needs from the renderer's queue. Several members have
    /// threads of their own: each is handed everything that waits. One that the system gave no thread has its turn here, too.
    func turn(takingFrom queue: RendererQueue?) -> SoundTurn {
        let (feed, feeds) = state.withLock { state in
            state.source = queue
            return (state.onlyFeed, state.feeds)
        }
        var turn = SoundTurn()
        if let feed {
            if feed.feeder.isShared {
                (turn.hasMoved, turn.due) = feed.feeder.turn(
                    takingFrom: MemberSupply(group: self, feed: feed), atMost: Self.stepsInTurn)
            }
        } else {
            feeding.withLock { _ in distribute() }
            for feed in feeds where feed.feeder.isShared {
                let (hasMoved, due) = feed.feeder.turn(atMost: Self.stepsInTurn)
                turn.hasMoved = turn.hasMoved || hasMoved
                turn.due = [turn.due, due].compactMap { $0 }.min()
            }
        }
        turn.hasTaken = state.withLock { state in
            defer { state.hasTaken = false }
            return state.hasTaken
        }
        return turn
    }

    /// Settles who turns the members' feeders, whenever members came or went.
    func seatFeeders() {
        let room = seating.withLock { _ -> Signal? in
            let (feeds, only, room) = state.withLock { ($0.feeds, $0.onlyFeed, $0.context?.room) }
            guard let room else { return nil }
            if let only {
                only.feeder.share(with: room)
            } else {
                for feed in feeds { feed.feeder.standAlone(orWith: room) }
            }
            return room
        }
        room?.raise()
    }

    // MARK: Taking, with `feeding` held

    /// Hands everything that waits in the renderer's queue to all members, except where the only one takes it by itself.
    func distribute() {
        while state.withLock({ $0.onlyFeed == nil }), let buffer = take(skipsLate: false) { hand(buffer) }
    }

    /// The next buffer of the renderer's queue.
    fileprivate func take(skipsLate: Bool) -> SampleBuffer? {
        guard hasRoom else { return nil }
        let (source, playhead) = state.withLock { state in
            let timebase = skipsLate ? state.context?.timebase : nil
            // Film that stands still falls behind nobody.
            return (state.source, timebase.flatMap { $0.rate > 0 ? $0.currentTime : nil })
        }
        guard let buffer = source?.next(skippingTo: playhead?.advanced(by: .zero - Self.lateness)) else { return nil }
        keep(buffer)
        return buffer
    }

    /// Whether the group is open and may remember more.
    var hasRoom: Bool {
        state.withLock { state in
            guard let context = state.context else { return false }
            let playhead = context.timebase.currentTime
            state.history.trim(before: playhead.advanced(by: .zero - Self.lateness))
            guard state.history.byteCount >= ReplayBuffer.byteLimit, let end = state.history.end else { return true }
            return (end - playhead).duration <= Self.leastDepth
        }
    }

    /// Remembers what the members are given.
    func keep(_ buffer: SampleBuffer) {
        state.withLock { state in
            state.history.append(buffer)
            state.format = buffer.audioFormat(after: state.format)
            state.hasFinished = false
            state.hasTaken = true
            state.fedUntil = state.history.end
        }
    }

    /// Gives a buffer to everybody who is fed.
    func hand(_ buffer: SampleBuffer) {
        let (feeds, context) = state.withLock { ($0.feeds, $0.context) }
        guard let context else { return }
        let late = context.timebase.currentTime.advanced(by: .zero - Self.lateness)
        for feed in feeds where feed.isFed {
            feed.renderer.skip(to: late)
            feed.renderer.enqueue(buffer)
        }
    }

    /// The next buffer for a member, as long as it is the only one and has handed over what it was given before.
    fileprivate func next(for feed: MemberFeed) -> SampleBuffer? {
        feeding.withLock { _ in
            guard state.withLock({ $0.onlyFeed === feed }), feed.isFed,
                feed.renderer.state.withLock({ $0.queue.isEmpty })
            else { return nil }
            return take(skipsLate: true)
        }
    }
}

/// Where the only member of a group finds its sound: the queue of the renderer that feeds the group.
struct MemberSupply {
    let group: OutputGroup
    let feed: MemberFeed

    func next() -> SampleBuffer? { group.next(for: feed) }
}

extension OutputGroup.State {
    /// The member that has the renderer's queue to itself.
    var onlyFeed: MemberFeed? { feeds.count == 1 ? feeds[0] : nil }
}
