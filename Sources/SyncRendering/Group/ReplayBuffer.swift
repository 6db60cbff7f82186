internal import MediaCore

/// The film's sound from just behind the playhead up to where it has been read: what an output that joins in mid-film
/// begins with, so that nothing has to be read twice.
struct ReplayBuffer {
    /// More than four minutes of lossless stereo; what is larger is read less far ahead.
    static let byteLimit = 64 << 20
    /// Sound before the first moment that is to be heard, so that a decoder has settled by then: an MP3 frame may refer
    /// to 511 bytes before it (ISO 11172-3, 2.4.2.7), and Opus wants 80 ms (RFC 7845, 4.6).
    static let runIn: Duration = .milliseconds(200)

    private static let leastTaken = 8

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
        // Taken out several at a time, so that moving the rest costs nothing that can be measured; soon, because whoever
        // reads the film fills their memory again.
        if first >= Self.leastTaken + (buffers.count - first) / Self.leastTaken || first == buffers.count {
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

    mutating func removeAll() { self = ReplayBuffer() }

    /// The first film moment from one on at which packets join: sound can begin there on every output, also on those
    /// that take packets whole. The moment itself where nothing is known of it yet, or sound is not in packets.
    func joint(from moment: MediaTime) -> MediaTime {
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

    /// Everything that is needed to be heard from a film moment on, which is best a joint. What goes before is for
    /// decoders only.
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
    fileprivate var byteCount: Int {
        switch payload {
        case .encodedAudio(_, let batch), .encodedVideo(_, let batch): batch.byteCount
        case .pcm(let block): block.frames * block.format.channels * MemoryLayout<Float>.size
        case .picture, .encodedSubtitle, .subtitle: 0
        }
    }

    /// Nil where there is nothing to decode.
    fileprivate var forDecodersOnly: SampleBuffer? {
        guard case .encodedAudio = payload else { return nil }
        var buffer = self
        buffer.flags.insert(.decodeOnly)
        return buffer
    }

    /// What ends before a moment within, if anything does, and the rest. Packets are not cut; decoded sound is.
    fileprivate func parted(at moment: MediaTime) -> (head: SampleBuffer?, tail: SampleBuffer) {
        guard let start = presentationTime else { return (nil, self) }
        var (head, tail) = (self, self)
        let joint: MediaTime
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
            joint = end
        case .pcm(let block):
            let rate = Double(block.format.sampleRate)
            let film = Double((moment - start).nanoseconds) * 1e-9 / max(0.01, block.speed)
            let count = min(block.frames - 1, max(0, Int((film * rate).rounded())))
            guard count > 0 else { return (nil, self) }
            joint = start + MediaTime(nanoseconds: Int64((Double(count) / rate * 1e9 * block.speed).rounded()))
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
            tail.payload = part(count, block.frames - count, joint)
        case .encodedVideo, .picture, .encodedSubtitle, .subtitle: return (nil, self)
        }
        head.duration = joint - start
        tail.presentationTime = joint
        tail.duration = start + duration - joint
        return (head, tail)
    }
}
