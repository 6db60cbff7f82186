internal import MediaCore
internal import Synchronization

/// The audio between a renderer's store and an output: converted, encoded or passed through, as the output requires.
///
/// Confined to the feeder thread.
struct DeliveryPipeline {
    private let feed: OutputFeed
    private(set) var delivery: AudioDelivery?
    private var format: AudioFormat?
    /// Media seconds per second of audio.
    private var speed: Double = 1
    /// The channels that the output plays.
    private var channels = ChannelSelection.whole
    /// The processing of later audio.
    var processing = AudioProcessing.none
    private var conversion = ConversionRun()
    /// The measured loudness and the gain that results.
    private let leveller = LoudnessLeveller()
    private var batch = PacketBatch()
    private var passed = PassThroughRun()
    /// The conversion of a group that replaces `conversion`; nil: this pipeline converts.
    private var shared: SharedConversion.Cursor?
    /// Whether the next audio is the first after a full flush, so that its conversion may be shared.
    private var mayShare = false
    /// The audio to deliver.
    private var pending = PendingAudio.nothing
    /// A buffer that waits for a change of format or delivery.
    private var nextFormat: SampleBuffer?
    /// What the end of input was signalled to.
    private enum Ending { case none, converter, output }
    private var ending = Ending.none
    /// Whether audio of the current format is dropped, because it cannot be decoded or delivered.
    private(set) var isRefused = false
    /// Whether a failure of the output was reported.
    private var isSilent = false
    private var resume = ResumePoint()
    /// Whether the delivery must be negotiated again; true only while no audio is in progress, so that a change has no
    /// gap.
    private var mustRenegotiate = true
    /// Audio in the converter is cut at this media time, because the rest was flushed.
    private var limit: MediaTime?
    /// The end of the audio taken from the store, in media time.
    private var takenUntil: MediaTime?
    /// The format for which the output is being prepared, or was prepared last without a conversion since; nil: none.
    private var agreed: AudioFormat?
    /// Whether the output is being prepared for another delivery, so that it must not be called.
    private(set) var isPreparing = false
    /// The number of undecodable packets at the last report.
    private var decodeErrorCount = 0

    init(feed: OutputFeed) { self.feed = feed }

    /// Whether audio waits for delivery.
    var hasPending: Bool { !pending.isEmpty }
    var passesPackets: Bool { if case .passThrough? = delivery { true } else { false } }
    private var isEncoding: Bool { if case .encoded? = delivery { true } else { false } }
    /// Whether the output's audio can be cut: stretched packets are not.
    var canCutAccepted: Bool { speed == 1 || !isEncoding }

    // MARK: Commands

    /// Discards all audio in progress, for a seek.
    mutating func reset() {
        conversion.reset(to: processing)
        (shared, mayShare) = (nil, false)
        pending = .nothing
        nextFormat = nil
        limit = nil
        takenUntil = nil
        mustRenegotiate = true
        agreed = nil
        ending = .none
        isRefused = false
        isSilent = false
        passed.reset()
    }

    /// Sets the delivery for which another output is prepared; nil: it is not.
    mutating func setDelivery(_ delivery: AudioDelivery?) {
        self.delivery = delivery
        (format, isPreparing) = (nil, false)
        conversion.converter = nil
        conversion.encoder.remove()
    }

    /// Continues with the delivery for which the same output was prepared again.
    mutating func adopt(_ delivery: AudioDelivery) {
        guard isPreparing else { return }
        setDelivery(delivery)
    }

    /// Continues after a full flush.
    ///
    /// - Parameter time: Earlier audio only primes the codecs; nil: all audio is delivered.
    mutating func resume(from time: MediaTime?) {
        resume = ResumePoint(time)
        mayShare = true
    }

    mutating func setSpeed(_ speed: Double) {
        guard speed != self.speed else { return }
        self.speed = speed
        conversion.converter = nil
        // Packets cannot be time-stretched, so the delivery is negotiated again.
        format = nil
        mustRenegotiate = true
    }

    /// Sets the channels that the output plays. The caller has discarded the audio in progress.
    mutating func setChannels(_ channels: ChannelSelection) {
        guard channels != self.channels else { return }
        self.channels = channels
        conversion.converter = nil
        // Packets contain all channels, so the delivery is negotiated again.
        format = nil
        mustRenegotiate = true
    }

