internal import AirPlayWire
public import MediaCore
internal import SyncRendering

/// Audio packets: assigning RTP timestamps, and flushing.
extension AirPlaySpeaker {
    /// Queues packets from index `offset` on. Returns the number accepted. Never blocks. Called by the feeder.
    ///
    /// After `failure` all packets are accepted and discarded.
    public func accept(_ batch: PacketBatch, from offset: Int) -> Int {
        var (taken, reachesPreroll) = (0, false)
        state.withLock { state in
            if state.failure != nil {
                taken = batch.packets.count - offset
                let last = batch.packets.last
                state.acceptedUntil = last.flatMap { $0.presentationTime.map { $0 + last!.duration } }
                return
            }
            guard let store = state.store, var line = state.line, let stream = state.stream else { return }
            let needed = Int64(stream.sampleRate) / 2
            let before = line.frames
            for packet in batch.packets.dropFirst(offset) {
                if state.isJoining {
                    if Self.overlaps(packet, line) {
                        taken += 1
                        continue
                    }
                    state.isJoining = false
                }
                let earlier = line
                if line.isEmpty, !Self.appendPreroll(stream, line, store) { break }
                let timestamp = line.place(
                    packet.presentationTime, frames: stream.framesPerPacket,
                    isContiguous: !state.isPassThrough && state.speed != 1)
                // Larger than any audio packet: the stream cannot carry it, and dropping it is harmless.
                let isStored =
                    packet.count > BufferedPacketizer.payloadLimit
                    || batch.withBytes(of: packet) { store.append($0, timestamp: timestamp) }
                guard isStored else {
                    line = earlier
                    break
                }
                taken += 1
                let start = packet.presentationTime ?? state.acceptedUntil ?? .zero
                state.acceptedUntil = start + packet.duration
            }
            reachesPreroll = before < needed && line.frames >= needed
            // Audio heard more than a second ago is no longer needed; everything later may have to be sent again.
            if let context = state.context {
                let heard = context.timebase.snapshot.mediaTime(at: host.now).advanced(by: .seconds(-1))
                state.store?.setFloor(line.bound(of: heard, rate: state.speed))
            }
            state.line = line
            state.isFinished = false
            if taken > 0 { state.session?.wakeWriter() }
        }
        if reachesPreroll { requestAttention() }
        return taken
    }

    /// Whether a packet begins before the end of the previous one, by more than container rounding.
    private static func overlaps(_ packet: PacketBatch.Packet, _ line: RTPTimestampMapper) -> Bool {
        guard let time = packet.presentationTime, let end = line.end else { return false }
        return (end - time).duration > .milliseconds(3)
    }

    /// Sets the speed of later packets, in media seconds per second of audio. Called by the feeder.
    public func setSpeed(_ speed: Double) { state.withLock { $0.speed = speed } }

    /// Appends a silent packet, because receivers mute the first AAC packet of a stream. Returns false without space.
    private static func appendPreroll(_ stream: StreamFormat, _ line: RTPTimestampMapper, _ store: PacketStore) -> Bool
    {
        guard stream.coding == .aacLC else { return true }
        let timestamp = line.preceding(frames: stream.framesPerPacket)
        return SilentUnit.stereo.withUnsafeBytes { store.append($0, timestamp: timestamp) }
    }

    /// Marks the end of the input; less than the preroll may then be started.
    public func finish() {
        state.withLock { $0.isFinished = true }
        requestAttention()
    }

    /// Media time of the end of the accepted packets; nil after a flush.
    public var acceptedUntil: MediaTime? { state.withLock { $0.acceptedUntil } }

    /// Discards all packets not yet heard. Returns at once; the request is sent on the control thread.
    public func flush() {
        let pending = state.withLock { state -> (AirPlaySession, PacketStore.Position)? in
            state.acceptedUntil = nil
            state.isFinished = false
            guard let store = state.store, state.line?.isEmpty == false else { return nil }
            state.line?.jump()
            state.told = nil
            state.epoch += 1
            state.recalls.removeAll()
            guard let next = state.line?.next else { return nil }
            state.session?.haltStream()
            // Done here, not on the control thread: packets accepted after this call must not be dropped.
            let position = store.removeAll(next: next)
            return state.session.map { ($0, position) }
        }
        guard let (session, position) = pending else { return }
        // ignored: a request fails with its session, whose loss is reported by its events.
        session.control.post { core in try? core.flush(until: position) }
    }
}
