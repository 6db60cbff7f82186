package import AirPlayWire
package import MediaCore
internal import SyncRendering

/// The packets accepted for one stream: assigns their RTP timestamps and stores them. Outlives a lost session.
package struct StreamInput: Sendable {
    package let format: StreamFormat
    package let store: PacketStore
    /// Maps media time to RTP timestamps.
    package private(set) var timestamps: RTPTimestampMapper
    package private(set) var isPassThrough: Bool
    /// Whether packets of another kind follow in the same stream, of which those that overlap the last one are dropped.
    private var isJoining = false
    /// Media seconds per second of audio.
    package var speed: Double
    /// Media time of the end of the accepted packets; nil after a flush.
    package private(set) var acceptedUntil: MediaTime?
    /// Whether `finish` was called after the last packet.
    private var isFinished = false

    /// Creates the input of a new stream.
    ///
    /// - Parameter first: The timestamp of the first frame.
    package init(format: StreamFormat, store: PacketStore, first: RTPTimestamp, isPassThrough: Bool, speed: Double) {
        self.format = format
        self.store = store
        self.isPassThrough = isPassThrough
        self.speed = speed
        timestamps = RTPTimestampMapper(sampleRate: format.sampleRate, first: first)
    }

    /// Continues the stream with packets of another kind.
    package mutating func join(isPassThrough: Bool) {
        self.isPassThrough = isPassThrough
        isJoining = !timestamps.isEmpty
    }

    /// Whether no packet was accepted since the start or the last flush.
    package var isEmpty: Bool { timestamps.isEmpty }

    /// The number of frames required before a start: half a second.
    private var preroll: Int64 { Int64(format.sampleRate) / 2 }

    /// Whether enough audio for a start was accepted, or all of it.
    package var isStartable: Bool { timestamps.frames >= preroll || (isFinished && timestamps.frames > 0) }

    /// Stores packets from index `offset` on.
    ///
    /// - Parameter position: Media time before which packets may be discarded to make space; nil: unknown.
    /// - Returns: The number of accepted packets, and whether they complete the audio required before a start.
    package mutating func accept(
        _ batch: PacketBatch, from offset: Int, position: MediaTime?
    ) -> (taken: Int, reachesPreroll: Bool) {
        var taken = 0
        let before = timestamps.frames
        for packet in batch.packets.dropFirst(offset) {
            // An encoder that was restarted begins with the packets of its delay. The stream has audio for their time,
            // and later packets are decoded exactly without them: the last packet of the old encoder spans the same
            // frames.
            if isJoining || !isPassThrough {
                if overlaps(packet) {
                    taken += 1
                    continue
                }
                isJoining = false
            }
            let isContiguous = !isPassThrough && speed != 1
            if timestamps.isEmpty {
                guard appendFirstSilence() else { break }
            } else if !isContiguous {
                guard fillGap(before: packet.presentationTime) else { break }
            }
            let earlier = timestamps
            let timestamp = timestamps.map(
                packet.presentationTime, frames: format.framesPerPacket, isContiguous: isContiguous)
            // Larger than any audio packet: the stream cannot carry it, and dropping it is harmless.
            let isStored =
                packet.count > BufferedPacketizer.payloadLimit
                || batch.withBytes(of: packet) { store.append($0, timestamp: timestamp) }
            guard isStored else {
                timestamps = earlier
                break
            }
            taken += 1
            acceptedUntil = (packet.presentationTime ?? acceptedUntil ?? .zero) + packet.duration
        }
        if let position { store.setFloor(timestamps.bound(of: position, rate: speed)) }
        isFinished = false
        return (taken, before < preroll && timestamps.frames >= preroll)
    }

    /// Counts packets from index `offset` on as accepted without storing them. Returns their number.
    package mutating func discard(_ batch: PacketBatch, from offset: Int) -> Int {
        let last = batch.packets.last
        acceptedUntil = last.flatMap { last in last.presentationTime.map { $0 + last.duration } }
        return batch.packets.count - offset
    }

    /// Whether a packet begins before the end of the previous one, by more than container rounding.
    private func overlaps(_ packet: PacketBatch.Packet) -> Bool {
        guard let time = packet.presentationTime, let end = timestamps.end(at: speed) else { return false }
        return (end - time).duration > .milliseconds(3)
    }

    // MARK: Silence

    /// Appends a silent packet, because receivers mute the first AAC packet of a stream. Returns false without space.
    private func appendFirstSilence() -> Bool {
        guard format.coding == .aacLC else { return true }
        return store.appendSilence(format, timestamp: timestamps.preceding(frames: format.framesPerPacket))
    }

    /// Appends a silent packet after the last one. Returns false without space.
    private mutating func appendSilence() -> Bool {
        guard store.appendSilence(format, timestamp: timestamps.next) else { return false }
        _ = timestamps.map(nil, frames: format.framesPerPacket, isContiguous: true)
        return true
    }

    /// The longest gap to fill; a longer one would delay the audio after it until there is space in the store.
    private var maxGap: Duration { format.coding == .aacLC ? .seconds(60) : .seconds(4) }

    /// Fills a gap before the next packet with silence, except for less than a packet. Returns false without space; the
    /// next call continues.
    ///
    /// A receiver whose queue ran empty plays the next audio up to 35 ms too early, and corrects that by 2 ms per
    /// second (measured with shairport-sync).
    private mutating func fillGap(before time: MediaTime?) -> Bool {
        guard let time, let end = timestamps.end(at: 1), (time - end).duration <= maxGap else { return true }
        while timestamps.gap(before: time) >= format.framesPerPacket { guard appendSilence() else { return false } }
        return true
    }

    /// Continues a finished input with silence until a media time, so that the queue of the receiver does not run empty
    /// before it is stopped; see `fillGap`. Packets that overlap this silence later are dropped.
    ///
    /// - Returns: The media time of the end of the packets; nil if the input is not finished, ended long before, or the
    ///   store is full.
    package mutating func extendTail(until time: MediaTime) -> MediaTime? {
        guard isFinished, let goal = timestamps.bound(of: time, rate: speed) else { return nil }
        let missing = Int(timestamps.next.distance(to: goal))
        // The queue ran empty long ago.
        guard missing < 8 * format.sampleRate else { return nil }
        while timestamps.next.distance(to: goal) > 0 {
            isJoining = true
            guard appendSilence() else { return nil }
        }
        return timestamps.end(at: speed)
    }

    /// Marks the end of the input; less than the required audio may then be started.
    package mutating func finish() { isFinished = true }

    /// Discards all packets. Returns the position of the next one; nil if there are none to discard.
    package mutating func flush() -> PacketStore.Position? {
        acceptedUntil = nil
        isFinished = false
        guard !timestamps.isEmpty else { return nil }
        timestamps.jump()
        return store.removeAll(next: timestamps.next)
    }

    /// Continues the timeline at `timestamp`, from which on the packets were dropped from the store.
    package mutating func cut(at timestamp: RTPTimestamp) {
        timestamps.cut(at: timestamp)
        isFinished = false
        acceptedUntil = timestamps.media(of: timestamp)
        // Drops what an encoder returns before its first audio.
        isJoining = true
    }

    /// Moves the read position of the store to the packets heard from a media time on, for a new session.
    package func rewind(to position: MediaTime) {
        // Uses the speed of the audio: that of the timeline is 0 in a pause and before a scheduled start.
        guard let timestamp = timestamps.bound(of: position, rate: speed) else { return }
        _ = store.rewind(to: timestamp, gap: timestamps.rewindGap)
    }

    /// Returns the timestamp on the wire heard at a media time; that of the next packet for nil and after a flush.
    package func timestampOnWire(audibleAt time: MediaTime?) -> RTPTimestamp {
        store.onWire(time.flatMap { timestamps.timestamp(of: $0, rate: speed) } ?? timestamps.next)
    }
}

extension PacketStore.DroppedPacket {
    /// Returns the packet as it was accepted; nil if it is empty or its media time is unknown.
    package func batch(in input: StreamInput) -> PacketBatch? {
        guard !packet.isEmpty, let media = input.timestamps.media(of: timestamp) else { return nil }
        let batch = PacketBatch(reservingBytes: packet.count, packets: 1)
        let length = MediaTime(
            value: Int64(input.format.framesPerPacket), timescale: Int32(clamping: input.format.sampleRate))
        packet.withUnsafeBytes {
            batch.append($0, as: PacketBatch.Packet(presentationTime: media, duration: length))
        }
        return batch
    }
}
