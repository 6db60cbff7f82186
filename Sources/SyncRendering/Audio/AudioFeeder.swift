package import MediaCore

/// The work of a renderer: opens its outputs, runs the feeder of one of them, and reports progress. Confined to the
/// renderer's thread.
package struct AudioFeeder {
    let renderer: AudioRenderer
    /// The use of the renderer that this feeder serves; the feeder ends when the renderer's `life` differs.
    let life: UInt64
    /// Whether the feeder has closed its outputs and ended.
    var isRetired = false

    private var outputs: OutputGroup?
    /// Earlier outputs that may still be closing.
    private var closing: [OutputGroup] = []
    private var context: AudioOutputContext?
    /// Whether the outputs were started; see `OutputGroup.start`.
    private var isStarted = false
    /// Whether the outputs are open, or those that are not are opened again by themselves.
    private var isPrepared = false
    /// The format for which the outputs were started.
    private var started: AudioFormat?
    /// Until when a start waits for outputs that do not answer; nil: not limited.
    private var opensUntil: HostInstant?
    /// The format for which no output could be opened, until the next flush or another output.
    private var refused: AudioFormat?
    /// The reported failure of all outputs.
    private var failure: OutputError?
    /// The partial flush that the outputs have to decide.
    private var partialFlush: PartialFlushRequest?
    /// The last reported ability of the outputs to schedule a start.
    private var wasReadyToStart = true
    /// When an output's feeder is due that runs here.
    private var due: HostInstant?

    /// Creates a feeder.
    ///
    /// - Parameter life: The use of the renderer to serve; nil: the current one.
    init(renderer: AudioRenderer, life: UInt64? = nil) {
        self.renderer = renderer
        self.life = life ?? renderer.state.withLock { $0.life }
    }

    /// Runs the thread's loop until the renderer is removed or invalidated.
    mutating func run() {
        while true {
            let due = performDueWork()
            if isRetired { return }
            renderer.wake.waitForWork(until: due, on: renderer.timebase.clock)
        }
    }

    /// Does all work that is due; does not block. Tests call it instead of running the thread.
    ///
    /// - Returns: When the next work is due without a signal; nil: not scheduled.
    @discardableResult
    package mutating func performDueWork() -> HostInstant? {
        guard !isRetired else { return nil }
        guard renderer.state.withLock({ $0.isServed(by: life) }) else {
            retire()
            return nil
        }
        var (attention, hasMoved) = (HostInstant?.none, false)
        repeat {
            applyCommands()
            prepare()
            servePartialFlush()
            // Outputs advance in small steps, so reports are made after each.
            hasMoved = runOutputs()
            reportProgress()
            announceReadiness()
            let isReady = outputs?.isReadyToStart ?? true
            if isReady != wasReadyToStart { renderer.report(.progress) }
            wasReadyToStart = isReady
            attention = renderer.serviceTimeline()
        } while hasMoved
        return HostInstant.first(HostInstant.first(attention, renderer.state.withLock { $0.nextNeed }), due)
    }

    /// Cancels partial flushes, begins to close the outputs and ends the feeder.
    private mutating func retire() {
        isRetired = true
        overtakePartialFlush()
        if let outputs = outputs.take() { close(outputs) }
        closeUnadopted()
        renderer.retire(closing: closing)
    }

    private mutating func closeUnadopted() {
        for group in renderer.state.withLock({ $0.removeUnadopted() }) where group !== outputs { close(group) }
    }

    /// Begins to close outputs.
    private mutating func close(_ group: OutputGroup) {
        group.beginClosing()
        closing.removeAll { $0 === group || !$0.isClosing }
        closing.append(group)
    }

    // MARK: Outputs

    /// Applies the pending flush and output from the renderer's state.
    private mutating func applyCommands() {
        let command = renderer.state.withLock { $0.consumeCommand(for: life) }
        guard command.isFlush || command.isOutputChange else { return }
        overtakePartialFlush()
        (refused, failure) = (nil, nil)
        // Read before the flush, which resets it.
        let held = outputs?.acceptedUntil
        if command.isFlush { outputs?.restart(from: command.resumesFrom) }
        guard command.isOutputChange else { return }
        if let old = outputs, old !== command.outputs {
            close(old)
            if held != nil { reportAutomaticFlush() }
        }
        outputs = command.outputs
        closeUnadopted()
        (isStarted, isPrepared, due) = (false, false, nil)
        context = renderer.outputContext(command.outputID)
        outputs?.attach(to: renderer.store, renderer.settings)
    }

    /// Starts the outputs with the first audio, and follows their opening.
    private mutating func prepare() {
        guard let outputs, let context, !isPrepared else { return }
        if !isStarted {
            guard let format = renderer.store.format(at: context.timebase.currentTime), format != refused else {
                return
            }
            outputs.start(format, context: context)
            (isStarted, started) = (true, format)
        }
        switch outputs.opening {
        case .pending(let deadline): opensUntil = deadline
        case .open: (isPrepared, opensUntil) = (true, nil)
        case .failed(let error):
            (isStarted, refused, opensUntil) = (false, started, nil)
            outputs.beginClosing()
            renderer.report(.outputFailed(error), isFailed: true)
        }
    }

    /// Runs the outputs; returns whether audio has advanced.
    private mutating func runOutputs() -> Bool {
        guard let outputs else { return false }
        guard isStarted else {
            // Audio that no output can play passes.
            if refused != nil { renderer.state.withLock { $0.recordReading(until: nil) } }
            return false
        }
        let result = outputs.run()
        due = HostInstant.first(result.due, opensUntil)
        if isPrepared { renderer.state.withLock { $0.recordReading(until: result.slowest) } }
        return result.hasMoved
    }

    // MARK: Partial flushes

    /// Starts the next pending partial flush, or completes the one that the outputs have decided.
    private mutating func servePartialFlush() {
        if let request = partialFlush, let outputs, let result = outputs.partialFlushResult(from: request.time) {
            partialFlush = nil
            let until = outputs.acceptedUntil
            if result.isFlushed { renderer.state.withLock { $0.cut(at: request.time, until: until) } }
            outputs.endPartialFlush()
            answer(request, result)
        }
        while partialFlush == nil, let request = renderer.state.withLock({ $0.beginPartialFlush() }) { begin(request) }
    }

    private mutating func begin(_ request: PartialFlushRequest) {
        guard let outputs, isStarted else {
            renderer.state.withLock { $0.cut(at: request.time, until: nil) }
            return answer(request, .flushed(from: request.time))
        }
        let lead = outputs.current.partialFlushLead
        guard renderer.timebase.isFlushInTime(from: request.time, lead: lead) else {
            return answer(request, .refused(leadNeeded: lead))
        }
        outputs.beginPartialFlush(from: request.time)
        partialFlush = request
        // Many outputs decide at once.
        if outputs.partialFlushResult(from: request.time) != nil { servePartialFlush() }
    }

    /// Cancels all partial flushes, because another operation discards the audio.
    private mutating func overtakePartialFlush() {
        if let request = partialFlush.take() { answer(request, .overtaken) }
        renderer.partialFlushes.reportOvertaken()
    }

    private func answer(_ request: PartialFlushRequest, _ result: PartialFlushResult) {
        request.completion(renderer.state.withLock { $0.endPartialFlush(result) })
        renderer.report(.progress)
    }

    // MARK: Reports

    /// Reports how much the outputs have accepted, their failure, and the end.
    private mutating func reportProgress() {
        guard let outputs else { return }
        if isPrepared { adoptFailure(of: outputs) }
        let until = outputs.acceptedUntil
        if isPrepared, renderer.state.withLock({ $0.accept(until: until) }) { renderer.report(.progress) }
        guard renderer.state.withLock({ $0.isAtEnd(for: life) }), outputs.current.isDrained else { return }
        renderer.state.withLock { $0.drain(acceptedUntil: until) }
        renderer.report(.progress)
    }

    /// Reports a failure of all outputs or of the decoding for them, and the recovery or replacement of one.
    private mutating func adoptFailure(of outputs: OutputGroup) {
        let before = failure
        failure = outputs.failure
        if let failure {
            guard before == nil else { return }
            let event = outputs.decodingFailure.map(AudioRenderer.Event.cannotDecode) ?? .outputFailed(failure)
            renderer.report(event, isFailed: true)
        } else if let before {
            renderer.state.withLock { $0.clearFailure() }
            // An output that has failed receives the stored audio again.
            if before.code != .unsupportedFormat { reportAutomaticFlush() }
            renderer.report(.progress)
        }
    }

    /// Calls the handler of automatic flushes.
    private func reportAutomaticFlush() {
        let (handler, playhead) = renderer.state.withLock { ($0.onAutomaticFlush, $0.timebase.currentTime) }
        handler?.call(playhead)
    }

    /// Requests more audio if the outputs have become ready since they were last full.
    private func announceReadiness() {
        let depth = outputs?.current.desiredDepth ?? .seconds(1)
        guard renderer.state.withLock({ $0.consumeReadiness(depth) }) else { return }
        renderer.report(.readyForMoreMediaData)
        renderer.demand.offer()
    }
}

extension HostInstant {
    /// Returns the earlier of two deadlines; nil if both are nil.
    static func first(_ one: HostInstant?, _ other: HostInstant?) -> HostInstant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }
}

extension Signal {
    /// Polling interval for manually driven clocks, which do not signal their changes.
    private static let handTurnedLook: Duration = .milliseconds(20)

    /// Blocks until the signal is raised or `due`; nil: no deadline.
    func waitForWork(until due: HostInstant?, on clock: any HostClock) {
        if !clock.isRealTime {
            wait(until: .now.advanced(by: Self.handTurnedLook))
        } else if let due {
            wait(until: clock.machineInstant(of: due))
        } else {
            wait()
        }
        clear()
    }
}
