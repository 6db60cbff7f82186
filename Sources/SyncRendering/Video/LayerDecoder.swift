internal import MediaCore

/// Decodes the packets that a display layer receives on a separate thread, as fast as the layer has space. Any thread.
final class LayerDecoder: Sendable {
    /// The maximum number of waiting packets: a decoder's reordering depth and some margin.
    private static let depth = 16

    let packets: VideoPacketQueue
    private let codecs: any VideoCodecs
    private let wake = Signal()
    /// Nil before the first packet, and after one that cannot be decoded. Guarded by its own lock.
    private let thread = Lock<WorkerThread?>(nil)

    init(_ codecs: any VideoCodecs) { (self.codecs, packets) = (codecs, VideoPacketQueue(raising: wake)) }

    var hasRoom: Bool { packets.count < Self.depth }
    /// Whether packets were enqueued, so that the layer's space is that of the decoder.
    var isInUse: Bool { thread.withLock { $0 != nil } }

    func enqueue(_ packet: SampleBuffer, _ format: VideoFormat, for layer: DisplayLayer) {
        packets.append(packet)
        do throws(ExhaustionError) {
            try thread.withLock { (thread) throws(ExhaustionError) in
                if thread == nil { thread = try start(format, for: layer) }
            }
        } catch {
            packets.flush()
            layer.fail(with: MediaError(error))
        }
    }

    /// Wakes the thread after the layer has space for a frame or is released.
    func offer() { wake.raise() }

    /// The thread does not retain the layer while it waits, so that the release of the layer ends it.
    private func start(_ format: VideoFormat, for layer: DisplayLayer) throws(ExhaustionError) -> WorkerThread {
        try WorkerThread.start(name: "layer decoder") { [self, weak layer] in
            guard let frames = openDecoder(of: format, for: { layer }) else { return }
            var load = DecodingLoad()
            repeat {
                while let layer, Self.step(frames, &load, layer) {}
                wake.wait()
                wake.clear()
            } while layer != nil
        }
    }

    /// Returns the decoder of the waiting packets; nil if they cannot be decoded, and the thread is to end. What was
    /// enqueued after a flush is not affected by a failure before it.
    private func openDecoder(of format: VideoFormat, for layer: () -> DisplayLayer?) -> FrameDecoder? {
        var format = format
        while true {
            let flushes = packets.flushes
            do throws(MediaError) {
                return FrameDecoder(try codecs.decoder(for: format), packets)
            } catch {
                if packets.flush(since: flushes) {
                    thread.withLock { $0 = nil }
                    layer()?.fail(with: error)
                    return nil
                }
                // A packet is appended before the thread is looked for.
                let next = thread.withLock { thread in
                    let next = packets.nextFormat
                    if next == nil { thread = nil }
                    return next
                }
                guard let next else { return nil }
                format = next
            }
        }
    }

    /// Decodes one packet or enqueues one frame; returns false if there is no work or no space.
    private static func step(_ frames: FrameDecoder, _ load: inout DecodingLoad, _ layer: DisplayLayer) -> Bool {
        if frames.executeFlush() { load.reset() }
        guard layer.hasSpaceForFrames else { return false }
        load.prepare(frames, for: layer)
        switch frames.step() {
        case .frame(let frame):
            guard load.admits(frame, of: frames, to: layer) else { return true }
            layer.insert(frame, isDecoded: true) { frames.packets.isWanted(frame, since: frames.flushes) }
        case .moved: layer.offerRoom()
        case .starved: return false
        case .ended:
            if let failure = frames.failure, frames.packets.flush(since: frames.flushes) { layer.fail(with: failure) }
            // More may follow.
            frames.restart()
            load.lastEnd = nil
            frames.packets.recordDrained()
            layer.decoderIsDone()
        }
        return true
    }
}
