internal import MediaCore

/// An output that takes sound out of the renderer's queue by itself, so that the renderer's feeder is no station on the way.
///
/// It asks for `sampleBuffers` and is handed the first one, with which it is prepared. From then on the feeder gives it a
/// turn whenever something may have moved.
protocol SoundTaking: AudioOutput {
    /// Takes what it has room for and does what is due. On the feeder's thread.
    ///
    /// - Parameter queue: nil while nothing may be taken.
    func turn(takingFrom queue: RendererQueue?) -> SoundTurn
}

/// What came of a turn.
struct SoundTurn {
    /// Sound got on: whatever follows from that is due now.
    var hasMoved = false
    /// Something was taken since the last turn: the output is not at its end, whatever it was told before.
    var hasTaken = false
    /// When the next turn is due although nobody raises the signal.
    var due: HostInstant?
}

/// The queue of a renderer, for whoever takes from it in its feeder's place. Any thread, one at a time.
struct RendererQueue: Sendable {
    let renderer: AudioRenderer
    let life: UInt64

    /// The next buffer; nil when there is none, or when something is under way that decides anew what is left.
    ///
    /// - Parameter moment: what ends before it is dropped on the way.
    func next(skippingTo moment: MediaTime?) -> SampleBuffer? {
        renderer.state.withLock { state in
            guard !state.flushRequested, !state.outputChanged, !state.isCutting, state.partialFlushes.isEmpty,
                !state.stopping, state.life == life
            else { return nil }
            if let moment { AudioRenderer.skip(to: moment, &state) }
            return renderer.takeNext(&state)
        }
    }
}

extension AudioFeeder {
    /// The output takes everything that follows by itself.
    private var isTakenFrom: Bool {
        guard taker != nil, !isRefused, partialFlush == nil, nextFormat == nil, case .nothing = pending,
            case .sampleBuffers? = delivery
        else { return false }
        return true
    }

    /// Gives an output that takes sound by itself its turn; true when it got on.
    mutating func turnTaker() -> Bool {
        guard let taker, case .sampleBuffers? = delivery else { return false }
        let turn = taker.turn(takingFrom: isTakenFrom ? RendererQueue(renderer: renderer, life: life) : nil)
        takerDue = turn.due
        if turn.hasTaken {
            isFinishing = false
            isFinished = false
        }
        return turn.hasMoved || turn.hasTaken
    }

    /// The next buffer that this feeder is to hand over: of the renderer's own queue, or of the one that feeds a group of
    /// which this is the only member.
    mutating func takeNext() -> SampleBuffer? {
        if let waiting = nextFormat {
            nextFormat = nil
            return waiting
        }
        guard !isTakenFrom else { return nil }
        let (buffer, mayAsk) = renderer.state.withLock { state -> (SampleBuffer?, Bool) in
            guard !state.flushRequested, !state.outputChanged, state.life == life else { return (nil, false) }
            return (renderer.takeNext(&state), true)
        }
        if buffer != nil || !mayAsk { return buffer }
        guard let supplied = supply?.next() else { return nil }
        return renderer.state.withLock { state in
            renderer.append(supplied, &state)
            // Put off by something that decides anew, it stays in the queue, in its place.
            guard !state.flushRequested, !state.outputChanged, state.life == life else { return nil }
            return renderer.takeNext(&state)
        }
    }
}

extension AudioRenderer {
    /// Time that is turned by hand tells nobody when it moves.
    private static let handTurnedLook: Duration = .milliseconds(20)

    /// Waits until there may be something to do.
    func awaitWork(until due: HostInstant?) {
        let clock = timebase.clock
        if !clock.runsByItself {
            wake.wait(until: .now.advanced(by: Self.handTurnedLook))
        } else if let due {
            wake.wait(until: clock.machineInstant(of: due))
        } else {
            wake.wait()
        }
        wake.clear()
    }

    /// Drops buffers that wait and end before this moment, oldest first.
    ///
    /// - Returns: whether there were any.
    @discardableResult
    static func skip(to time: MediaTime, _ state: inout State) -> Bool {
        let late = state.queue.prefix { buffer in buffer.end.map { $0 < time } ?? false }.count
        guard late > 0 else { return false }
        state.queue.removeFirst(late)
        if !state.queue.isEmpty { state.queue[0].flags.insert(.discontinuity) }
        return true
    }
}

extension HostInstant {
    /// The earlier of two moments at which something is due.
    static func first(_ one: HostInstant?, _ other: HostInstant?) -> HostInstant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }
}
