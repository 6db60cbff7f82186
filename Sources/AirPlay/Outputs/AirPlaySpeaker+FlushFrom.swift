internal import AirPlayWire
public import MediaCore
public import SyncRendering

/// Taking back the end of what a speaker was sent.
///
/// A buffered speaker is asked to leave out packets by their numbers when they come up (FLUSHBUFFERED with a beginning);
/// what takes their place carries their timestamps, so that the line stays valid and the joint is exact to the sample. A
/// realtime stream is cut where it has not been sent.
extension AirPlaySpeaker: PartialFlushing {
    /// What became of the last request.
    enum Recall: Sendable {
        case open
        /// With the packet that reaches across the time.
        case decided(PartialFlushResult, severed: PacketBatch?)
    }

    /// shairport-sync decodes what is due within its buffer's desired length (0.75 s) and a tenth of a second more; what is
    /// decoded is played. Nothing is known about how far ahead others do.
    static let decodeAhead: Duration = .milliseconds(850)
    /// What the clocks of both ends may differ by while the speaker's own is settling.
    private static let clockSlack: Duration = .milliseconds(20)
    /// Enough for the request and its answer, so that the answer proves that the speaker knew in time.
    private static let recallLead: Duration = .seconds(1)
    /// What the sending thread may be ahead of where the queue's depth says it is.
    private static let realtimeSlack: Duration = .milliseconds(20)
    /// shairport-sync keeps ten such requests, and forgets further ones without a word.
    private static let mostRecalls = 8

    public var partialFlushLead: Duration {
        guard route == .buffered else {
            return RealtimeSender.depth(arrivalToRender: state.withLock { $0.setup?.arrivalToRender })
                + Self.realtimeSlack
        }
        return Self.recallLead
    }

    public func beginPartialFlush(from time: MediaTime) {
        let (session, epoch) = state.withLock { state in
            state.recall = .open
            return (state.session, state.epoch)
        }
        let isPosted = session?.control.post { [weak self] core in self?.recall(from: time, epoch, core) }
        // A speaker that is being brought back is sent what is left then.
        if isPosted != true { recall(from: time, epoch, nil) }
    }

    public var partialFlushResult: PartialFlushResult? {
        state.withLock { if case .decided(let result, _)? = $0.recall { result } else { nil } }
    }

    public var severedPacket: PacketBatch? {
        state.withLock { if case .decided(_, let severed)? = $0.recall { severed } else { nil } }
    }

    // MARK: The control thread

    private func recall(from time: MediaTime, _ epoch: UInt64, _ core: SessionCore?) {
        let (context, line, store, stream) = state.withLock { ($0.context, $0.line, $0.store, $0.stream) }
        var decision = Decision(result: .flushed(from: time))
        if let context, let line, let store, let stream, let timestamp = line.bound(of: time, rate: 1) {
            let cutting = Cutting(
                timestamp: timestamp, epoch: epoch, store: store, line: line, frames: stream.framesPerPacket,
                timebase: context.timebase)
            decision = recall(cutting, core)
            store.setHeld(false)
            core?.shared.writer?.wake()
        }
        let room = state.withLock { state in
            state.recall = .decided(decision.result, severed: decision.severed)
            return state.context?.room
        }
        room?.raise()
    }

    /// What becomes of a request.
    private struct Decision {
        var result: PartialFlushResult
        var severed: PacketBatch?

        static func tooLate(leadNeeded lead: Duration) -> Decision { Decision(result: .refused(leadNeeded: lead)) }
    }

    private struct Cutting {
        var timestamp: RTPTimestamp
        var epoch: UInt64
        var store: PacketStore
        var line: RTPTimestampMapper
        var frames: Int
        var timebase: Timebase
    }

    private func recall(_ cutting: Cutting, _ core: SessionCore?) -> Decision {
        let store = cutting.store
        if let core, core.isPlaying, route != .buffered {
            guard let severed = store.dropUnsent(from: cutting.timestamp, frames: cutting.frames) else {
                return .tooLate(leadNeeded: partialFlushLead)
            }
            return seal(cutting, severed)
        }
        store.setHeld(true)
        let cut = store.cut(at: cutting.timestamp, frames: cutting.frames)
        switch cut {
        case .nothing, .unsent: return seal(cutting, store.drop(cut))
        case .sent(let sent):
            guard let core, core.isPlaying else {
                // It holds packets and plays none of them: it forgets all of them and gets what is left.
                let severed = store.drop(cut)
                // ignored: the same; the next session starts from the store.
                if let core { _ = try? startAnew(cutting, core, from: cutting.timebase.currentTime) }
                return seal(cutting, severed)
            }
            return recall(sent, cut, cutting, core)
        }
    }

