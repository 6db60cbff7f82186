internal import MediaCore

/// The feeder thread's own state: what is being converted and handed over. Lives and dies on that thread.
struct AudioFeeder {
    let renderer: AudioRenderer

    var output: (any AudioOutput)?
    private var context: AudioOutputContext?
    var delivery: AudioDelivery?
    var format: AudioFormat?
    var converter: (any PCMConverter)?
    var encoder: (any PCMEncoder)?
    private var block: PCMBlock?
    private var batch = PacketBatch()
    /// What is being handed over, and how much of it was taken.
    var pending: Pending = .nothing
    var nextFormat: SampleBuffer?
    var isFinishing = false
    private var isRefused = false
    private(set) var speed: Double = 1
    private var damagedBefore = 0
    private var wasReadyToStart = true

    /// Sound inside the converter is heard up to here only: what followed was flushed.
    var limit: MediaTime?
    /// Film time up to which buffers have been taken from the queue.
    var takenUntil: MediaTime?
    /// The flush from a time on that the output is deciding about.
    var partialFlush: PartialFlushRequest?

    enum Pending {
        case nothing
        case block(PCMBlock, Int)
        case packets(PacketBatch, Int)
        case buffer(SampleBuffer)
    }

    init(renderer: AudioRenderer) { self.renderer = renderer }

    /// Waits for something to do and does it, until the renderer is invalidated.
    mutating func run() {
        while !renderer.state.withLock({ $0.stopping }) {
            settle()
            // The timeout is for readiness: the playhead moves without telling anybody.
            renderer.wake.wait(until: .now.advanced(by: .milliseconds(100)))
            renderer.wake.clear()
        }
        output?.close()
    }

    /// Does everything that can be done without waiting. Tests call it in place of the thread.
    mutating func settle() {
        repeat {
            applyCommands()
            servePartialFlush()
        } while progress()
        reportAcceptance()
        announceReadiness()
        announceReadinessToStart()
    }

    // MARK: Commands

    private mutating func applyCommands() {
        let command = renderer.state.withLock { state in
            defer {
                state.outputChanged = false
                state.flushRequested = false
            }
            return (
                changed: state.outputChanged, output: state.output, id: state.outputID, flush: state.flushRequested,
                speed: state.speed, gain: state.gain
            )
        }
        if command.flush || command.changed { overtakePartialFlush() }
        if command.flush {
            forget()
            output?.flush()
        }
        if command.speed != speed {
            speed = command.speed
            converter = nil
            // Packets cannot be stretched: how sound is handed over is agreed anew.
            format = nil
            output?.setSpeed(speed)
        }
        if command.changed {
            forget()
            var lostFrom: MediaTime?
            if let old = output, old !== command.output {
                if let end = old.acceptedUntil { lostFrom = min(end, max(.zero, renderer.timebase.currentTime)) }
                old.close()
            }
            output = command.output
            delivery = nil
            converter = nil
            encoder = nil
            isRefused = false
            context = AudioOutputContext(
                timebase: renderer.timebase, room: renderer.wake, events: renderer.events, id: command.id)
            output?.setSpeed(speed)
            if let gain = command.gain { output?.setGain(gain) }
            if let lostFrom { renderer.tell(.flushedAutomatically(from: lostFrom)) }
        }
    }

    /// Drops what is under way, for a jump.
    mutating func forget() {
        converter?.reset()
        encoder?.reset()
        pending = .nothing
        nextFormat = nil
        limit = nil
        takenUntil = nil
        isFinishing = false
        isFinished = false
        encoderFinished = false
        isRefused = false
    }

    // MARK: Moving sound

    /// One step from queue to output; false when there is nothing to do or no room.
    private mutating func progress() -> Bool {
        guard let output, partialFlush == nil else { return false }
        if case .nothing = pending {} else { return handOver(to: output) }
        if convertMore() { return true }
        guard let buffer = takeNext() else { return finishIfDone(output) }
        return begin(buffer, output: output)
    }