    /// Applies changed processing to the next audio, when the output holds none.
    mutating func applyProcessing() {
        conversion.converter?.setProcessing(processing, from: nil)
        mustRenegotiate = true
    }

    /// Ends a shared conversion, when the output is closed.
    mutating func endSharing() { shared = nil }

    // MARK: Delivery

    /// Offers the pending audio to the output; returns whether any was accepted.
    mutating func offer() -> Bool {
        let (taken, packets) = pending.offer(to: feed.abilities)
        if passesPackets { passed.recordDelivered(packets) }
        return taken > 0
    }

    /// Returns the buffer that waits for a change of format or delivery.
    mutating func removeWaiting() -> SampleBuffer? { nextFormat.take() }

    /// Drains converter and encoder and signals the end to the output. Returns true once that is done.
    mutating func finish(_ output: any AudioOutput) -> Bool {
        if let tail = passed.removeTail() {
            pending = .packets(tail, 0)
            return false
        }
        if ending == .none {
            ending = .converter
            if let shared {
                if !shared.send(.end) { stopSharing() }
            } else {
                conversion.converter?.finish()
            }
            return false
        }
        if conversion.encoder.finish() { return false }
        if ending == .converter {
            ending = .output
            conversion.restart()
            output.finish()
        }
        return true
    }

    /// Ends `finish` after the output has drained.
    mutating func endFinish() {
        conversion.encoder.endFinish()
        ending = .none
    }

    /// Returns a failure of the output once.
    mutating func newFailure(of output: any AudioOutput) -> OutputError? {
        guard delivery != nil, let failure = output.failure, !isSilent, !isRefused else { return nil }
        isSilent = true
        // The output skips audio that it cannot decode; the next format may be decodable.
        isRefused = failure.code != .unsupportedFormat
        if isRefused { shared = nil }
        return failure
    }

    // MARK: Conversion

    /// Starts the conversion of a buffer; returns false if it waits for the output to play what it has.
    mutating func begin(_ buffer: SampleBuffer, for output: any AudioOutput) -> Bool {
        ending = .none
        conversion.encoder.continueAfterFinish()
        if let shared { return send(buffer, to: shared) }
        if settleTail(before: buffer, output: output) { return true }
        let incoming = buffer.audioFormat(after: format)
        // Refused audio stays refused until a seek, another format or another output.
        if isRefused, incoming == format { return true }
        if limit != nil {
            // The new buffer is not contiguous with the cut: drain the audio before the cut first.
            if conversion.converter != nil, format != nil, delivery != nil { return drain(before: buffer) }
            limit = nil
        }
        if buffer.flags.contains(.gaplessBoundary), passesPackets, feed.mustDecode {
            // Packets cannot be cut: audio after this gapless boundary is decoded.
            format = nil
        }
        if incoming != format || delivery == nil || mustRenegotiate {
            if let result = agree(on: incoming, for: buffer, output) { return result }
        }
        limit = buffer.heardUntil
        takenUntil = buffer.audioEnd ?? takenUntil
        guard !isRefused else { return true }
        switch (delivery, buffer.payload) {
        case (.passThrough(let passedFormat), .encodedAudio(_, let packets)):
            mayShare = false
            // The output plays all audio it receives, so preroll is not delivered.
            guard !buffer.flags.contains(.decodeOnly) else { return true }
            let wanted = limit.map { packets.prefix(before: $0) } ?? packets
            let delivered = passed.begin(
                wanted, from: resume.packets(before: wanted), at: buffer.presentationTime, of: passedFormat,
                limit: limit)
            if let delivered { pending = .packets(delivered.packets, delivered.offset) }
        default: convert(buffer, of: incoming)
        }
        return true
    }

    private mutating func convert(_ buffer: SampleBuffer, of incoming: AudioFormat) {
        if beginSharing(buffer, of: incoming) { return }
        if conversion.converter == nil, !makeConverter(for: incoming, processing) { return }
        if let end = passed.end, !buffer.flags.contains(.decodeOnly) {
            joinEncoder(at: buffer.presentationTime, after: end)
        }
        passed.clearGaplessBoundary()
        do {
            try conversion.converter?.send(buffer)
        } catch {
            feed.reportUndecodable(error)
            isRefused = true
        }
    }

