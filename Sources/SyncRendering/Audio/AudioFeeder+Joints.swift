internal import MediaCore

/// How pieces of sound join where an output takes packets untouched. A packet is played whole or not at all, so that up to one is left
/// out, and the hole is silence; every other is heard in its place.
extension AudioFeeder {
    var passesPackets: Bool { if case .passThrough? = delivery { true } else { false } }

    /// Settles what becomes of a packet that was held back, now that this follows; true when it goes to the output first.
    mutating func settleTail(before buffer: SampleBuffer, output: any AudioOutput) -> Bool {
        if buffer.flags.contains(.joint) { isAtJoint = true }
        guard let tail else { return false }
        if isAtJoint, let wanted = wantedDelivery(for: buffer.audioFormat(after: format), output: output) {
            var (first, beginning) = (MediaTime?.none, buffer.presentationTime ?? tail.heardUntil)
            if buffer.flags.contains(.decodeOnly) {
                // Where they are played, the first that is heard tells where the piece begins.
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

    /// Nothing follows: what was held back is handed over.
    mutating func releaseTail() -> Bool {
        guard let tail else { return false }
        pending = .packets(tail.batch, 0)
        self.tail = nil
        return true
    }

    /// Begins to hand over packets untouched: those of a piece that joins from the first that fits, and the last of them only when it
    /// is to be heard whole.
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

    /// Remembers how far packets that pass untouched have come.
    mutating func noteHandOver(_ packets: ArraySlice<PacketBatch.Packet>) {
        guard passesPackets else { return }
        for packet in packets { line.append(packet) }
    }

    /// Sound that is encoded follows packets that passed: the encoder's first packet begins where the last of these has ended, so that
    /// from there on every frame is heard in its place.
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