    /// The next buffer, and whether the converter must run empty first because the format changes.
    private mutating func takeNext() -> SampleBuffer? {
        if let waiting = nextFormat {
            nextFormat = nil
            return waiting
        }
        return renderer.state.withLock { state in
            guard !state.queue.isEmpty, !state.flushRequested, !state.outputChanged else { return nil }
            return state.queue.removeFirst()
        }
    }

    private mutating func begin(_ buffer: SampleBuffer, output: any AudioOutput) -> Bool {
        isFinishing = false
        isFinished = false
        if encoderFinished {
            // It had been told that nothing follows, and has given out everything since.
            encoder?.reset()
            encoderFinished = false
        }
        let incoming = buffer.audioFormat
        // Refused once, refused until a jump, another format or another output gives reason to try again.
        if isRefused, incoming == format { return true }
        if incoming != format || delivery == nil || limit != nil {
            if let converter, format != nil, delivery != nil {
                // Let the old format's last sound out before the new one begins.
                converter.finish()
                format = nil
                nextFormat = buffer
                return true
            }
            limit = nil
            format = incoming
            isRefused = !adopt(incoming, output: output)
        }
        limit = limit ?? buffer.heardUntil
        takenUntil = buffer.end ?? takenUntil
        guard !isRefused else { return true }
        switch (delivery, buffer.payload) {
        case (.passThrough, .encodedAudio(_, let packets)):
            pending = .packets(limit.map { packets.prefix(before: $0) } ?? packets, 0)
        case (.sampleBuffers, _): pending = .buffer(buffer)
        default:
            if converter == nil, !makeConverter(for: incoming) { return true }
            do {
                try converter?.send(buffer)
            } catch {
                renderer.tell(.cannotDecode(error))
                isRefused = true
            }
        }
        return true
    }

    /// Agrees with the output on how sound of this format is handed over; false when that fails.
    private mutating func adopt(_ format: AudioFormat, output: any AudioOutput) -> Bool {
        var wanted = output.delivery(for: format, mustDecode: speed != 1)
        if case .pcm? = delivery, case .pcm = wanted, let delivery {
            // The device keeps its format; the film is brought to it, so that joints have no gap.
            wanted = delivery
        }
        if wanted != delivery {
            guard let context else { return false }
            do {
                try output.prepare(wanted, context: context)
            } catch {
                delivery = nil
                renderer.fail(.outputFailed(error))
                return false
            }
            delivery = wanted
            encoder = nil
            output.timebaseDidChange(renderer.timebase.snapshot)
        }
        converter = nil
        switch wanted {
        case .passThrough, .sampleBuffers: return true
        case .pcm, .encoded: return makeConverter(for: format)
        }
    }

    private mutating func makeConverter(for format: AudioFormat) -> Bool {
        let pcm: PCMFormat
        switch delivery {
        case .pcm(let format): pcm = format
        case .encoded(_, let format): pcm = format
        case .passThrough, .sampleBuffers, nil: return false
        }
        do {
            converter = try renderer.codecs.converter(from: format, to: pcm, speed: speed)
            if case .encoded(let target, _) = delivery, encoder == nil {
                encoder = try renderer.codecs.encoder(from: pcm, to: target)
            }
        } catch {
            isRefused = true
            renderer.fail(.cannotDecode(error))
            return false
        }
        // A fiftieth of a second or so: short enough that a start needs little, long enough to cost nothing.
        let frames = encoder?.framesPerPacket ?? 1024
        if block == nil || block?.format != pcm { block = PCMBlock(format: pcm, capacity: frames) }
        return true
    }

    /// Takes one block out of the converter (and packets out of the encoder); false when nothing is inside.
    private mutating func convertMore() -> Bool {
        guard let converter, let block, !isRefused else { return false }
        do {
            if let encoder {
                batch.removeAll()
                if try encoder.receive(into: batch) {
                    pending = .packets(batch, 0)
                    return true
                }
            }
            guard try converter.receive(into: block) else { return false }
            if let limit, !block.cut(at: limit) { return true }
            if let encoder { try encoder.send(block) } else { pending = .block(block, 0) }
        } catch {
            renderer.tell(.cannotDecode(error))
            isRefused = true
        }
        if converter.damagedPackets != damagedBefore {
            damagedBefore = converter.damagedPackets
            renderer.state.withLock { [damagedBefore] in $0.status.damagedPackets = damagedBefore }
        }
        return true
    }