    /// The speaker plays, and holds what is to go.
    private func recall(
        _ sent: PacketCut.Sent, _ cut: PacketCut, _ cutting: Cutting, _ core: SessionCore
    ) -> Decision {
        let snapshot = cutting.timebase.snapshot
        let segment = snapshot.upcoming.rate > 0 ? snapshot.upcoming : snapshot.current
        guard let media = cutting.line.media(of: sent.timestamp), let due = segment.hostInstant(of: media) else {
            return .tooLate(leadNeeded: Self.recallLead)
        }
        let began = host.now
        guard due - began > Self.decodeAhead + Self.clockSlack else { return .tooLate(leadNeeded: Self.recallLead) }
        guard leavesOutByNumber(at: began, segment) else {
            // Nobody has seen this make of speaker leave packets out later. Starting anew is heard as a short gap.
            let severed = cutting.store.drop(cut)
            do throws(AirPlayError) {
                let next = segment.mediaTime(at: began.advanced(by: core.startLeads.request))
                try startAnew(cutting, core, from: next)
            } catch {
                // A connection that is gone is made anew, and then it gets what is left.
            }
            let decision = seal(cutting, severed)
            beginAgain(core)
            return decision
        }
        do throws(AirPlayError) {
            try core.forget(from: sent.from, until: sent.until)
            let known = host.now
            if due - known > Self.decodeAhead + Self.clockSlack {
                state.withLock { $0.recalls.append(due) }
                return seal(cutting, cutting.store.drop(cut))
            }
        } catch {
            if core.shared.isLost { return seal(cutting, cutting.store.drop(cut)) }
        }
        // The speaker may or may not have left it out. It gets everything again, as it was.
        beginAgain(core)
        let taken = host.now - began
        return .tooLate(leadNeeded: Self.recallLead + taken)
    }

    private func startAnew(_ cutting: Cutting, _ core: SessionCore, from time: MediaTime) throws(AirPlayError) {
        cutting.store.setHeld(false)
        guard let position = cutting.line.bound(of: time, rate: 1) else { return }
        _ = try core.rewind(to: position, gap: Self.gap(cutting.line))
    }

    /// The present anchor is void: the speaker is given everything that is left, and a new one.
    private func beginAgain(_ core: SessionCore) {
        state.withLock { state in
            state.epoch += 1
            state.recalls.removeAll()
        }
        core.requestAttention()
    }

    /// Whether the speaker is known to leave out packets when their numbers come up, and can keep one more request.
    private func leavesOutByNumber(at now: HostInstant, _ segment: TimebaseSegment) -> Bool {
        state.withLock { state in
            state.recalls.removeAll { $0 < now }
            let model = state.model?.lowercased() ?? ""
            let isKnown = model.hasPrefix("shairport") || model == "talkiespeaker"
            return isKnown && state.recalls.count < Self.mostRecalls
        }
    }

    /// What follows begins where the cut was made.
    private func seal(_ cutting: Cutting, _ severed: PacketStore.Severed?) -> Decision {
        let end = severed?.timestamp
        let kept = state.withLock { state -> MediaTime? in
            guard state.epoch == cutting.epoch, let end else { return state.acceptedUntil }
            state.line?.cut(at: end)
            state.isFinished = false
            state.acceptedUntil = cutting.line.media(of: end)
            // What an encoder gives out before its first sound is not wanted.
            state.isJoining = true
            return state.acceptedUntil
        }
        guard let severed, !severed.packet.isEmpty, let media = cutting.line.media(of: severed.timestamp) else {
            return Decision(result: .flushed(from: kept ?? .zero))
        }
        let batch = PacketBatch(reservingBytes: severed.packet.count, packets: 1)
        let length = MediaTime(value: Int64(cutting.frames), timescale: Int32(clamping: cutting.line.sampleRate))
        severed.packet.withUnsafeBytes {
            batch.append($0, as: PacketBatch.Packet(presentationTime: media, duration: length))
        }
        return Decision(result: .flushed(from: kept ?? media), severed: batch)
    }
}