    /// Receives one block from the converter or packets from the encoder; returns false if none are available.
    mutating func convertMore() -> Bool {
        if let shared { return receive(from: shared) }
        guard !isRefused else { return false }
        do {
            batch.removeAll()
            let received = try conversion.receive(into: batch, until: limit, from: &resume)
            reportDamage()
            guard let received else { return false }
            pending = received
        } catch {
            feed.reportUndecodable(error)
            isRefused = true
            reportDamage()
        }
        return true
    }

    /// Reports new undecodable packets, also if nothing was decoded.
    private mutating func reportDamage() {
        let count = conversion.decodeErrorCount
        if count != decodeErrorCount { report(count, conversion.converter?.consumeUndecodableAudio()) }
    }

    /// Reports the number of undecodable packets and their audio.
    private mutating func report(_ count: Int, _ lost: UndecodableAudio?) {
        decodeErrorCount = count
        feed.state.withLock { $0.recordDamage(count, lost) }
    }

    // MARK: Negotiation

    /// Negotiates how audio of a format is converted and delivered.
    ///
    /// Returns nil if `buffer` can be processed now. Otherwise the buffer is stored in `nextFormat`, and the result is
    /// true if the feeder can continue at once.
    private mutating func agree(
        on incoming: AudioFormat, for buffer: SampleBuffer, _ output: any AudioOutput
    ) -> Bool? {
        if delivery != nil, incoming == agreed {
            begin(incoming)
            return nil
        }
        if !mustRenegotiate, format != nil, delivery != nil, conversion.converter != nil {
            // Drains the converter of the old format before the new one starts.
            guard conversion.adopt(incoming) else { return drain(before: buffer) }
            format = incoming
            return nil
        }
        guard let wanted = wantedDelivery(for: incoming, output: output) else {
            // Another delivery discards the output's buffer, so that buffer must play out first.
            nextFormat = buffer
            return false
        }
        if wanted == delivery, incoming == format, !isRefused {
            // After a seek the format and delivery are unchanged.
            mustRenegotiate = false
            return nil
        }
        mustRenegotiate = false
        if wanted != delivery {
            // On another thread, because a device may open meanwhile.
            (isPreparing, agreed, nextFormat, format) = (true, incoming, buffer, nil)
            feed.prepareAgain(wanted, for: channels.presented(incoming), mustDecode: speed != 1 || feed.mustDecode)
            return true
        }
        begin(incoming)
        return nil
    }

    /// Creates the converter for a format, if the delivery needs one now.
    private mutating func begin(_ incoming: AudioFormat) {
        (format, agreed, isRefused) = (incoming, nil, false)
        conversion.converter = nil
        switch delivery {
        case .passThrough: break
        case .encoded where maySharePackets: break
        case .pcm, .encoded, nil: isRefused = !makeConverter(for: incoming, processing)
        }
    }

    /// Drains the converter before a buffer that another one converts; returns true.
    private mutating func drain(before buffer: SampleBuffer) -> Bool {
        conversion.converter?.finish()
        format = nil
        nextFormat = buffer
        return true
    }

    /// Returns the delivery for audio of a format; nil until the output has played its buffer.
    private func wantedDelivery(for format: AudioFormat, output: any AudioOutput) -> AudioDelivery? {
        let mustDecode = speed != 1 || feed.mustDecode
        let format = channels.presented(format)
        guard let delivery else { return output.delivery(for: format, mustDecode: mustDecode) }
        // The device keeps its format and audio is converted to it, so that gapless boundaries have no gap.
        if case .pcm = delivery, case .pcm = output.delivery(for: format, mustDecode: mustDecode) { return delivery }
        if mustRenegotiate { return output.delivery(for: format, mustDecode: mustDecode) }
        let packets = feed.abilities.packets
        if let same = packets?.continuation(of: delivery, with: format, mustDecode: mustDecode) { return same }
        if let until = output.acceptedUntil, until > feed.timebase.currentTime { return nil }
        return output.delivery(for: format, mustDecode: mustDecode)
    }

