internal import MediaCore

/// An output that pulls audio from the renderer's queue directly, without a copy through the renderer's feeder.
///
/// Its delivery is `sampleBuffers`; the first buffer is delivered by the feeder and prepares it. After that the feeder
/// calls `turn` whenever the state may have changed.
protocol SoundTaking: AudioOutput {
    /// Pulls as much audio as fits and performs due work. Called on the feeder thread.
    ///
    /// - Parameter queue: The queue to pull from; nil: pulling is not permitted now.
    func turn(takingFrom queue: RendererQueue?) -> SoundTurn

    /// The outputs behind it. Any thread.
    var members: [any AudioOutput] { get }

    /// The audio that could not be decoded since the last flush; nil if there is none. Any thread.
    var undecodable: UndecodableSound? { get }

    /// Returns the audio that could not be decoded since the last call; nil if there is none. Any thread.
    func takeUndecodableSound() -> UndecodableSound?
}

/// A source of audio that a feeder reads when its renderer's queue is empty.
protocol SampleSupply {
    /// Returns the next buffer; nil if there is none.
    func next() -> SampleBuffer?
}

/// The result of `turn`.
struct SoundTurn {
    /// Whether audio has advanced, so that dependent work is due.
    var hasMoved = false
    /// Whether audio was pulled since the last call, which revokes a preceding `finish`.
    var hasTaken = false
    /// When the next call is due without a signal; nil: not scheduled.
    var due: HostInstant?
}

/// Access to a renderer's queue for an output that pulls in the feeder's place. Any thread, one at a time.
struct RendererQueue: Sendable {
    let renderer: AudioRenderer
    let life: UInt64

    /// Returns the next buffer; nil if the queue is empty or a flush, an output change or a shutdown is pending.
    ///
    /// - Parameter moment: Buffers that end before this media time are dropped first.
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
    /// Whether the output pulls all subsequent audio itself.
    private var isTakenFrom: Bool {
        guard taker != nil, !isRefused, partialFlush == nil, nextFormat == nil, case .nothing = pending,
            case .sampleBuffers? = delivery
        else { return false }
        return true
    }

    /// Calls `turn` on an output that pulls audio; returns true if it advanced.
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

    /// Returns the next buffer to deliver: from the renderer's queue, or from the group's queue if this is its only
    /// member.
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
            // If a flush or an output change intervened, the buffer remains in the queue.
            guard !state.flushRequested, !state.outputChanged, state.life == life else { return nil }
            return renderer.takeNext(&state)
        }
    }
}

extension AudioRenderer {
    /// Polling interval for manually driven clocks, which do not signal their changes.
    private static let handTurnedLook: Duration = .milliseconds(20)

    /// Blocks until the signal is raised or `due`; nil: no deadline.
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

    /// Drops the oldest queued buffers that end before a media time.
    ///
    /// - Returns: Whether any buffer was dropped.
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
    /// Returns the earlier of two deadlines; nil if both are nil.
    static func first(_ one: HostInstant?, _ other: HostInstant?) -> HostInstant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }
}