    private mutating func handOver(to output: any AudioOutput) -> Bool {
        // Wakes that arrived meanwhile are answered by this very attempt.
        var taken = 0
        var done = true
        switch pending {
        case .nothing: return true
        case .block(let block, let offset):
            taken = output.accept(block, from: offset)
            done = offset + taken >= block.frames
            pending = done ? .nothing : .block(block, offset + taken)
        case .packets(let packets, let offset):
            taken = output.accept(packets, from: offset)
            done = offset + taken >= packets.packets.count
            pending = done ? .nothing : .packets(packets, offset + taken)
        case .buffer(let buffer):
            done = output.accept(buffer)
            taken = done ? 1 : 0
            pending = done ? .nothing : .buffer(buffer)
        }
        if taken > 0 {
            let until = output.acceptedUntil
            renderer.state.withLock { if !$0.flushRequested { $0.status.acceptedUntil = until } }
            renderer.tell(.progress)
        }
        if done { announceReadiness() }
        return done
    }

    private mutating func finishIfDone(_ output: any AudioOutput) -> Bool {
        let finished = renderer.state.withLock {
            $0.finished && $0.queue.isEmpty && !$0.status.isDrained && !$0.flushRequested
        }
        guard finished else { return false }
        if !isFinishing {
            isFinishing = true
            converter?.finish()
            return true
        }
        if let encoder, !encoderFinished {
            encoderFinished = true
            encoder.finish()
            return true
        }
        if !isFinished {
            isFinished = true
            // A finished decoder takes nothing more until it is reset, and film may go on (a loop, a next item).
            converter?.reset()
            encoder?.reset()
            output.finish()
        }
        guard output.isDrained else { return false }
        encoderFinished = false
        isFinishing = false
        isFinished = false
        renderer.state.withLock { $0.status.isDrained = true }
        renderer.tell(.progress)
        return false
    }
    var encoderFinished = false
    /// The output knows that nothing follows.
    var isFinished = false

    /// An output that converts by itself gets on between hand-overs.
    private mutating func reportAcceptance() {
        guard let output else { return }
        if let failure = output.failure, !isRefused, delivery != nil {
            isRefused = true
            renderer.fail(.outputFailed(failure))
        }
        guard case .sampleBuffers = delivery else { return }
        let until = output.acceptedUntil
        let hasMoved = renderer.state.withLock { state -> Bool in
            guard !state.flushRequested, state.status.acceptedUntil != until else { return false }
            state.status.acceptedUntil = until
            return true
        }
        if hasMoved { renderer.tell(.progress) }
    }

    /// Tells when the output has found out its own delay, or has to find it out again.
    private mutating func announceReadinessToStart() {
        let isReady = output?.isReadyToStart ?? true
        guard isReady != wasReadyToStart else { return }
        wasReadyToStart = isReady
        renderer.tell(.progress)
    }

    /// Asks for more when the route has become ready since it was last full.
    private func announceReadiness() {
        let ready = renderer.state.withLock { state -> Bool in
            guard state.wasFull, renderer.isReady(state) else { return false }
            state.wasFull = false
            return true
        }
        if ready { renderer.tell(.readyForMoreMediaData) }
    }
}

extension AudioRenderer {
    func tell(_ news: News) {
        let handler = state.withLock { $0.news }
        handler?.call(news)
    }

    func fail(_ news: News) {
        state.withLock { $0.status.hasFailed = true }
        tell(news)
    }
}

extension SampleBuffer {
    /// The format of the sound inside; decoded blocks name themselves as raw floats.
    var audioFormat: AudioFormat {
        switch payload {
        case .encodedAudio(let format, _): return format
        case .pcm(let block):
            return AudioFormat(
                parameters: CodecParameters(codec: "pcm_f32le"), sampleRate: block.format.sampleRate,
                layout: block.format.layout)
        case .encodedVideo, .picture:
            preconditionFailure("enqueue lets only sound in")
        }
    }
}