    /// Creates the converter and, for encoded delivery, the encoder; returns false on failure, which is reported.
    private mutating func makeConverter(for format: AudioFormat, _ processing: AudioProcessing) -> Bool {
        guard let setup = setup(for: format, processing) else { return false }
        do throws(MediaError) {
            try conversion.begin(setup, leveller: leveller, codecs: feed.codecs)
            return true
        } catch {
            refuse(error)
            return false
        }
    }

    /// Returns the conversion to the current delivery; nil if that needs none.
    private func setup(for format: AudioFormat, _ processing: AudioProcessing) -> ConversionRun.Setup? {
        switch delivery {
        case .pcm(let pcm):
            ConversionRun.Setup(
                format: format, target: nil, pcm: pcm, speed: speed, processing: processing, channels: channels)
        case .encoded(let target, let pcm):
            ConversionRun.Setup(
                format: format, target: target, pcm: pcm, speed: speed, processing: processing, channels: channels)
        case .passThrough, nil: nil
        }
    }

    private mutating func refuse(_ error: MediaError) {
        isRefused = true
        feed.reportUndecodable(error)
    }

    // MARK: Gapless boundaries

    /// Decides whether to deliver or drop the retained tail packet before `buffer`; returns true if the tail is
    /// delivered first.
    private mutating func settleTail(before buffer: SampleBuffer, output: any AudioOutput) -> Bool {
        if buffer.flags.contains(.gaplessBoundary) { passed.markGaplessBoundary() }
        guard passed.hasTail else { return false }
        if passed.isAtGaplessBoundary,
            let wanted = wantedDelivery(for: buffer.audioFormat(after: format), output: output)
        {
            let passesThrough = if case .passThrough = wanted { true } else { false }
            guard passed.decideTail(before: buffer, passesThrough: passesThrough) == .delivered else { return false }
        }
        guard let tail = passed.removeTail() else { return false }
        pending = .packets(tail, 0)
        nextFormat = buffer
        return true
    }

    /// Aligns encoded audio with preceding pass-through packets.
    ///
    /// The first encoded packet starts at the end of the last one, so that every frame plays at its time.
    private mutating func joinEncoder(at beginning: MediaTime?, after end: MediaTime) {
        defer { passed.endTimeline() }
        guard case .encoded(_, let pcm)? = delivery, conversion.encoder.isPresent, let beginning else { return }
        let hole = Int(clamping: (beginning - end).rescaled(to: Int32(clamping: pcm.sampleRate)))
        if hole <= 0 { resume.raise(to: end) } else { conversion.encoder.fill(hole, from: end, pcm) }
    }

    // MARK: Conversion in common with other members of a group, until the outputs differ

    /// Whether the next audio starts a conversion that other members may share, if its delivery is encoded.
    ///
    /// An only member converts alone. So does normalization, whose measurement outlasts a flush.
    private var maySharePackets: Bool {
        mayShare && feed.scope.hasSeveralOutputs.load(ordering: .relaxed) && processing.loudness == nil
    }

    /// Joins or starts a shared conversion with the first buffer after a full flush. Returns false if this pipeline
    /// converts the buffer itself.
    private mutating func beginSharing(_ buffer: SampleBuffer, of format: AudioFormat) -> Bool {
        defer { mayShare = false }
        // The reader parts a buffer at its start, so that the next one is no other reader's.
        guard maySharePackets, isEncoding, !buffer.flags.contains(.decodeOnly),
            let key = setup(for: format, processing),
            buffer.heardUntil == nil, passed.end == nil
        else { return false }
        do throws(MediaError) {
            shared = try feed.scope.conversions.cursor(key, after: buffer, codecs: feed.codecs)
        } catch {
            refuse(error)
            return true
        }
        conversion.converter = nil
        conversion.encoder.remove()
        return true
    }

    /// Sends a buffer to the shared conversion, or stops sharing if it differs from that of another member.
    private mutating func send(_ buffer: SampleBuffer, to shared: SharedConversion.Cursor) -> Bool {
        if buffer.heardUntil == nil, buffer.audioFormat(after: format) == format, shared.send(.audio(buffer)) {
            takenUntil = buffer.audioEnd ?? takenUntil
        } else {
            // The buffer is read again.
            stopSharing()
        }
        return true
    }

