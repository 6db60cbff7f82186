internal import MediaCore

/// The state of the conversion and delivery of audio. Confined to the feeder thread.
struct AudioFeeder {
    let renderer: AudioRenderer
    /// The use of the renderer that this feeder serves; the feeder ends when the renderer's `life` differs.
    let life: UInt64
    /// Counts delivery steps and completed partial flushes.
    var steps = 0
    /// Whether the feeder has closed its output and ended.
    var isRetired = false

    var output: (any AudioOutput)?
    /// The output, if it reads the renderer's store itself, and when its next call is due.
    var taker: (any PullingAudioOutput)?
    var takerDue: HostInstant?
    /// Whether the output is the only member of its group.
    var isOnlyMember = false
    var context: AudioOutputContext?
    var pipeline: DeliveryPipeline
    var change = ProcessingChange()
    var reports = FeederReports()

    /// The partial flush that the output has to decide.
    var partialFlush: PartialFlushRequest?

    /// Creates a feeder.
    ///
    /// - Parameter life: The use of the renderer to serve; nil: the current one.
    init(renderer: AudioRenderer, life: UInt64? = nil) {
        self.renderer = renderer
        pipeline = DeliveryPipeline(renderer: renderer)
        self.life = life ?? renderer.state.withLock { $0.life }
    }

    /// Runs the thread's loop until the renderer is removed or invalidated.
    mutating func run() {
        while true {
            let due = performDueWork()
            if isRetired { return }
            renderer.awaitWork(until: due)
        }
    }

    /// Does all work that does not block. Tests call it instead of running the thread.
    ///
    /// - Parameter limit: The maximum number of steps; the caller repeats the call until nothing advances.
    /// - Returns: When the next work is due without a signal; nil: not scheduled.
    @discardableResult
    mutating func performDueWork(atMost limit: Int = .max) -> HostInstant? {
        guard !isRetired else { return nil }
        guard renderer.state.withLock({ $0.isServed(by: life) }) else {
            retire()
            return nil
        }
        var attention: HostInstant?
        var (count, takesOn) = (0, false)
        repeat {
            repeat {
                applyCommands()
                serveProcessingChange()
                servePartialFlush()
                count += 1
            } while count <= limit && progress()
            // A pulling output advances in small steps, so reports are made after each.
            takesOn = pullThroughOutput()
            reportAcceptance()
            announceReadiness()
            announceReadinessToStart()
            attention = renderer.serviceTimeline()
        } while takesOn
        return HostInstant.first(
            HostInstant.first(attention, renderer.state.withLock { $0.nextNeed }),
            HostInstant.first(takerDue, change.nextDue))
    }

    /// Cancels partial flushes, closes the output and ends the feeder.
    private mutating func retire() {
        isRetired = true
        overtakePartialFlush()
        pipeline.endSharing()
        output?.close()
        output = nil
        taker = nil
        renderer.retire()
    }

    // MARK: Commands

    /// Applies the pending flush, output, speed and processing from the renderer's state.
    private mutating func applyCommands() {
        let command = renderer.state.withLock { $0.takeCommand(for: life) }
        if command.isFlush || command.isOutputChange {
            overtakePartialFlush()
            change.finish()
        }
        change.set(command.processing)
        pipeline.processing = command.processing
        // Read before the flush, which resets `acceptedUntil`.
        let held = output?.acceptedUntil
        if command.isFlush {
            pipeline.reset()
            if let taker {
                taker.flush(restartingAt: command.cursor ?? renderer.store.start, resumingFrom: command.resumesFrom)
            } else {
                output?.flush()
            }
        }
        if pipeline.setSpeed(command.speed) { output?.setSpeed(command.speed) }
        if command.isOutputChange {
            pipeline.reset()
            var lostFrom: MediaTime?
            if let old = output, old !== command.output {
                if held != nil { lostFrom = renderer.timebase.currentTime }
                old.close()
            }
            output = command.output
            taker = output as? any PullingAudioOutput
            taker?.attach(to: renderer.store)
            takerDue = nil
            pipeline.setDelivery(command.delivery)
            context = renderer.outputContext(command.outputID)
            output?.setSpeed(command.speed)
            renderer.state.withLock { $0.applyGain(to: output) }
            output?.setProcessing(change.processing)
            if let lostFrom { renderer.reportAutomaticFlush(from: lostFrom) }
        }
        if command.isFlush || command.isOutputChange { pipeline.resume(from: command.resumesFrom) }
    }

    // MARK: Moving sound

    /// Performs one delivery step; returns false if there is no work or no space.
    private mutating func progress() -> Bool {
        let hasMoved = step()
        if hasMoved { steps &+= 1 }
        return hasMoved
    }

    private mutating func step() -> Bool {
        guard let output, partialFlush == nil else { return false }
        if pipeline.hasPending { return handOver(to: output) }
        if pipeline.convertMore() { return true }
        guard let buffer = takeNext() else { return finishIfDone(output) }
        return pipeline.begin(buffer, for: output, context, isOnlyMember: isOnlyMember)
    }

    private mutating func handOver(to output: any AudioOutput) -> Bool {
        // Signals raised meanwhile are handled by this attempt.
        if pipeline.offer(to: output) {
            let until = output.acceptedUntil
            renderer.state.withLock { [isRefused = pipeline.isRefused] state in
                state.accept(until: until)
                // The undecodable audio has been passed.
                if !isRefused { state.clearDecodingFailure() }
            }
            noteAcceptance(until)
            renderer.report(.progress)
        }
        guard !pipeline.hasPending else { return false }
        announceReadiness()
        return true
    }

    /// Drains converter, encoder and output at the end of the stored audio. Always returns false once the output
    /// drains.
    private mutating func finishIfDone(_ output: any AudioOutput) -> Bool {
        guard renderer.state.withLock({ $0.isAtEnd(for: life) }) else { return false }
        guard pipeline.finish(output) else { return true }
        guard output.isDrained else { return false }
        pipeline.endFinish()
        let until = output.acceptedUntil
        renderer.state.withLock { $0.drain(acceptedUntil: until) }
        renderer.report(.progress)
        return false
    }
}

extension SampleBuffer {
    /// Returns the format of the audio payload; decoded blocks map to raw 32-bit float PCM.
    ///
    /// - Parameter last: The preceding format, returned again if it is equivalent.
    func audioFormat(after last: AudioFormat?) -> AudioFormat {
        switch payload {
        case .encodedAudio(let format, _): return format
        case .pcm(let block):
            if let last, last.sampleRate == block.format.sampleRate, last.layout == block.format.layout,
                last.parameters.codec == "pcm_f32le"
            {
                return last
            }
            return AudioFormat(
                LinearPCM(.float32), sampleRate: block.format.sampleRate, layout: block.format.layout)
        case .encodedVideo, .picture, .encodedSubtitle, .subtitle:
            preconditionFailure("enqueue lets only sound in")
        }
    }
}
