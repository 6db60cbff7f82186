internal import MediaCore

/// The packets delivered unchanged to an output, and gapless boundaries between them.
///
/// A packet plays completely or not at all. At most one packet is dropped per boundary, and its place is silent. All
/// others play at their time.
struct PassThroughRun {
    private var continuity = PacketContinuity()
    /// The last packet, if it is audible only in part. It is retained until the next buffer is known.
    private var tail: PacketTail?
    /// Whether the first packet after a gapless boundary is still missing.
    private(set) var isAtGaplessBoundary = false

    /// The end of the delivered packets in media time; nil before the first.
    var end: MediaTime? { continuity.end }

    /// Forgets all packets, for a seek.
    mutating func reset() { self = PassThroughRun() }

    /// Continues after packets that the output has retained.
    mutating func resume(after end: MediaTime?) {
        (continuity, isAtGaplessBoundary) = (PacketContinuity(end: end), true)
    }

    /// Ends the run: other audio follows.
    mutating func endTimeline() { continuity = PacketContinuity() }

    mutating func markGaplessBoundary() { isAtGaplessBoundary = true }

    mutating func clearGaplessBoundary() { isAtGaplessBoundary = false }

    /// Appends delivered packets.
    mutating func recordDelivered(_ packets: ArraySlice<PacketBatch.Packet>) {
        for packet in packets { continuity.append(packet) }
    }

    // MARK: The tail

    /// Whether a tail packet is retained.
    var hasTail: Bool { tail != nil }

    /// Returns the retained tail packet for delivery; nil if there is none.
    mutating func removeTail() -> PacketBatch? {
        defer { tail = nil }
        return tail?.batch
    }

    /// What becomes of the tail before the next buffer.
    enum TailDecision: Equatable { case kept, dropped, delivered }

    /// Decides whether the tail is delivered before the first buffer after a gapless boundary. Drops it otherwise.
    ///
    /// - Parameter passesThrough: Whether the buffer is delivered unchanged.
    mutating func decideTail(before buffer: SampleBuffer, passesThrough: Bool) -> TailDecision {
        guard let tail else { return .kept }
        var (first, beginning) = (MediaTime?.none, buffer.presentationTime ?? tail.heardUntil)
        if buffer.flags.contains(.decodeOnly) {
            // If such packets are played, the first audible one determines the start of the item.
            if passesThrough { return .kept }
            beginning = tail.heardUntil
        } else if passesThrough, case .encodedAudio(_, let batch) = buffer.payload {
            first = batch.packets.first?.presentationTime ?? beginning
        }
        guard continuity.isBetterWithout(tail, before: first, heardFrom: beginning) else { return .delivered }
        self.tail = nil
        return .dropped
    }

    // MARK: Packets

    /// Returns the packets of a buffer to deliver, with the offset of the first; nil if there are none.
    ///
    /// After a gapless boundary, the first packet that fits is the first one delivered. The last packet is retained
    /// unless it is audible in full.
    ///
    /// - Parameters:
    ///   - first: The first packet that may be delivered.
    ///   - beginning: The media time from which the buffer is audible.
    ///   - limit: The media time at which its audio is cut; nil: not cut.
    mutating func begin(
        _ packets: PacketBatch, from first: Int, at beginning: MediaTime?, of format: AudioFormat, limit: MediaTime?
    ) -> (packets: PacketBatch, offset: Int)? {
        continuity.setFormat(format)
        var first = first
        if isAtGaplessBoundary, let beginning {
            first = max(first, continuity.firstToPlay(of: packets, from: beginning))
            isAtGaplessBoundary = first >= packets.packets.count
        }
        guard first < packets.packets.count else { return nil }
        tail = shortTail(of: packets, format, limit: limit)
        guard tail != nil else { return (packets, first) }
        let batch = PacketBatch(sharing: packets, packets: Array(packets.packets[first...].dropLast()))
        return batch.packets.isEmpty ? nil : (batch, 0)
    }

    /// Returns the last packet if it is audible only in part, by its duration, its end trim or `limit`.
    private func shortTail(of packets: PacketBatch, _ format: AudioFormat, limit: MediaTime?) -> PacketTail? {
        guard let last = packets.packets.last, let start = last.presentationTime else { return nil }
        let length = continuity.length(of: last)
        var end = min(start + length, start + last.duration)
        if last.trimEnd > 0 {
            let trim = MediaTime(value: Int64(last.trimEnd), timescale: Int32(clamping: format.sampleRate))
            end = min(end, start + length - trim)
        }
        if let limit { end = min(end, limit) }
        guard (start + length - end).duration > PacketContinuity.tolerance else { return nil }
        return PacketTail(batch: PacketBatch(sharing: packets, packets: [last]), start: start, heardUntil: end)
    }

    /// Cuts the tail at a time.
    ///
    /// - Parameter isPassing: Whether packets are delivered unchanged: the next buffer then follows a gapless boundary,
    ///   even without the flag.
    mutating func cut(at time: MediaTime, isPassing: Bool) {
        if let tail { self.tail = tail.start < time ? tail.ending(at: time) : nil }
        isAtGaplessBoundary = isPassing
    }
}