    /// Receives packets from the shared conversion; returns false if it needs another buffer.
    private mutating func receive(from shared: SharedConversion.Cursor) -> Bool {
        switch shared.next() {
        case .inputNeeded: return false
        case .evicted: stopSharing()
        case .step(let step):
            if let packets = step.packets {
                let skipped = resume.packets(endingBefore: packets)
                if skipped < packets.packets.count { pending = .packets(packets, skipped) }
            }
            if let (count, lost) = step.damage { report(count, lost) }
            if let error = step.error {
                feed.reportUndecodable(error)
                isRefused = true
                self.shared = nil
            }
        }
        return true
    }

    /// Continues with a separate converter and encoder, from the end of the packets that the output has accepted. The
    /// packets keep their times.
    mutating func stopSharing() {
        guard let shared else { return }
        var position = shared.end
        if case .packets(let packets, let offset) = pending {
            position = packets.packets[offset].presentationTime ?? position
        }
        let start = position ?? shared.start ?? .zero
        reset()
        mustRenegotiate = false
        resume = ResumePoint(position)
        feed.state.withLock { $0.move(to: start, isDiscontinuous: false) }
        if let format { _ = makeConverter(for: format, shared.conversion.key.processing) }
    }

    // MARK: Cuts

    /// Receives nothing more until audio from a time on is removed from the store.
    ///
    /// - Parameter isLast: Whether the audio taken by the feeder already ends at that time.
    mutating func cutStore(at time: MediaTime, isLast: Bool) {
        let isEmpty = feed.state.withLock { $0.cut(at: time, isLast: isLast) }
        // The next buffer is different audio, even if it is contiguous.
        if isEmpty, conversion.converter != nil { limit = min(limit ?? time, time) }
        ending = .none
    }

    /// Removes audio from a time on that is after all audio that the output has accepted.
    mutating func cut(at time: MediaTime) {
        if let waiting = nextFormat {
            if let start = waiting.presentationTime, start < time {
                nextFormat?.heardUntil = min(waiting.heardUntil ?? time, time)
            } else {
                nextFormat = nil
            }
        }
        passed.cut(at: time, isPassing: passesPackets)
        guard let takenUntil, takenUntil > time else { return cutStore(at: time, isLast: false) }
        cutStore(at: time, isLast: true)
        self.takenUntil = time
        guard isEncoding else { return pending.cut(at: time) }
        var waiting: (packets: PacketBatch, offset: Int)?
        if case .packets(let packets, let offset) = pending { waiting = (packets, offset) }
        let kept = conversion.cut(at: time, waiting: waiting, delivery: delivery, codecs: feed.codecs)
        if let kept { pending = kept.packets.isEmpty ? .nothing : .packets(kept, 0) }
    }

    /// Discards all audio from a time on, after the output has flushed.
    ///
    /// - Parameters:
    ///   - end: The end of the audio that the output has kept.
    ///   - truncated: The packet that the flush has cut, on encoded delivery.
    mutating func cutAccepted(at time: MediaTime, keptUntil end: MediaTime?, truncated: PacketBatch?) {
        beginAfterCut(at: time, keptUntil: end, truncated: truncated)
        // The end of a shared conversion, whose audio has been discarded.
        resume = ResumePoint()
        feed.state.withLock { $0.cutAccepted(at: time, keptUntil: end) }
    }

    /// Reads again from the end of the output's audio and resets the converter.
    mutating func feedAgain(from time: MediaTime, keptUntil end: MediaTime?, truncated: PacketBatch?) {
        let before = conversion.converter?.processing ?? .none
        beginAfterCut(at: time, keptUntil: end, truncated: truncated)
        if passesPackets, feed.mustDecode { format = nil }
        let position = conversion.encoder.end ?? end ?? time
        // The new processing starts at the end of the output's audio with a ramp from the old one.
        conversion.resetConverter(from: before, to: processing, at: position)
        resume = ResumePoint(position)
        feed.state.withLock { $0.move(to: position, acceptedUntil: end) }
    }

    private mutating func beginAfterCut(at time: MediaTime, keptUntil end: MediaTime?, truncated: PacketBatch?) {
        reset()
        mustRenegotiate = false
        if passesPackets { passed.resume(after: end) }
        if let truncated {
            conversion.putBack(truncated, until: time, delivery: delivery, codecs: feed.codecs)
        }
    }
}
