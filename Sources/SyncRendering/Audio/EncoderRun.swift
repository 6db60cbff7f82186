internal import MediaCore

/// The encoder of an encoded delivery, and the contiguous run of audio sent to it. Without an encoder all
/// methods have no effect.
///
/// Encoder packets are contiguous: a gap in the media finishes the current run, and overlapping blocks are dropped.
/// Smaller differences are corrected once their sum exceeds a millisecond.
/// Confined to the feeder thread.
struct EncoderRun {
    /// A gap above this restarts the encoder. It exceeds any rounding error and is below the audible offset.
    private static let seam: Duration = .milliseconds(20)
    /// Smaller gaps and overlaps, such as rounding errors where another converter begins, are corrected once their sum
    /// exceeds this.
    private static let tolerance: Duration = .milliseconds(1)

    private var encoder: (any PCMEncoder)?
    /// The end of the audio sent to the encoder, in media time; nil after a restart.
    private(set) var end: MediaTime?
    /// How much earlier than its media time the audio is in the packets: the sum of ignored gaps less overlaps.
    private var ignored: Duration = .zero
    /// Whether the last block follows a gap and waits for the restart of the encoder.
    private var isBlockHeld = false
    /// Whether the end of input was signalled.
    private var isFinished = false

    /// Whether there is an encoder.
    var isPresent: Bool { encoder != nil }
    /// The number of frames per packet; nil without an encoder.
    var framesPerPacket: Int? { encoder?.framesPerPacket }

    mutating func use(_ encoder: any PCMEncoder) { self.encoder = encoder }

    mutating func remove() { encoder = nil }

    /// Discards all audio.
    mutating func reset() {
        restart()
        isBlockHeld = false
        isFinished = false
    }

    /// Discards the audio inside the encoder; the next block may start at any time.
    mutating func restart() {
        encoder?.reset()
        (end, ignored) = (nil, .zero)
    }

    // MARK: Encoding

    /// Encodes a block. After a gap the encoder is finished first, and the caller keeps the block for `sendHeld`.
    mutating func send(_ block: PCMBlock) throws(MediaError) {
        if let end {
            let gap = (block.start - end).duration
            if gap < .zero - Self.seam { return }
            if gap > Self.seam {
                isBlockHeld = true
                encoder?.finish()
                return
            }
            ignored += gap
        }
        let corrected = corrected(block)
        end = block.end
        if corrected.frames > 0 { try encoder?.send(corrected) }
    }

    /// Returns a block that begins at its media time in the packets: with silence before it, or without its first
    /// frames. Without the correction, rounding errors at the gapless boundaries of a playlist would add up.
    private mutating func corrected(_ block: PCMBlock) -> PCMBlock {
        guard abs(ignored.inSeconds) > Self.tolerance.inSeconds else { return block }
        let framesPerSecond = Double(block.format.sampleRate) / block.speed
        let frames = Int((ignored.inSeconds * framesPerSecond).rounded())
        guard frames > 0 else {
            let dropped = min(-frames, block.frames)
            block.dropFirst(dropped)
            ignored += .seconds(Double(dropped) / framesPerSecond)
            return block
        }
        ignored = .zero
        let joined = PCMBlock(format: block.format, capacity: frames + block.frames)
        (joined.frames, joined.speed) = (joined.capacity, block.speed)
        joined.start = block.start - MediaTime(seconds: Double(frames) / framesPerSecond)
        let channels = block.format.channels
        joined.samples.advanced(by: frames * channels).update(from: block.samples, count: block.frames * channels)
        return joined
    }

    /// Encodes the block that follows a gap, after all packets before it were received. Returns false if there is none.
    mutating func sendHeld(_ block: PCMBlock) throws(MediaError) -> Bool {
        guard isBlockHeld, encoder != nil else { return false }
        isBlockHeld = false
        restart()
        try send(block)
        return true
    }

    /// Appends the available packets to `batch`. Returns false if there are none.
    func receive(into batch: PacketBatch) throws(MediaError) -> Bool {
        guard let encoder else { return false }
        return try encoder.receive(into: batch)
    }

    // MARK: The end of input

