internal import AirPlayWire
public import MediaCore
public import SyncRendering

/// Flushes the end of what was sent to the speaker.
///
/// A buffered speaker is asked to skip packets by sequence number (FLUSHBUFFERED with a start). The replacement packets
/// carry the same timestamps, so that the anchor stays valid and the boundary is exact to the sample. A realtime stream
/// is cut in its unsent part.
extension AirPlaySpeaker: PartialFlushing {
    /// The state of the last request.
    enum Recall: Sendable {
        case open
        /// Decided, with the packet that spans the requested time.
        case decided(PartialFlushResult, severed: PacketBatch?)
    }

    /// Audio that the speaker has already decoded and will play.
    ///
    /// That of shairport-sync is due within its desired buffer length (0.75 s) plus a tenth of a second. The value is
    /// unknown for others.
    static let decodeAhead: Duration = .milliseconds(850)
    /// Maximum clock difference between both ends while the speaker's clock settles.
    private static let clockSlack: Duration = .milliseconds(20)
    /// Covers request and response, so that the response proves that the speaker received it in time.
    private static let recallLead: Duration = .seconds(1)
    /// How far the sending thread can be ahead of the nominal queue depth.
    private static let realtimeSlack: Duration = .milliseconds(20)
    /// shairport-sync keeps ten such requests and silently drops further ones.
    private static let mostRecalls = 8

    /// The time ahead of the playhead at which a flush must begin: the queue depth of a realtime stream, otherwise 1 s.
    public var partialFlushLead: Duration {
        guard route == .buffered else {
            return RealtimeSender.depth(arrivalToRender: state.withLock { $0.setup?.arrivalToRender })
                + Self.realtimeSlack
        }
        return Self.recallLead
    }

    /// Starts the flush on the control thread. Returns at once. Called by the feeder.
    public func beginPartialFlush(from time: MediaTime) {
        let (session, epoch) = state.withLock { state in
            state.recall = .open
            return (state.session, state.epoch)
        }
        let isPosted = session?.control.post { [weak self] core in self?.recall(from: time, epoch, core) }
        // Without a session it is done here: a speaker that rejoins receives only the remaining packets.
        if isPosted != true { recall(from: time, epoch, nil) }
    }

    /// The result of the last flush; nil while it is undecided.
    public var partialFlushResult: PartialFlushResult? {
        state.withLock { if case .decided(let result, _)? = $0.recall { result } else { nil } }
    }

    /// After `flushed`: the packet that spans the requested time; nil if none does.
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

    /// The outcome of a request.
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
                // The speaker holds packets without playing: it discards all and receives the remaining ones.
                let severed = store.drop(cut)
                // ignored: the next session starts from the store.
                if let core { _ = try? startAnew(cutting, core, from: cutting.timebase.currentTime) }
                return seal(cutting, severed)
            }
            return recall(sent, cut, cutting, core)
        }
    }

    /// Flushes packets that a playing speaker has already received.
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
            // Skipping is untested on this model. A restart is audible as a short gap.
            let severed = cutting.store.drop(cut)
            do throws(AirPlayError) {
                let next = segment.mediaTime(at: began.advanced(by: core.startLeads.request))
                try startAnew(cutting, core, from: next)
            } catch {
                // A lost connection is replaced, and the new session sends the remaining packets.
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
        // Unknown whether the speaker skipped the packets. It receives everything again, unchanged.
        beginAgain(core)
        let taken = host.now - began
        return .tooLate(leadNeeded: Self.recallLead + taken)
    }

    private func startAnew(_ cutting: Cutting, _ core: SessionCore, from time: MediaTime) throws(AirPlayError) {
        cutting.store.setHeld(false)
        guard let position = cutting.line.bound(of: time, rate: 1) else { return }
        _ = try core.rewind(to: position, gap: Self.gap(cutting.line))
    }

    /// Voids the current anchor: the speaker receives all remaining packets and a new anchor.
    private func beginAgain(_ core: SessionCore) {
        state.withLock { state in
            state.epoch += 1
            state.recalls.removeAll()
        }
        core.requestAttention()
    }

    /// Whether the speaker is known to skip packets by sequence number, and has space for another request.
    private func leavesOutByNumber(at now: HostInstant, _ segment: TimebaseSegment) -> Bool {
        state.withLock { state in
            state.recalls.removeAll { $0 < now }
            let model = state.model?.lowercased() ?? ""
            let isKnown = model.hasPrefix("shairport") || model == "talkiespeaker"
            return isKnown && state.recalls.count < Self.mostRecalls
        }
    }

    /// Continues the timeline at the cut.
    private func seal(_ cutting: Cutting, _ severed: PacketStore.Severed?) -> Decision {
        let end = severed?.timestamp
        let kept = state.withLock { state -> MediaTime? in
            guard state.epoch == cutting.epoch, let end else { return state.acceptedUntil }
            state.line?.cut(at: end)
            state.isFinished = false
            state.acceptedUntil = cutting.line.media(of: end)
            // Drops what an encoder returns before its first audio.
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
