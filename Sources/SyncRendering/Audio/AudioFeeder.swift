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
    var taker: (any SoundTaking)?
    var takerDue: HostInstant?
    /// The group's queue, for its only member; read when the renderer's queue is empty.
    var supply: (any SampleSupply)?
    var context: AudioOutputContext?
    var delivery: AudioDelivery?
    var format: AudioFormat?
    var converter: TreatedConverter?
    /// The measured loudness and the gain that results.
    let leveller = LoudnessLeveller()
    var encoder: (any PCMEncoder)?
    var block: PCMBlock?
    var batch = PacketBatch()
    /// Audio being delivered, with the number of frames or packets already accepted.
    var pending: Pending = .nothing
    /// A buffer that waits for a change of format or delivery.
    var nextFormat: SampleBuffer?
    /// Whether the end of input was signalled to the converter.
    var isFinishing = false
    /// Whether audio of the current format is dropped, because it cannot be decoded or delivered.
    var isRefused = false
    /// Whether a failure of the output was reported.
    var isSilent = false
    /// Audio before this media time only primes the codecs and is not delivered.
    var resumesFrom: MediaTime?
    /// Whether the delivery must be negotiated again; true only while no audio is in progress, so that a change has no
    /// gap.
    var agreesAnew = true
    var speed: Double = 1
    /// The current audio processing, and its change in progress.
    var treatment = SoundTreatment.none
    var treatmentChange: TreatmentChange?
    /// Whether the processing has changed and the output holds audio with the old one.
    var isTreatmentNew = false
    /// The converter's count of undecodable packets at the last report.
    var damagedBefore = 0
    /// The end of the audio sent to the encoder, in media time. `isBlockHeld`: `block` follows a gap and waits for the
    /// restart of the encoder.
    var encodedUntil: MediaTime?
    var isBlockHeld = false
    var wasReadyToStart = true
    /// The last logged `acceptedUntil`.
    var notedUntil: MediaTime?

    /// Audio in the converter is cut at this media time, because the rest was flushed.
    var limit: MediaTime?
    /// The end of the audio taken from the queue, in media time.
    var takenUntil: MediaTime?
    /// The partial flush that the output has to decide.
    var partialFlush: PartialFlushRequest?
    /// The delivered pass-through packets, and the last packet retained after them. `isAtJoint`: the first packet after
    /// a gapless boundary is still missing.
    var line = PacketLine()
    var tail: PacketTail?
    var isAtJoint = false

    /// Audio being delivered and the offset of its first unaccepted frame or packet.
    enum Pending {
        case nothing
        case block(PCMBlock, Int)
        case packets(PacketBatch, Int)
        case buffer(SampleBuffer)
    }

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
            let due = settle()
            if isRetired { return }
            renderer.awaitWork(until: due)
        }
    }

    /// Does all work that does not block. Tests call it instead of running the thread.
    ///
    /// - Parameter limit: The maximum number of steps; the caller repeats the call until nothing advances.
    /// - Returns: When the next work is due without a signal; nil: not scheduled.
    @discardableResult
    mutating func settle(atMost limit: Int = .max) -> HostInstant? {
        guard !isRetired else { return nil }
        guard renderer.isServed(by: life) else {
            retire()
            return nil
        }
        var attention: HostInstant?
        var (count, takesOn) = (0, false)
        repeat {
            repeat {
                applyCommands()
                serveTreatment()
                servePartialFlush()
                count += 1
            } while count <= limit && progress()
            // A pulling output advances in small steps, so reports are made after each.
            takesOn = turnTaker()
            reportAcceptance()
            announceReadiness()
            announceReadinessToStart()
            attention = renderer.attend()
        } while takesOn
        return HostInstant.first(
            HostInstant.first(attention, renderer.nextNeed), HostInstant.first(takerDue, treatmentDue))
    }

    /// Cancels partial flushes, closes the output and ends the feeder.
    private mutating func retire() {
        isRetired = true
        overtakePartialFlush()
        output?.close()
        output = nil
        taker = nil
        renderer.retire()
    }

    // MARK: Commands

    /// Applies the pending flush, output, speed and processing from the renderer's state.
    private mutating func applyCommands() {
        let command = renderer.state.withLock { [life] state in
            // Commands for a later use of the renderer are not for this feeder.
            guard state.life == life else {
                return (
                    changed: false, output: state.output, id: state.outputID, flush: true, speed: state.speed,
                    gain: state.gain, treatment: state.effectiveTreatment, resume: MediaTime?.none
                )
            }
            defer {
                state.outputChanged = false
                state.flushRequested = false
                state.resumesFrom = nil
            }
            return (
                changed: state.outputChanged, output: state.output, id: state.outputID, flush: state.flushRequested,
                speed: state.speed, gain: state.gain, treatment: state.effectiveTreatment, resume: state.resumesFrom
            )
        }
        if command.flush || command.changed {
            overtakePartialFlush()
            settleTreatment()
        }
        note(command.treatment)
        // Read before the flush, which resets `acceptedUntil`.
        let held = output?.acceptedUntil
        if command.flush {
            forget()
            output?.flush()
        }
        if command.speed != speed {
            speed = command.speed
            converter = nil
            // Packets cannot be time-stretched, so the delivery is negotiated again.
            format = nil
            agreesAnew = true
            output?.setSpeed(speed)
        }
        if command.changed {
            forget()
            var lostFrom: MediaTime?
            if let old = output, old !== command.output {
                if held != nil { lostFrom = renderer.timebase.currentTime }
                old.close()
            }
            output = command.output
            taker = output as? any SoundTaking
            takerDue = nil
            delivery = nil
            converter = nil
            encoder = nil
            isRefused = false
            context = renderer.outputContext(command.id)
            output?.setSpeed(speed)
            if let gain = command.gain { output?.setGain(gain) }
            output?.setTreatment(treatment)
            if let lostFrom { renderer.state.withLock({ $0.onAutomaticFlush })?.call(lostFrom) }
        }
        if command.flush || command.changed { resumesFrom = command.resume }
    }

    /// Discards all audio in progress, for a seek.
    mutating func forget() {
        converter?.reset(to: treatment)
        encoder?.reset()
        pending = .nothing
        nextFormat = nil
        limit = nil
        takenUntil = nil
        encodedUntil = nil
        isBlockHeld = false
        agreesAnew = true
        isFinishing = false
        isFinished = false
        encoderFinished = false
        isRefused = false
        isSilent = false
        line = PacketLine()
        tail = nil
        isAtJoint = false
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
        if case .nothing = pending {} else { return handOver(to: output) }
        if convertMore() { return true }
        guard let buffer = takeNext() else { return finishIfDone(output) }
        return begin(buffer, output: output)
    }

    private mutating func begin(_ buffer: SampleBuffer, output: any AudioOutput) -> Bool {
        isFinishing = false
        isFinished = false
        if encoderFinished {
            // The encoder was finished and has returned all its packets.
            encoder?.reset()
            encodedUntil = nil
            encoderFinished = false
        }
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
        if buffer.flags.contains(.joint), case .passThrough? = delivery, renderer.mustDecode {
            // Packets cannot be cut: audio after this gapless boundary is decoded.
            format = nil
        }
        if incoming != format || delivery == nil || agreesAnew {
            if let turn = agree(on: incoming, for: buffer, output: output) { return turn }
        }
        limit = buffer.heardUntil
        takenUntil = buffer.soundEnd ?? takenUntil
        guard !isRefused else { return true }
        switch (delivery, buffer.payload) {
        case (.passThrough, .encodedAudio(_, let packets)):
            // The output plays all audio it receives, so preroll is not delivered.
            guard !buffer.flags.contains(.decodeOnly) else { return true }
            beginPackets(packets, of: buffer, incoming)
        case (.sampleBuffers, _): pending = .buffer(buffer)
        default:
            if converter == nil, !makeConverter(for: incoming) { return true }
            if line.end != nil, !buffer.flags.contains(.decodeOnly) { joinEncoder(at: buffer.presentationTime) }
            isAtJoint = false
            do {
                try converter?.send(buffer)
            } catch {
                renderer.tell(.cannotDecode(error))
                isRefused = true
            }
        }
        return true
    }

    /// Receives one block from the converter or packets from the encoder; returns false if none are available.
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
            if isBlockHeld, let encoder {
                isBlockHeld = false
                encoder.reset()
                encodedUntil = nil
                try encode(block, with: encoder)
                return true
            }
            guard try converter.receive(into: block) else { return false }
            if let limit, !block.cut(at: limit) { return true }
            let unwanted = framesBeforeResuming(in: block)
            if let encoder {
                block.dropFirst(unwanted)
                if block.frames > 0 { try encode(block, with: encoder) }
            } else if unwanted < block.frames {
                pending = .block(block, unwanted)
            }
        } catch {
            renderer.tell(.cannotDecode(error))
            isRefused = true
        }
        if converter.damagedPackets != damagedBefore {
            damagedBefore = converter.damagedPackets
            let lost = converter.takeUndecodableSound()
            renderer.state.withLock { [damagedBefore] state in
                state.status.damagedPackets = damagedBefore
                guard let lost else { return }
                state.undecodable = state.undecodable?.adding(lost) ?? lost
                state.status.undecodable = state.status.undecodable?.adding(lost) ?? lost
            }
        }
        return true
    }

    private mutating func handOver(to output: any AudioOutput) -> Bool {
        // Signals raised meanwhile are handled by this attempt.
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
            noteHandOver(packets.packets[offset..<min(offset + taken, packets.packets.count)])
            done = offset + taken >= packets.packets.count
            pending = done ? .nothing : .packets(packets, offset + taken)
        case .buffer(let buffer):
            done = output.accept(buffer)
            taken = done ? 1 : 0
            pending = done ? .nothing : .buffer(buffer)
        }
        if taken > 0 {
            let until = output.acceptedUntil
            renderer.state.withLock { [isRefused] state in
                if !state.flushRequested { state.status.acceptedUntil = until }
                // The undecodable audio has been passed.
                if let failure = state.failure, !isRefused, failure is MediaError {
                    state.failure = nil
                    state.status.hasFailed = false
                }
            }
            noteAcceptance(until)
            renderer.tell(.progress)
        }
        if done { announceReadiness() }
        return done
    }

    /// Drains converter, encoder and output at the end of the queue. Always returns false once the output drains.
    private mutating func finishIfDone(_ output: any AudioOutput) -> Bool {
        guard isAtEnd() else { return false }
        if releaseTail() { return true }
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
            // A finished decoder accepts no input until it is reset, and more media may follow (a loop, a next item).
            converter?.reset()
            encoder?.reset()
            encodedUntil = nil
            output.finish()
        }
        guard output.isDrained else { return false }
        encoderFinished = false
        isFinishing = false
        isFinished = false
        let until = output.acceptedUntil
        renderer.state.withLock { state in
            // Audio that arrived meanwhile keeps the renderer undrained.
            guard !state.flushRequested, state.queue.isEmpty, state.finished || state.isEnding else { return }
            // `acceptedUntil` is published together with `isDrained`.
            state.status.acceptedUntil = until
            state.status.isDrained = true
        }
        renderer.tell(.progress)
        return false
    }
    /// Whether the end of input was signalled to the encoder.
    var encoderFinished = false
    /// Whether the end of input was signalled to the output.
    var isFinished = false

    /// Requests have stopped and less audio than this remains: the queue is considered complete and the converter is
    /// drained. See `AudioRenderer.nextNeed`.
    static let lastMoment: Duration = .milliseconds(250)

    private func isAtEnd() -> Bool {
        renderer.state.withLock { state in
            guard state.queue.isEmpty, !state.status.isDrained, !state.flushRequested, state.life == life else {
                return false
            }
            guard !state.finished else { return true }
            guard state.isEnding, let last = state.enqueuedUntil else { return false }
            let until = state.status.acceptedUntil ?? last
            return (until - state.master.currentTime).duration < Self.lastMoment
        }
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