    /// Signals the end of input once. Returns false if that was done before.
    mutating func finish() -> Bool {
        guard let encoder, !isFinished else { return false }
        isFinished = true
        encoder.finish()
        return true
    }

    /// Accepts input again after all packets were received and the encoder was restarted.
    mutating func endFinish() { isFinished = false }

    /// Continues after `finish`, if more audio follows.
    mutating func continueAfterFinish() {
        guard isFinished else { return }
        restart()
        isFinished = false
    }

    // MARK: Joining and cutting

    /// Encodes silence between preceding packets that end at `start` and the first block, if it fits into a packet.
    mutating func fill(_ frames: Int, from start: MediaTime, _ format: PCMFormat) {
        guard let encoder, frames > 0, frames < encoder.framesPerPacket else { return }
        let silence = PCMBlock(format: format, capacity: frames)
        (silence.frames, silence.start) = (frames, start)
        // ignored: the next block fails as well and is reported.
        guard (try? encoder.send(silence)) != nil else { return }
        end = silence.end
    }

    /// The packets before a cut.
    struct Cut {
        /// Complete packets that end before the cut.
        let kept = PacketBatch()
        /// Packets that span the cut or are not full; their part before the cut must be encoded again.
        let truncated = PacketBatch()
        /// Whether all later audio inside the converter is after the cut.
        var passesCut = false
    }

    /// Drains the encoder up to a time.
    ///
    /// - Parameters:
    ///   - waiting: Packets received before, and the offset of the first that was not delivered.
    ///   - held: The last block. If it follows a gap it is trimmed; the encoder is already finished.
    /// - Returns: Nil if the held block follows a gap.
    mutating func cut(at time: MediaTime, waiting: (packets: PacketBatch, offset: Int)?, held: PCMBlock?) -> Cut? {
        if isBlockHeld {
            isBlockHeld = held?.cut(at: time) ?? false
            return nil
        }
        let rest = PacketBatch()
        if let (packets, offset) = waiting {
            for packet in packets.packets.dropFirst(offset) {
                packets.withBytes(of: packet) { rest.append($0, as: packet) }
            }
        }
        encoder?.finish()
        // ignored: packets that the encoder fails to return are dropped, as the flush requires.
        _ = try? encoder?.receive(into: rest)
        restart()
        isFinished = false
        var cut = Cut()
        let full = encoder.map { Int64($0.framesPerPacket) } ?? 0
        for packet in rest.packets {
            guard let start = packet.presentationTime, start < time else { break }
            let isComplete = start + packet.duration <= time && packet.duration.value >= full
            rest.withBytes(of: packet) { (isComplete ? cut.kept : cut.truncated).append($0, as: packet) }
        }
        let end = rest.packets.last.flatMap { packet in packet.presentationTime.map { $0 + packet.duration } }
        cut.passesCut = end.map { $0 > time } ?? false
        return cut
    }

    /// Decodes truncated packets and encodes their part before `time` again.
    ///
    /// - Parameters:
    ///   - packets: In `format`.
    ///   - pcm: The input format of the encoder.
    mutating func putBack(
        _ packets: PacketBatch, until time: MediaTime, format: AudioFormat, pcm: PCMFormat,
        codecs: any AudioCodecs
    ) {
        guard let encoder, let first = packets.packets.first, let start = first.presentationTime,
            // ignored: up to one packet before the cut is silent, as where packets cannot be cut.
            let decoder = try? codecs.converter(from: format, to: pcm, speed: 1)
        else { return }
        let buffer = SampleBuffer(
            payload: .encodedAudio(format, packets), presentationTime: start, duration: first.duration)
        let head = PCMBlock(format: pcm, capacity: max(encoder.framesPerPacket, 1))
        // ignored: up to one packet before the cut is silent, as on outputs whose packets cannot be cut.
        guard (try? decoder.send(buffer)) != nil else { return }
        decoder.finish()
        // ignored: the same.
        guard (try? decoder.receive(into: head)) == true, head.cut(at: time) else { return }
        // The encoder copies the frames only when a packet is full; it retains the block.
        // ignored: see above; the next block fails as well and is reported.
        try? encoder.send(head)
        end = head.end
    }
}
