internal import MediaCore
internal import SyncRendering

/// The film's sound from just behind the playhead up to where it has been read: what an output that joins in mid-film
/// begins with, so that nothing has to be read twice.
struct SoundHistory {
    /// More than four minutes of lossless stereo; what is larger is read less far ahead.
    static let byteLimit = 64 << 20
    /// Sound before the first moment that is to be heard, so that a decoder has settled by then: an MP3 frame may refer
    /// to 511 bytes before it (ISO 11172-3, 2.4.2.7), and Opus wants 80 ms (RFC 7845, 4.6).
    static let runIn: Duration = .milliseconds(200)

    private var buffers: [SampleBuffer] = []
    private var first = 0
    private(set) var byteCount = 0
    private(set) var end: MediaTime?

    /// Adds sound after what is there. A buffer without a time follows on from the one before.
    mutating func append(_ buffer: SampleBuffer) {
        var buffer = buffer
        buffer.presentationTime = buffer.presentationTime ?? end ?? .zero
        end = buffer.end
        byteCount += buffer.byteCount
        buffers.append(buffer)
    }

    /// Forgets what ends before a film moment.
    mutating func trim(before moment: MediaTime) {
        while first < buffers.count, buffers[first].end! < moment {
            byteCount -= buffers[first].byteCount
            first += 1
        }
        // Taken out by the dozen, so that moving the rest costs nothing that can be measured.
        if first >= 64 || first == buffers.count {
            buffers.removeFirst(first)
            first = 0
        }
    }

    /// Forgets what begins at a film moment or later; what reaches over it ends there.
    mutating func cut(from moment: MediaTime) {
        while buffers.count > first, buffers[buffers.count - 1].presentationTime! >= moment {
            byteCount -= buffers.removeLast().byteCount
        }
        guard buffers.count > first, let last = buffers[buffers.count - 1].end else { return end = nil }
        end = min(last, moment)
        if last > moment {
            let before = buffers[buffers.count - 1].heardUntil
            buffers[buffers.count - 1].heardUntil = min(before ?? moment, moment)
        }
    }

    mutating func removeAll() { self = SoundHistory() }

    /// Everything that is needed to be heard from a film moment on.
    func sound(from moment: MediaTime) -> [SampleBuffer] {
        let begin = moment.advanced(by: .zero - Self.runIn)
        var sound = buffers[first...].drop { $0.end! <= begin }.map { $0 }
        guard !sound.isEmpty else { return [] }
        sound[0] = sound[0].suffix(from: begin)
        sound[0].flags.insert(.discontinuity)
        return sound
    }
}

extension SampleBuffer {
    fileprivate var byteCount: Int {
        switch payload {
        case .encodedAudio(_, let batch), .encodedVideo(_, let batch): batch.byteCount
        case .pcm(let block): block.frames * block.format.channels * MemoryLayout<Float>.size
        case .picture: 0
        }
    }

    /// The same sound without the packets, or frames, that end before a moment. Long buffers only: the sound of a
    /// quarter of a second is taken whole.
    fileprivate func suffix(from moment: MediaTime) -> SampleBuffer {
        guard let start = presentationTime, (moment - start).duration > .milliseconds(250) else { return self }
        var rest = self
        switch payload {
        case .encodedAudio(let format, let batch):
            var end = start
            var left = 0
            for packet in batch.packets {
                let next = (packet.presentationTime ?? end) + packet.duration
                if next > moment { break }
                end = next
                left += 1
            }
            let copy = PacketBatch(reservingBytes: batch.byteCount, packets: batch.packets.count - left)
            for packet in batch.packets.dropFirst(left) { batch.withBytes(of: packet) { copy.append($0, as: packet) } }
            rest.payload = .encodedAudio(format, copy)
            rest.presentationTime = end
            rest.duration = start + duration - end
        case .pcm(let block):
            let rate = Int32(block.format.sampleRate)
            let film = Double((moment - start).nanoseconds) / max(0.01, block.speed)
            let left = min(block.frames, max(0, Int(film * 1e-9 * Double(rate))))
            let copy = PCMBlock(format: block.format, capacity: block.frames - left)
            copy.frames = block.frames - left
            copy.speed = block.speed
            let passed = MediaTime(
                nanoseconds: Int64(Double(left) / Double(rate) * 1e9 * block.speed))
            copy.start = block.start + passed
            copy.samples.update(
                from: block.samples + left * block.format.channels, count: copy.frames * block.format.channels)
            rest.payload = .pcm(copy)
            rest.presentationTime = start + passed
            rest.duration = duration - passed
        case .encodedVideo, .picture: break
        }
        return rest
    }
}
