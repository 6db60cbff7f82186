internal import MediaCore

/// Gapless boundaries on outputs that accept packets unchanged.
///
/// A packet plays completely or not at all. At most one packet is dropped per boundary, and its place is silent. All
/// others play at their time.
extension AudioFeeder {
    var passesPackets: Bool { if case .passThrough? = delivery { true } else { false } }

    /// Decides whether to deliver or drop the retained tail packet before `buffer`; returns true if the tail is
    /// delivered first.
    mutating func settleTail(before buffer: SampleBuffer, output: any AudioOutput) -> Bool {
        if buffer.flags.contains(.joint) { isAtJoint = true }
        guard let tail else { return false }
        if isAtJoint, let wanted = wantedDelivery(for: buffer.audioFormat(after: format), output: output) {
            var (first, beginning) = (MediaTime?.none, buffer.presentationTime ?? tail.heardUntil)
            if buffer.flags.contains(.decodeOnly) {
                // If such packets are played, the first audible one determines the start of the item.
                if case .passThrough = wanted { return false }
                beginning = tail.heardUntil
            } else if case .passThrough = wanted, case .encodedAudio(_, let batch) = buffer.payload {
                first = batch.packets.first?.presentationTime ?? beginning
            }
            if line.isBetterWithout(tail, before: first, heardFrom: beginning) {
                self.tail = nil
                return false
            }
        }
        pending = .packets(tail.batch, 0)
        self.tail = nil
        nextFormat = buffer
        return true
    }

    /// Delivers the retained tail packet at the end of the queue; returns false if there is none.
    mutating func releaseTail() -> Bool {
        guard let tail else { return false }
        pending = .packets(tail.batch, 0)
        self.tail = nil
        return true
    }

    /// Starts the delivery of unchanged packets. After a gapless boundary, the first packet that fits is the first one
    /// delivered. The last packet is retained unless it is audible in full.
    mutating func beginPackets(_ packets: PacketBatch, of buffer: SampleBuffer, _ format: AudioFormat) {
        line.follow(format)
        let wanted = limit.map { packets.prefix(before: $0) } ?? packets
        var first = packetsBeforeResuming(in: wanted)
        if isAtJoint, let beginning = buffer.presentationTime {
            first = max(first, line.firstToPlay(of: wanted, from: beginning))
            isAtJoint = first >= wanted.packets.count
        }
        guard first < wanted.packets.count else { return }
        tail = shortTail(of: wanted)
        guard tail != nil else { return pending = .packets(wanted, first) }
        let whole = PacketBatch(sharing: wanted, packets: Array(wanted.packets[first...].dropLast()))
        pending = whole.packets.isEmpty ? .nothing : .packets(whole, 0)
    }

    /// Returns the last packet if it is audible only in part, by its duration, its end trim or `limit`.
    private func shortTail(of packets: PacketBatch) -> PacketTail? {
        guard let last = packets.packets.last, let start = last.presentationTime else { return nil }
        let length = line.length(of: last)
        var end = min(start + length, start + last.duration)
        if last.trimEnd > 0, let rate = format?.sampleRate {
            end = min(end, start + length - MediaTime(value: Int64(last.trimEnd), timescale: Int32(clamping: rate)))
        }
        if let limit { end = min(end, limit) }
        guard (start + length - end).duration > PacketLine.tolerance else { return nil }
        return PacketTail(batch: PacketBatch(sharing: packets, packets: [last]), start: start, heardUntil: end)
    }

    /// Appends delivered packets to `line`.
    mutating func noteHandOver(_ packets: ArraySlice<PacketBatch.Packet>) {
        guard passesPackets else { return }
        for packet in packets { line.append(packet) }
    }

    /// Aligns encoded audio with preceding pass-through packets.
    ///
    /// The first encoded packet starts at the end of the last one, so that every frame plays at its time.
    mutating func joinEncoder(at beginning: MediaTime?) {
        defer { line = PacketLine() }
        guard case .encoded(_, let pcm)? = delivery, let encoder, let end = line.end, let beginning else { return }
        let hole = Int(clamping: (beginning - end).rescaled(to: Int32(clamping: pcm.sampleRate)))
        if hole <= 0 {
            resumesFrom = max(resumesFrom ?? end, end)
        } else if hole < encoder.framesPerPacket {
            let silence = PCMBlock(format: pcm, capacity: hole)
            (silence.frames, silence.start) = (hole, end)
            // ignored: the next block fails as well and is reported.
            guard (try? encoder.send(silence)) != nil else { return }
            encodedUntil = silence.end
        }
    }
}
