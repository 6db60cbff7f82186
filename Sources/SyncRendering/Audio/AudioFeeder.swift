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
    /// The output, if it pulls from the renderer's queue, and when its next `turn` is due.
    var taker: (any PullingAudioOutput)?
    var takerDue: HostInstant?
    /// The group's queue, for its only member; read when the renderer's queue is empty.
    var supply: (any SampleSupply)?
    var context: AudioOutputContext?
    var delivery: AudioDelivery?
    var format: AudioFormat?
    var converter: TreatedConverter?
    /// The measured loudness and the gain that results.
    let leveller = LoudnessLeveller()
    var encoder = EncoderRun()
    /// The conversion of a group that replaces `converter` and `encoder`; nil: this feeder converts.
    var shared: SharedConversion.Cursor?
    /// Whether the next audio is the first after a full flush, so that its conversion may be shared.
    var mayShare = false
    var block: PCMBlock?
    var batch = PacketBatch()
    var pending = PendingSound.nothing
    /// A buffer that waits for a change of format or delivery.
    var nextFormat: SampleBuffer?
    /// Whether the end of input was signalled to the converter, and to the output.
    var isFinishing = false
    var isFinished = false
    /// Whether audio of the current format is dropped, because it cannot be decoded or delivered.
    var isRefused = false
    /// Whether a failure of the output was reported.
    var isSilent = false
    var resume = ResumePoint()
    /// Whether the delivery must be negotiated again; true only while no audio is in progress, so that a change has no
    /// gap.
    var mustRenegotiate = true
    var speed: Double = 1
    var change = TreatmentChange()
    var reports = FeederReports()

    /// Audio in the converter is cut at this media time, because the rest was flushed.
    var limit: MediaTime?
    /// The end of the audio taken from the queue, in media time.
    var takenUntil: MediaTime?
    /// The partial flush that the output has to decide.
    var partialFlush: PartialFlushRequest?
    var passed = PassThroughRun()

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
            HostInstant.first(attention, renderer.state.withLock { $0.nextNeed }), HostInstant.first(takerDue, change.nextDue))
    }

    /// Cancels partial flushes, closes the output and ends the feeder.
    private mutating func retire() {
        isRetired = true
        overtakePartialFlush()
        shared = nil
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
        // Read before the flush, which resets `acceptedUntil`.
        let held = output?.acceptedUntil
        if command.isFlush {
            forget()
            output?.flush()
        }
        if command.speed != speed {
            speed = command.speed
            converter = nil
            // Packets cannot be time-stretched, so the delivery is negotiated again.
            format = nil
            mustRenegotiate = true
            output?.setSpeed(speed)
        }
        if command.isOutputChange {
            forget()
            var lostFrom: MediaTime?
            if let old = output, old !== command.output {
                if held != nil { lostFrom = renderer.timebase.currentTime }
                old.close()
            }
            output = command.output
            taker = output as? any PullingAudioOutput
            takerDue = nil
            delivery = nil
            converter = nil
            encoder.remove()
            isRefused = false
            context = renderer.outputContext(command.outputID)
            output?.setSpeed(speed)
            if let gain = command.gain { output?.setGain(gain) }
            output?.setProcessing(change.processing)
            if let lostFrom { renderer.reportAutomaticFlush(from: lostFrom) }
        }
        if command.isFlush || command.isOutputChange {
            resume = ResumePoint(command.resumesFrom)
            mayShare = true
        }
    }

    /// Discards all audio in progress, for a seek.
    mutating func forget() {
        converter?.reset(to: change.processing)
        encoder.reset()
        (shared, mayShare) = (nil, false)
        pending = .nothing
        nextFormat = nil
        limit = nil
        takenUntil = nil
        mustRenegotiate = true
        isFinishing = false
        isFinished = false
        isRefused = false
        isSilent = false
        passed.reset()
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
        if !pending.isEmpty { return handOver(to: output) }
        if convertMore() { return true }
        guard let buffer = takeNext() else { return finishIfDone(output) }
        return begin(buffer, output: output)
    }

    private mutating func begin(_ buffer: SampleBuffer, output: any AudioOutput) -> Bool {
        isFinishing = false
        isFinished = false
        encoder.continueAfterFinish()
        if let shared { return send(buffer, to: shared) }
        if settleTail(before: buffer, output: output) { return true }
        let incoming = buffer.audioFormat(after: format)
        // Refused audio stays refused until a seek, another format or another output.
        if isRefused, incoming == format { return true }
        if limit != nil {
            if let converter, format != nil, delivery != nil {
                // The new buffer is not contiguous with the cut: drain the audio before the cut first.
                converter.finish()
                format = nil
                nextFormat = buffer
                return true
            }
            limit = nil
        }
        if buffer.flags.contains(.gaplessBoundary), case .passThrough? = delivery, renderer.mustDecode {
            // Packets cannot be cut: audio after this gapless boundary is decoded.
            format = nil
        }
        if incoming != format || delivery == nil || mustRenegotiate {
            if let turn = agree(on: incoming, for: buffer, output: output) { return turn }
        }
        limit = buffer.heardUntil
        takenUntil = buffer.soundEnd ?? takenUntil
        guard !isRefused else { return true }
        switch (delivery, buffer.payload) {
        case (.passThrough, .encodedAudio(_, let packets)):
            mayShare = false
            // The output plays all audio it receives, so preroll is not delivered.
            guard !buffer.flags.contains(.decodeOnly) else { return true }
            let wanted = limit.map { packets.prefix(before: $0) } ?? packets
            let delivered = passed.begin(
                wanted, from: resume.packets(before: wanted), at: buffer.presentationTime, of: incoming, limit: limit)
            if let delivered { pending = .packets(delivered.packets, delivered.offset) }
        case (.sampleBuffers, _): pending = .buffer(buffer)
        default:
            if beginSharing(buffer, of: incoming) { return true }
            if converter == nil, !makeConverter(for: incoming) { return true }
            if let end = passed.end, !buffer.flags.contains(.decodeOnly) {
                joinEncoder(at: buffer.presentationTime, after: end)
            }
            passed.clearGaplessBoundary()
            do {
                try converter?.send(buffer)
            } catch {
                renderer.report(.cannotDecode(error))
                isRefused = true
            }
        }
        return true
    }

    /// Receives one block from the converter or packets from the encoder; returns false if none are available.
    private mutating func convertMore() -> Bool {
        if let shared { return receive(from: shared) }
        guard let converter, let block, !isRefused else { return false }
        do {
            batch.removeAll()
            if try encoder.receive(into: batch) {
                pending = .packets(batch, 0)
                return true
            }
            if try encoder.sendHeld(block) { return true }
            guard try converter.receive(into: block) else { return false }
            if let limit, !block.cut(at: limit) { return true }
            let unwanted = resume.frames(before: block)
            if encoder.isPresent {
                block.dropFirst(unwanted)
                if block.frames > 0 { try encoder.send(block) }
            } else if unwanted < block.frames {
                pending = .block(block, unwanted)
            }
        } catch {
            renderer.report(.cannotDecode(error))
            isRefused = true
        }
        let damaged = converter.decodeErrorCount
        if reports.noteDamage(damaged) {
            let lost = converter.takeUndecodableSound()
            renderer.state.withLock { $0.noteDamage(damaged, lost) }
        }
        return true
    }

    private mutating func handOver(to output: any AudioOutput) -> Bool {
        // Signals raised meanwhile are handled by this attempt.
        let (taken, packets) = pending.offer(to: output)
        let done = pending.isEmpty
        if passesPackets { passed.noteDelivery(packets) }
        if taken > 0 {
            let until = output.acceptedUntil
            renderer.state.withLock { state in
                state.accept(until: until)
                if !isRefused { state.clearDecodingFailure() }
            }
            noteAcceptance(until)
            renderer.report(.progress)
        }
        if done { announceReadiness() }
        return done
    }

    /// Drains converter, encoder and output at the end of the queue. Always returns false once the output drains.
    private mutating func finishIfDone(_ output: any AudioOutput) -> Bool {
        guard renderer.state.withLock({ $0.isAtEnd(for: life) }) else { return false }
        if let tail = passed.takeTail() {
            pending = .packets(tail, 0)
            return true
        }
        if !isFinishing {
            isFinishing = true
            if let shared {
                if !shared.send(.end) { stopSharing() }
            } else {
                converter?.finish()
            }
            return true
        }
        if encoder.finish() { return true }
        if !isFinished {
            isFinished = true
            // A finished decoder accepts no input until it is reset, and more media may follow (a loop, a next item).
            converter?.reset()
            encoder.restart()
            output.finish()
        }
        guard output.isDrained else { return false }
        encoder.endFinish()
        isFinishing = false
        isFinished = false
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
