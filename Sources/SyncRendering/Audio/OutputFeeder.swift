internal import MediaCore

/// The conversion and delivery of audio to one output. Confined to one thread at a time.
struct OutputFeeder {
    /// As often as the renderer's thread serves the first output.
    private static let retryInterval: Duration = .milliseconds(250)

    let feed: OutputFeed
    /// Counts delivery steps and completed partial flushes.
    var steps = 0
    /// Whether the feeder has ended.
    private var isRetired = false

    /// The speed that the output knows; nil: none.
    private var reportedSpeed: Double?
    /// Whether the output has to be flushed once it is prepared again.
    private var flushesLater = false
    var output: (any AudioOutput)?
    var pipeline: DeliveryPipeline
    var change = ProcessingChange()
    /// The last reported ability of the output to schedule a start.
    private var wasReadyToStart = true
    /// The last logged end of the accepted audio.
    private var loggedUntil: MediaTime?

    /// The partial flush that the output has to decide.
    var partialFlush: PartialFlushRequest?

    init(feed: OutputFeed) {
        self.feed = feed
        pipeline = DeliveryPipeline(feed: feed)
    }

    /// Does all work that does not block.
    ///
    /// - Parameter limit: The maximum number of steps; the caller repeats the call until nothing advances.
    /// - Returns: When the next work is due without a signal; nil: not scheduled.
    @discardableResult
    mutating func performDueWork(atMost limit: Int = .max) -> HostInstant? {
        guard !isRetired else { return nil }
        guard !feed.state.withLock({ $0.isStopping }) else {
            retire()
            return nil
        }
        var count = 0
        repeat {
            applyCommands()
            serveProcessingChange()
            servePartialFlush()
            count += 1
        } while count <= limit && progress()
        if let output, !pipeline.isPreparing, let failure = pipeline.newFailure(of: output) {
            self.output = nil
            feed.lose(failure)
        }
        let isReady = output == nil || feed.abilities.starting?.isReadyToStart ?? true
        if isReady != wasReadyToStart { feed.reportProgress() }
        wasReadyToStart = isReady
        // An output that has space by time alone, as one whose packets become too old, signals nothing.
        let isRunning = feed.timebase.snapshot.upcoming.rate > 0
        let again =
            isRunning && pipeline.hasPending ? feed.timebase.clock.now.advanced(by: Self.retryInterval) : nil
        return HostInstant.first(HostInstant.first(feed.state.withLock { $0.nextNeed }, change.nextDue), again)
    }

    /// Cancels partial flushes and ends the feeder. The output is closed by its feed.
    private mutating func retire() {
        isRetired = true
        overtakePartialFlush()
        pipeline.endSharing()
        output = nil
    }

    /// Applies the pending flush, output, speed and processing from the feed's state.
    private mutating func applyCommands() {
        let command = feed.state.withLock { $0.consumeCommand() }
        if command.isFlush || command.isOutputChange {
            overtakePartialFlush()
            change.finish()
        }
        change.set(command.processing)
        pipeline.processing = command.processing
        if command.isFlush {
            pipeline.reset()
            if pipeline.isPreparing { flushesLater = true } else { output?.flush() }
        }
        pipeline.setSpeed(command.speed)
        pipeline.setChannels(command.channels)
        if command.isOutputChange {
            pipeline.reset()
            output = command.output
            (reportedSpeed, flushesLater) = (nil, false)
            pipeline.setDelivery(command.delivery)
        } else if let prepared = command.prepared {
            pipeline.adopt(prepared)
            if flushesLater { output?.flush() }
            flushesLater = false
        }
        if reportedSpeed != command.speed, !pipeline.isPreparing {
            reportedSpeed = command.speed
            if output != nil { feed.abilities.packets?.setSpeed(command.speed) }
        }
        if command.isFlush || command.isOutputChange { pipeline.resume(from: command.resumesFrom) }
    }

    // MARK: Delivery

    /// Performs one delivery step; returns false if there is no work or no space.
    private mutating func progress() -> Bool {
        let hasMoved = step()
        if hasMoved { steps &+= 1 }
        return hasMoved
    }

    private mutating func step() -> Bool {
        guard let output, partialFlush == nil, !pipeline.isPreparing else { return false }
        if pipeline.hasPending { return deliver(to: output) }
        if pipeline.convertMore() { return true }
        guard let buffer = pipeline.removeWaiting() ?? feed.state.withLock({ $0.dequeue() }) else {
            return finishIfDone(output)
        }
        return pipeline.begin(buffer, for: output)
    }

    private mutating func deliver(to output: any AudioOutput) -> Bool {
        // Signals raised meanwhile are handled by this attempt.
        if pipeline.offer() {
            let until = output.acceptedUntil
            feed.state.withLock { $0.accept(until: until) }
            log(until)
            feed.reportProgress()
        }
        return !pipeline.hasPending
    }

    /// Logs the end of the accepted audio once per second of media and at each seek, which bounds the size of the event
    /// log.
    private mutating func log(_ until: MediaTime?) {
        guard let until else { return }
        if let loggedUntil, until >= loggedUntil, (until - loggedUntil).duration < .seconds(1) { return }
        loggedUntil = until
        let ahead = (until - feed.timebase.currentTime).duration
        feed.events.append(.audioAccepted(until: until, ahead: ahead, output: feed.id))
    }

    /// Drains converter, encoder and output at the end of the stored audio. Always returns false once the output
    /// drains.
    private mutating func finishIfDone(_ output: any AudioOutput) -> Bool {
        guard feed.state.withLock({ $0.isAtEnd }) else { return false }
        guard pipeline.finish(output) else { return true }
        pipeline.endFinish()
        let until = output.acceptedUntil
        feed.state.withLock { $0.drain(acceptedUntil: until) }
        feed.reportProgress()
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
        case .encodedVideo, .videoFrame, .encodedSubtitle, .subtitle:
            preconditionFailure("enqueue lets only sound in")
        }
    }
}
