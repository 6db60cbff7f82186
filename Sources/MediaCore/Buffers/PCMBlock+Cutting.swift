extension PCMBlock {
    /// Returns the number of frames that start before a media time.
    package func frames(before time: MediaTime) -> Int {
        let away = (time - start).seconds * Double(format.sampleRate) / speed
        // A time that was rounded to nanoseconds selects the nearest frame.
        return Int(clamping: (away - 1e-3).rounded(.up), in: 0...max(0, frames))
    }

    /// Removes the frames from a media time on; returns false if none is left. Only for the owner, before publication.
    package func cut(at time: MediaTime) -> Bool {
        frames = frames(before: time)
        return frames > 0
    }
}

extension PacketBatch {
    /// Returns a copy of the packets from index `first` on that start before a media time. A packet without a timestamp
    /// belongs to the previous one.
    package func prefix(before time: MediaTime, from first: Int = 0) -> PacketBatch {
        let short = PacketBatch(reservingBytes: byteCount, packets: packets.count)
        for packet in packets.dropFirst(first) {
            if let start = packet.presentationTime, start >= time { break }
            withBytes(of: packet) { short.append($0, as: packet) }
        }
        return short
    }
}
