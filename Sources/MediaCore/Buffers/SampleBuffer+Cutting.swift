extension SampleBuffer {
    /// The number of audio frames after trimming; nil for video and subtitles.
    package var frameCount: Int? {
        switch payload {
        case .pcm(let block): block.frames
        case .encodedAudio(let format, let batch): batch.packets.reduce(0) { $0 + batch.heardFrames(of: $1, format) }
        case .encodedVideo, .videoFrame, .encodedSubtitle, .subtitle: nil
        }
    }

    /// Returns a part of the audio as a range of frames, counted after trimming. Frames keep their presentation time;
    /// the bytes are shared, not copied.
    ///
    /// Packets of compressed audio that contain an edge stay complete and are trimmed after decoding. An output that
    /// receives packets unmodified plays them completely (`AudioRenderer.allowsPassThrough`).
    ///
    /// - Returns: nil for video and subtitles, and if the range contains no frame.
    public func frames(_ range: Range<Int>) -> SampleBuffer? {
        guard let count = frameCount else { return nil }
        let range = range.clamped(to: 0..<count)
        guard !range.isEmpty else { return nil }
        var slice = self
        let rate: Int
        var speed = 1.0
        switch payload {
        case .pcm(let block):
            (rate, speed) = (block.format.sampleRate, block.speed)
            let start = block.start + Self.length(of: range.lowerBound, at: rate, speed: speed)
            slice.payload = .pcm(PCMBlock(sharing: block, frames: range, start: start))
        case .encodedAudio(let format, let batch):
            rate = format.sampleRate
            slice.payload = .encodedAudio(format, batch.cut(to: range, format))
        case .encodedVideo, .videoFrame, .encodedSubtitle, .subtitle: return nil
        }
        slice.presentationTime = presentationTime.map { $0 + Self.length(of: range.lowerBound, at: rate, speed: speed) }
        slice.duration = Self.length(of: range.count, at: rate, speed: speed)
        if range.lowerBound > 0 { slice.flags.remove(.gaplessBoundary) }
        return slice
    }

    private static func length(of frames: Int, at rate: Int, speed: Double) -> MediaTime {
        let natural = MediaTime(value: Int64(frames), timescale: Int32(clamping: rate))
        return speed == 1 ? natural : MediaTime(seconds: natural.seconds * speed)
    }
}

extension PacketBatch {
    /// Returns the decoded frames of a packet minus its trims.
    fileprivate func heardFrames(of packet: Packet, _ format: AudioFormat) -> Int {
        max(0, decodedFrames(of: packet, format) - packet.trimStart - packet.trimEnd)
    }

    private func decodedFrames(of packet: Packet, _ format: AudioFormat) -> Int {
        let fixed = Int(format.parameters.framesPerPacket)
        return fixed > 0 ? fixed : Int(packet.duration.rescaled(to: Int32(clamping: format.sampleRate)))
    }

    fileprivate func cut(to range: Range<Int>, _ format: AudioFormat) -> PacketBatch {
        var first = 0
        var kept: [Packet] = []
        for packet in packets {
            let count = heardFrames(of: packet, format)
            let heard = range.clamped(to: first..<first + count)
            if !heard.isEmpty {
                var slice = packet
                slice.trimStart += heard.lowerBound - first
                slice.trimEnd += first + count - heard.upperBound
                kept.append(slice)
            }
            first += count
        }
        return PacketBatch(sharing: self, packets: kept)
    }
}
