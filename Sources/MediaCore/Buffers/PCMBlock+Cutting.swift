extension PCMBlock {
    /// Frames that begin before a film time.
    package func frames(before time: MediaTime) -> Int {
        let away = (time - start).seconds * Double(format.sampleRate) / speed
        // A time that was rounded to nanoseconds stands for the frame next to it.
        return Int(clamping: (away - 1e-3).rounded(.up), in: 0...max(0, frames))
    }

    /// Shortens the block to what lies before a film time; false when nothing is left. For its owner before publication.
    package func cut(at time: MediaTime) -> Bool {
        frames = frames(before: time)
        return frames > 0
    }
}

extension PacketBatch {
    /// A batch with the packets from an index on that begin before a film time. A packet without a time counts with the
    /// one before.
    package func prefix(before time: MediaTime, from first: Int = 0) -> PacketBatch {
        let short = PacketBatch(reservingBytes: byteCount, packets: packets.count)
        for packet in packets.dropFirst(first) {
            if let start = packet.presentationTime, start >= time { break }
            withBytes(of: packet) { short.append($0, as: packet) }
        }
        return short
    }
}
