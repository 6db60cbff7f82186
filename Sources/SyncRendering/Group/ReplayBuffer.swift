internal import MediaCore

/// The audio from shortly before the playhead up to the end of the read media. A joining output starts with it, so that
/// no media is read twice.
struct ReplayBuffer {
    /// More than four minutes of lossless stereo; larger audio is read less far ahead.
    private static let byteLimit = 64 << 20
    /// At the limit no audio beyond this depth is added.
    private static let minDepth: Duration = .seconds(5)
    /// Preroll for decoders: an MP3 frame may refer to 511 bytes before it (ISO 11172-3, 2.4.2.7), and Opus requires
    /// 80 ms (RFC 7845, 4.6).
    static let runIn: Duration = .milliseconds(200)

    /// The minimum number of buffers removed at once.
    private static let minTaken = 8

    private var buffers: [SampleBuffer] = []
    /// The index of the oldest valid buffer.
    private var first = 0
    /// The size of the payloads in bytes.
    private(set) var byteCount = 0
    /// The end of the audio since the last flush in media time, or the time at which it was cut.
    private(set) var end: MediaTime?
    /// Whether the end of input follows the last buffer.
    private(set) var isFinished = false
    /// Counts flushes: audio filled before a flush is void.
    private(set) var flushes = 0

    /// Appends a buffer. A buffer without a time follows the preceding one.
    mutating func append(_ buffer: SampleBuffer) {
        var buffer = buffer
        buffer.presentationTime = buffer.presentationTime ?? end ?? .zero
        end = buffer.end
        byteCount += buffer.byteCount
        isFinished = false
        buffers.append(buffer)
    }

    /// Marks the end of input.
    mutating func finish() { isFinished = true }

    /// Returns whether another buffer may be added.
    func hasRoom(at playhead: MediaTime) -> Bool {
        byteCount < Self.byteLimit || end.map { ($0 - playhead).duration <= Self.minDepth } ?? true
    }

    /// Drops buffers that end before a media time.
    mutating func trim(before moment: MediaTime) {
        while first < buffers.count, buffers[first].end! < moment {
            byteCount -= buffers[first].byteCount
            first += 1
        }
        // Removed in batches, so that moving the remainder costs little. The batch is small, because the reader reuses
        // their memory.
        if first >= Self.minTaken + (buffers.count - first) / Self.minTaken || first == buffers.count {
            buffers.removeFirst(first)
            first = 0
        }
    }

    /// Drops buffers that start at a media time or later; a buffer that spans it is trimmed.
    mutating func cut(from moment: MediaTime) {
        while buffers.count > first, buffers[buffers.count - 1].presentationTime! >= moment {
            byteCount -= buffers.removeLast().byteCount
        }
        end = moment
        isFinished = false
        if buffers.count > first, let last = buffers[buffers.count - 1].end, last > moment {
            let before = buffers[buffers.count - 1].heardUntil
            buffers[buffers.count - 1].heardUntil = min(before ?? moment, moment)
        }
    }

    /// Drops all buffers, for a flush.
    mutating func removeAll() {
        let count = flushes
        self = ReplayBuffer()
        flushes = count &+ 1
    }

    /// Returns the first packet boundary at or after a media time. Audio can start there on every output, also on those
    /// that play whole packets. Returns the time itself if its audio is not known or not in packets.
    func boundary(from moment: MediaTime) -> MediaTime {
        guard let buffer = buffers[first...].first(where: { $0.end! > moment }),
            case .encodedAudio(_, let batch) = buffer.payload
        else { return moment }
        var end = buffer.presentationTime!
        for packet in batch.packets {
            let start = packet.presentationTime ?? end
            if start >= moment { return start }
            end = start + packet.duration
        }
        return max(moment, buffer.end!)
    }

    /// Returns the buffers required to start at a media time, preferably a packet boundary. Earlier audio is marked as
    /// preroll for decoders.
    func sound(from moment: MediaTime) -> [SampleBuffer] {
        let begin = moment.advanced(by: .zero - Self.runIn)
        var sound: [SampleBuffer] = []
        for buffer in buffers[first...].drop(while: { $0.end! <= begin }) {
            if buffer.presentationTime! >= moment {
                sound.append(buffer)
            } else if buffer.end! <= moment {
                if let only = buffer.forDecodersOnly { sound.append(only) }
            } else {
                let (head, tail) = buffer.parted(at: moment)
                if let only = head?.forDecodersOnly { sound.append(only) }
                sound.append(tail)
            }
        }
        if !sound.isEmpty { sound[0].flags.insert(.discontinuity) }
        return sound
    }
}

extension SampleBuffer {
    /// The size of the payload in bytes.
    var byteCount: Int {
        switch payload {
        case .encodedAudio(_, let batch), .encodedVideo(_, let batch): batch.byteCount
        case .pcm(let block): block.frames * block.format.channels * MemoryLayout<Float>.size
        case .picture, .encodedSubtitle, .subtitle: 0
        }
    }

    /// The buffer marked as preroll; nil if it needs no decoding.
    fileprivate var forDecodersOnly: SampleBuffer? {
        guard case .encodedAudio = payload else { return nil }
        var buffer = self
        buffer.flags.insert(.decodeOnly)
        return buffer
    }

    /// Splits the buffer at a media time within it; `head` is nil if nothing ends before it. Packets are not cut,
    /// decoded audio is.
    fileprivate func parted(at moment: MediaTime) -> (head: SampleBuffer?, tail: SampleBuffer) {
        guard let start = presentationTime else { return (nil, self) }
        var (head, tail) = (self, self)
        let boundary: MediaTime
        switch payload {
        case .encodedAudio(let format, let batch):
            var end = start
            var count = 0
            for packet in batch.packets {
                let next = (packet.presentationTime ?? end) + packet.duration
                if next > moment { break }
                end = next
                count += 1
            }
            guard count > 0, count < batch.packets.count else { return (nil, self) }
            func part(_ packets: ArraySlice<PacketBatch.Packet>) -> Payload {
                let copy = PacketBatch(reservingBytes: batch.byteCount, packets: packets.count)
                for packet in packets { batch.withBytes(of: packet) { copy.append($0, as: packet) } }
                return .encodedAudio(format, copy)
            }
            head.payload = part(batch.packets[..<count])
            tail.payload = part(batch.packets[count...])
            boundary = end
        case .pcm(let block):
            let rate = Double(block.format.sampleRate)
            let film = Double((moment - start).nanoseconds) * 1e-9 / max(0.01, block.speed)
            let count = min(block.frames - 1, max(0, Int((film * rate).rounded())))
            guard count > 0 else { return (nil, self) }
            boundary = start + MediaTime(nanoseconds: Int64((Double(count) / rate * 1e9 * block.speed).rounded()))
            func part(_ from: Int, _ frames: Int, _ start: MediaTime) -> Payload {
                let copy = PCMBlock(format: block.format, capacity: frames)
                copy.frames = frames
                copy.speed = block.speed
                copy.start = start
                let channels = block.format.channels
                copy.samples.update(from: block.samples + from * channels, count: frames * channels)
                return .pcm(copy)
            }
            head.payload = part(0, count, block.start)
            tail.payload = part(count, block.frames - count, boundary)
        case .encodedVideo, .picture, .encodedSubtitle, .subtitle: return (nil, self)
        }
        head.duration = boundary - start
        tail.presentationTime = boundary
        tail.duration = start + duration - boundary
        return (head, tail)
    }
}
