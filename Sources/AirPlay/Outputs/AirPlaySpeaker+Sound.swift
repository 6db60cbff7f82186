internal import AirPlayTransport
internal import AirPlayWire
package import MediaCore
package import SyncRendering

/// Audio packets: their delivery, and flushing.
extension AirPlaySpeaker: PartialFlushing {
    // MARK: Delivery

    /// Returns pass-through for AAC that the speaker decodes, otherwise re-encoding. Any thread.
    package func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        state.withLock { $0.details.filmChannels = format.layout.count }
        return choice(for: format, mustDecode: mustDecode).delivery(of: format)
    }

    private func choice(for format: AudioFormat, mustDecode: Bool) -> DeliveryChoice {
        ownChoice(for: format, mustDecode: mustDecode).keeping(openStream, for: format)
    }

    /// Same for a new stream.
    private func ownChoice(for format: AudioFormat, mustDecode: Bool) -> DeliveryChoice {
        let details = state.withLock { $0.details }
        return DeliveryChoice(
            for: format, mustDecode: mustDecode, reencoding: encoding == .aac ? .aacLC : .appleLossless,
            bits: bits, channels: channels, offered: details.reported.offered ?? Set(StreamFormat.all),
            route: details.routes[0])
    }

    /// Why audio is sent with fewer channels or bits than requested; nil if it is not. Any thread.
    package var formatReduction: OutputError? {
        let (details, input) = state.withLock { ($0.details, $0.input) }
        let route = details.routes[0]
        let wanted = min(channels, details.filmChannels)
        if let input, wanted > max(2, input.format.channels) {
            let surround = (wanted > 6 ? ChannelLayout.surround71 : .surround51).displayName
            return OutputError(
                .unsupportedFormat,
                "\(name) offers no \(surround) stream on the route \(route.rawValue); it gets "
                    + input.format.layout.displayName)
        }
        guard bits == 24, let input, !input.isPassThrough, input.format.bitsPerSample < 24,
            route != .buffered || details.reported.offered?.contains(.lossless48000) == false
        else { return nil }
        let sent = input.format.coding == .appleLossless ? "16 bits at 44.1 kHz" : "AAC"
        return OutputError(
            .unsupportedFormat, "\(name) offers no 24-bit stream on the route \(route.rawValue); it gets \(sent)")
    }

    private var openStream: StreamFormat? {
        state.withLock { state in state.session.map { $0.isLost } == false ? state.input?.format : nil }
    }

    /// Returns the delivery into the open stream: packets of its format pass through, others are re-encoded. Nil
    /// without an open stream.
    package func continuation(
        of delivery: AudioDelivery, with format: AudioFormat, mustDecode: Bool
    ) -> AudioDelivery? {
        guard let open = openStream else { return nil }
        state.withLock { $0.details.filmChannels = format.layout.count }
        if case .passThrough = delivery, !mustDecode,
            DeliveryChoice.untouched(format, channels: open.channels) == open
        {
            return choice(for: format, mustDecode: false).delivery(of: format)
        }
        return DeliveryChoice(encodingInto: open).delivery(of: format)
    }

    /// Opens a session and a stream, unless the open stream fits. Blocks until the speaker has responded. Called by the
    /// opening thread.
    ///
    /// - Throws: `OutputError`; no session is held then.
    package func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        let choice: DeliveryChoice
        switch delivery {
        // The packets come as they are, also where another stream was opened since the delivery was chosen.
        case .passThrough(let format): choice = ownChoice(for: format, mustDecode: false)
        case .encoded(let format, _):
            choice = DeliveryChoice(
                for: format, mustDecode: true,
                reencoding: format.parameters.codec == "aac" ? .aacLC : .appleLossless,
                bits: Int(format.parameters.bitsPerRawSample), channels: format.layout.count, route: route)
        case .pcm: throw OutputError(.unsupportedFormat, "\(name) accepts encoded audio only.")
        }
        let kept = state.withLock { state -> Bool in
            guard let session = state.session, !session.isLost, state.input?.format == choice.stream else {
                return false
            }
            state.context = context
            state.input?.join(isPassThrough: choice.isPassThrough)
            return true
        }
        // The speaker's buffer is kept: the renderer flushes explicitly.
        if kept { return }
        endSession()
        try open(choice, context)
    }

    // MARK: Packets

    /// Queues packets from index `offset` on. Returns the number accepted. Never blocks. Called by the feeder.
    ///
    /// After `failure` all packets are accepted and discarded.
    package func accept(_ batch: PacketBatch, from offset: Int) -> Int {
        let (taken, reachesPreroll) = state.withLock { state -> (Int, Bool) in
            if state.failure != nil { return (state.input?.discard(batch, from: offset) ?? 0, false) }
            // Packets are kept until one second after they were audible: a new session may need them.
            let position = state.context.map { $0.timebase.snapshot.mediaTime(at: host.now).advanced(by: .seconds(-1)) }
            guard let accepted = state.input?.accept(batch, from: offset, position: position) else { return (0, false) }
            if accepted.taken > 0 { state.session?.wakeWriter() }
            return accepted
        }
        if reachesPreroll { requestAttention() }
        return taken
    }

    /// Discards all packets that are not audible yet. Returns at once; the request is sent on the control thread.
    package func flush() {
        let pending = state.withLock { state -> (AirPlaySession, PacketStore.Position)? in
            if state.input?.isEmpty == false { state.session?.haltStream() }
            // Done here, not on the control thread: packets accepted after this call must not be dropped.
            guard let position = state.input?.flush() else { return nil }
            state.anchors.reset()
            state.details.cuts.releaseAll()
            return state.session.map { ($0, position) }
        }
        guard let (session, position) = pending else { return }
        // ignored: a request fails with its session, whose loss is reported by its events.
        session.control.post { core in try? core.flush(until: position) }
    }

    // MARK: Partial flush

    /// The minimum lead of a partial flush over the playhead: the queue depth of a realtime stream, otherwise 1 s.
    package var partialFlushLead: Duration {
        let (session, setup) = state.withLock { ($0.session, $0.details.setup) }
        return StreamCut.lead(route, session.map { StatedLatency($0, setup) } ?? StatedLatency())
    }

    /// Starts the flush on the control thread. Returns at once. Called by the feeder.
    package func beginPartialFlush(from time: MediaTime) {
        let (session, epoch) = state.withLock { state in
            state.details.cuts.begin()
            return (state.session, state.anchors.epoch)
        }
        let isPosted = session?.control.post { [weak self] core in self?.cut(from: time, epoch, core) }
        // Without a session it is done here: a speaker that rejoins receives only the remaining packets.
        if isPosted != true { cut(from: time, epoch, nil) }
    }

    /// The result of the last flush; nil while it is undecided.
    package var partialFlushResult: PartialFlushResult? { state.withLock { $0.details.cuts.result } }

    /// After `flushed`: the packet that spans the requested time; nil if none does.
    package var truncatedPacket: PacketBatch? { state.withLock { $0.details.cuts.truncated } }

    /// Cuts the stream on the control thread.
    private func cut(from time: MediaTime, _ epoch: UInt64, _ core: SessionCore?) {
        let now = host.now
        let (input, context, stated, skips) = state.withLock { state in
            (
                state.input, state.context, state.session.map { StatedLatency($0, state.details.setup) },
                state.details.cuts.hasSpace(at: now) && state.details.reported.skipsPackets
            )
        }
        var outcome: StreamCut.Outcome?
        if let input, let context, let timestamp = input.timestamps.bound(of: time, rate: 1) {
            outcome = StreamCut(
                timestamp: timestamp, input: input, timebase: context.timebase, host: host, route: route,
                stated: stated ?? StatedLatency(), skipsPackets: skips
            ).run(on: core)
        }
        let writable = state.withLock { state in
            if let outcome, let input {
                state.finish(outcome, of: input, epoch)
            } else {
                state.details.cuts.decide(.flushed(from: time))
            }
            return state.context?.writable
        }
        if outcome?.voidsAnchor == true { core?.requestAttention() }
        if outcome != nil {
            input?.store.setHeld(false)
            // Also that of a session that has begun meanwhile.
            state.withLock { $0.session }?.wakeWriter()
        }
        writable?.raise()
    }
}

extension SpeakerState<AirPlaySession, AirPlaySpeaker.Details> {
    /// Continues the timeline after a cut, and records its result.
    ///
    /// - Parameters:
    ///   - before: The input before the cut.
    ///   - epoch: The epoch of the request. After a seek it differs, and nothing is continued.
    fileprivate mutating func finish(_ outcome: StreamCut.Outcome, of before: StreamInput, _ epoch: UInt64) {
        if let lead = outcome.refusal {
            details.cuts.decide(.refused(leadNeeded: lead))
        } else {
            if let truncated = outcome.truncated, anchors.epoch == epoch { input?.cut(at: truncated.timestamp) }
            let batch = outcome.truncated?.batch(in: before)
            let end = input?.acceptedUntil ?? batch?.packets.first?.presentationTime
            details.cuts.decide(.flushed(from: end ?? .zero), truncated: batch)
        }
        if let due = outcome.heldUntil { details.cuts.hold(until: due) }
        guard outcome.voidsAnchor else { return }
        anchors.void()
        details.cuts.releaseAll()
    }
}
