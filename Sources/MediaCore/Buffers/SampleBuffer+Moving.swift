extension SampleBuffer {
    /// Returns the same samples at another presentation time. The bytes are shared, not copied.
    ///
    /// - Parameter time: the new presentation time of the first sample; all other timestamps shift equally.
    public func moved(to time: MediaTime) -> SampleBuffer {
        var moved = self
        moved.presentationTime = time
        guard let before = presentationTime ?? ownTime, before != time else { return moved }
        let offset = time - before
        switch payload {
        case .pcm(let block):
            moved.payload = .pcm(PCMBlock(sharing: block, frames: 0..<block.frames, start: block.start + offset))
        case .encodedAudio(let format, let batch): moved.payload = .encodedAudio(format, batch.moved(by: offset))
        case .encodedVideo(let format, let batch): moved.payload = .encodedVideo(format, batch.moved(by: offset))
        case .encodedSubtitle(let format, let batch):
            moved.payload = .encodedSubtitle(format, batch.moved(by: offset))
        case .videoFrame, .subtitle: break
        }
        moved.heardUntil = heardUntil.map { $0 + offset }
        return moved
    }

    /// The timestamp in the payload; nil for video frames and subtitle cues.
    private var ownTime: MediaTime? {
        switch payload {
        case .pcm(let block): block.start
        case .encodedAudio(_, let batch), .encodedVideo(_, let batch), .encodedSubtitle(_, let batch):
            batch.packets.first?.presentationTime
        case .videoFrame, .subtitle: nil
        }
    }
}

extension PacketBatch {
    fileprivate func moved(by offset: MediaTime) -> PacketBatch {
        PacketBatch(
            sharing: self,
            packets: packets.map { packet in
                var packet = packet
                packet.presentationTime = packet.presentationTime.map { $0 + offset }
                packet.decodeTime = packet.decodeTime.map { $0 + offset }
                return packet
            })
    }
}
