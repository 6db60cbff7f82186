internal import MediaCore

/// The feeder thread's own state: what is being converted and handed over. Lives and dies on that thread.
struct AudioFeeder {
    let renderer: AudioRenderer
    /// Which use of the renderer this feeder serves; when that is over, so is the feeder.
    let life: UInt64
    /// Counts what was moved and answered.
    var steps = 0
    var isRetired = false

    var output: (any AudioOutput)?
    /// The output, when it takes sound out of the renderer's queue by itself, and when it wants its next turn.
    var taker: (any SoundTaking)?
    var takerDue: HostInstant?
    /// Where the only member of a group finds sound once its own queue is empty.
    var supply: MemberSupply?
    var context: AudioOutputContext?
    var delivery: AudioDelivery?
    var format: AudioFormat?
    var converter: TreatedConverter?
    /// What was heard so far, and the gain that follows from it.
    let leveller = LoudnessLeveller()
    var encoder: (any PCMEncoder)?
    var block: PCMBlock?
    var batch = PacketBatch()
    /// What is being handed over, and how much of it was taken.
    var pending: Pending = .nothing
    var nextFormat: SampleBuffer?
    var isFinishing = false
    var isRefused = false
    /// The output has fallen silent by itself, and that was told.
    var isSilent = false
    /// What lies before this is only there for codecs to settle.
    var resumesFrom: MediaTime?
    /// Nothing is under way: how sound is handed over may change without a gap.
    var agreesAnew = true
    var speed: Double = 1
    /// What is done to decoded sound, and the change of it that is under way.
    var treatment = SoundTreatment.none
    var treatmentChange: TreatmentChange?
    /// It has changed, and the output holds sound as it was.
    var isTreatmentNew = false
    var damagedBefore = 0
    /// Film time up to which the encoder was given sound, and whether `block` waits until it has begun anew.
    var encodedUntil: MediaTime?
    var isBlockHeld = false
    var wasReadyToStart = true
    /// What was noted last of how far the output's sound reaches.
    var notedUntil: MediaTime?

    /// Sound inside the converter is heard up to here only: what followed was flushed.
    var limit: MediaTime?
    /// Film time up to which buffers have been taken from the queue.
    var takenUntil: MediaTime?
    /// The flush from a time on that the output is deciding about.
    var partialFlush: PartialFlushRequest?
    /// Packets that went to the output untouched, the one that is held back behind them, and whether the first of a piece that joins
    /// them is still to come.
    var line = PacketLine()
    var tail: PacketTail?
    var isAtJoint = false

    enum Pending {
        case nothing
        case block(PCMBlock, Int)
        case packets(PacketBatch, Int)
        case buffer(SampleBuffer)
    }

    /// - Parameter life: nil is the renderer's present use.
    init(renderer: AudioRenderer, life: UInt64? = nil) {
        self.renderer = renderer
        self.life = life ?? renderer.state.withLock { $0.life }
    }

    /// Waits for something to do and does it, until the renderer is removed or invalidated.
    mutating func run() {
        while true {
            let due = settle()
            if isRetired { return }
            renderer.awaitWork(until: due)
        }
    }

    /// Does everything that can be done without waiting. Tests call it in place of the thread.
    ///
    /// - Parameter limit: stops after so many steps; whoever limits it calls again until nothing moves.
    /// - Returns: when something is due although nobody raises the signal; nil: nothing.
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
            // An output that takes by itself does so a little at a time: what it has is told in between.
            takesOn = turnTaker()
            reportAcceptance()
            announceReadiness()
            announceReadinessToStart()
            attention = renderer.attend()
        } while takesOn
        return HostInstant.first(
            HostInstant.first(attention, renderer.nextNeed), HostInstant.first(takerDue, treatmentDue))
    }

    private mutating func retire() {
        isRetired = true
        overtakePartialFlush()
        output?.close()
        output = nil
        taker = nil
        renderer.retire()
    }

    // MARK: Commands

    private mutating func applyCommands() {
        let command = renderer.state.withLock { [life] state in
            // What a later use of the renderer was told is not for this feeder.
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
        // Before the flush, with which an output forgets how far it has come.
        let held = output?.acceptedUntil
        if command.flush {
            forget()
            output?.flush()
        }
        if command.speed != speed {
            speed = command.speed
            converter = nil
            // Packets cannot be stretched: how sound is handed over is agreed anew.
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

    /// Drops what is under way, for a jump.
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

    /// One step from queue to output; false when there is nothing to do or no room.
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
            // It had been told that nothing follows, and has given out everything since.
            encoder?.reset()
            encodedUntil = nil
            encoderFinished = false
        }
        if settleTail(before: buffer, output: output) { return true }
        let incoming = buffer.audioFormat(after: format)
        // Refused once, refused until a jump, another format or another output gives reason to try again.
        if isRefused, incoming == format { return true }
        if limit != nil {
            if let converter, format != nil, delivery != nil {
                // What comes is other sound than what was cut off: first everything before the cut comes out.
                converter.finish()
                format = nil
                nextFormat = buffer
                return true
            }
            limit = nil
        }
        if buffer.flags.contains(.joint), case .passThrough? = delivery, renderer.mustDecode {
            // Packets cannot be cut: from this joint on, sound is decoded.
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
            // The output would play it: it plays whatever it has in time.
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
                // What could not be decoded is behind us.
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
            // A finished decoder takes nothing more until it is reset, and film may go on (a loop, a next item).
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
            // Whatever came meanwhile is not done.
            guard !state.flushRequested, state.queue.isEmpty, state.finished || state.isEnding else { return }
            // How far it came is told no later than that it is done.
            state.status.acceptedUntil = until
            state.status.isDrained = true
        }
        renderer.tell(.progress)
        return false
    }
    var encoderFinished = false
    /// The output knows that nothing follows.
    var isFinished = false

    /// Requests have ended and less than this is left to be heard: then it is the end, and what waits inside comes out.
    /// See `AudioRenderer.nextNeed`.
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
    /// The format of the sound inside; decoded blocks name themselves as raw floats.
    ///
    /// - Parameter last: the format before, which is taken again where it is the same.
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
