internal import MediaCore

extension SampleBuffer {
    /// The size of the payload in bytes.
    var byteCount: Int {
        switch payload {
        case .encodedAudio(_, let batch), .encodedVideo(_, let batch): batch.byteCount
        case .pcm(let block): block.frames * block.format.channels * MemoryLayout<Float>.size
        case .videoFrame, .encodedSubtitle, .subtitle: 0
        }
    }

    /// The buffer marked as preroll; nil if it needs no decoding.
    var forDecodersOnly: SampleBuffer? {
        guard case .encodedAudio = payload else { return nil }
        var buffer = self
        buffer.flags.insert(.decodeOnly)
        return buffer
    }

    /// Splits the buffer at a media time within it; `head` is nil if nothing ends before it. Packets are not cut,
    /// decoded audio is.
    func parted(at time: MediaTime) -> (head: SampleBuffer?, tail: SampleBuffer) {
        guard let start = presentationTime else { return (nil, self) }
        var (head, tail) = (self, self)
        let boundary: MediaTime
        switch payload {
        case .encodedAudio(let format, let batch):
            var end = start
            var count = 0
            for packet in batch.packets {
                let next = (packet.presentationTime ?? end) + packet.duration
                if next > time { break }
                end = next
                count += 1
            }
            guard count > 0, count < batch.packets.count else { return (nil, self) }
            func slice(_ packets: ArraySlice<PacketBatch.Packet>) -> Payload {
                let copy = PacketBatch(reservingBytes: batch.byteCount, packets: packets.count)
                for packet in packets { batch.withBytes(of: packet) { copy.append($0, as: packet) } }
                return .encodedAudio(format, copy)
            }
            head.payload = slice(batch.packets[..<count])
            tail.payload = slice(batch.packets[count...])
            boundary = end
        case .pcm(let block):
            let rate = Double(block.format.sampleRate)
            let film = Double((time - start).nanoseconds) * 1e-9 / max(0.01, block.speed)
            let count = min(block.frames - 1, max(0, Int((film * rate).rounded())))
            guard count > 0 else { return (nil, self) }
            boundary = start + MediaTime(nanoseconds: Int64((Double(count) / rate * 1e9 * block.speed).rounded()))
            func slice(_ from: Int, _ frames: Int, _ start: MediaTime) -> Payload {
                let copy = PCMBlock(format: block.format, capacity: frames)
                copy.frames = frames
                copy.speed = block.speed
                copy.start = start
                let channels = block.format.channels
                copy.samples.update(from: block.samples + from * channels, count: frames * channels)
                return .pcm(copy)
            }
            head.payload = slice(0, count, block.start)
            tail.payload = slice(count, block.frames - count, boundary)
        case .encodedVideo, .videoFrame, .encodedSubtitle, .subtitle: return (nil, self)
        }
        head.duration = boundary - start
        tail.presentationTime = boundary
        tail.duration = start + duration - boundary
        return (head, tail)
    }
}
