package import MediaCore

/// Decodes the packets of a video track, for a layer that receives them and for a reader of media. Seeks forward by
/// decoding, and ends the skip policy `syncOnly`. Used by one thread at a time, except `packets`.
package final class FrameDecoder {
    /// The result of a step.
    package enum Step {
        /// The next frame in presentation order.
        case frame(SampleBuffer)
        /// A packet was decoded, or their end was reached; there may be a frame after further steps.
        case moved
        /// Further packets are required.
        case starved
        /// All frames were returned.
        case ended
    }

    /// The packets to decode.
    package let packets: VideoPacketQueue
    package let decoder: any VideoFrameDecoder
    /// The duration of each frame, of an image file; nil: as stated.
    private let duration: MediaTime?
    /// Frames that precede those of the decoder.
    private var ready: [SampleBuffer] = []
    /// The last returned frame, and the latest sync frame's time, since the last flush.
    private var last: SampleBuffer?
    private var lastSync: MediaTime?
    /// The last frame before a seek without a flush. It remains displayed if no frame starts at the target.
    private var staying: (frame: SampleBuffer, target: MediaTime)?
    /// Whether the target of a seek was set since the last flush.
    private var hasTarget = false
    /// The end of the packets since the last flush that are only decoded; nil: none.
    private var prerollEnd: MediaTime?
    /// The media time at which playback is, for the skip policy `syncOnly`; nil: no sync frame is late.
    var playhead: MediaTime?
    /// Whether a frame was decoded.
    package private(set) var hasDelivered = false
    /// The error since the last flush after which nothing more is read or decoded.
    package var failure: MediaError?
    /// The number of executed flushes.
    private(set) var flushes: UInt64 = 0
    /// Whether the end of the packets, or a cut, was reached.
    private var isFinished = false

    /// The maximum distance of a seek by decoding: in an index with gaps a real seek may be faster.
    private static let maxSkip = MediaTime(value: 10, timescale: 1)

    package init(
        _ decoder: any VideoFrameDecoder, _ packets: VideoPacketQueue = VideoPacketQueue(), duration: MediaTime? = nil
    ) {
        (self.decoder, self.packets, self.duration) = (decoder, packets, duration)
    }

    // MARK: Steps

    /// Returns the next frame, or decodes one packet. A damaged packet is skipped; after an error the remaining frames
    /// are returned.
    package func step() -> Step {
        if let frame = receive() { return .frame(frame) }
        if isFinished {
            // A decoder that fails while it is drained returns no frame, as at the end.
            failure = failure ?? decoder.failure
            return .ended
        }
        switch packets.next(since: flushes) {
        case .packet(let packet): decode(packet)
        case .drain: finish()
        case nil: return .starved
        }
        return .moved
    }

    private func decode(_ packet: SampleBuffer) {
        guard case .encodedVideo(_, let batch) = packet.payload else { return }
        do throws(MediaError) {
            // The decoder drops the frames of discarded packets, which may come after those that are shown.
            if !hasTarget, packet.flags.contains(.decodeOnly), !batch.packets.allSatisfy(\.isDiscarded),
                let end = packet.end
            {
                // With reordered frames the last packet does not have the latest end.
                let end = max(prerollEnd ?? end, end)
                prerollEnd = end
                decoder.dropFrames(before: end)
            }
            if packet.flags.contains(.sync), let sync = packet.presentationTime {
                lastSync = sync
                endSyncOnly(at: sync)
            }
            try decoder.send(packet)
        } catch {
            guard !error.isRecoverable else { return }
            failure = error
            finish()
        }
    }

    private func finish() {
        isFinished = true
        decoder.finish()
    }

    private func receive() -> SampleBuffer? {
        if !ready.isEmpty { return returned(ready.removeFirst()) }
        guard var frame = decoder.receive() else { return nil }
        hasDelivered = true
        if let duration { frame.duration = duration }
        return returned(frame)
    }

    /// Returns the last frame again by the next step, unless another one is ready.
    package func repeatLast() { if let last, ready.isEmpty { ready.append(last) } }

    // MARK: Seeking

    /// Drops all packets and frames, for a seek.
    package func flush() {
        packets.flush()
        executeFlush()
    }

    /// Drops all frames after a flush of the packets; returns false if there was none.
    @discardableResult
    func executeFlush() -> Bool {
        let count = packets.flushes
        guard count != flushes else { return false }
        (flushes, failure, hasTarget, prerollEnd) = (count, nil, false, nil)
        restart()
        return true
    }

    /// Drops all frames; the packets continue with a sync frame.
    func restart() {
        ready.removeAll(keepingCapacity: true)
        (last, lastSync, staying, isFinished) = (nil, nil, nil, false)
        decoder.flush()
    }

    /// Drops frames that end at or before a media time, for an exact seek, unless the media ends there. After a flush.
    package func dropFrames(before time: MediaTime) {
        hasTarget = true
        decoder.dropFrames(before: time)
    }

    /// Drops frames up to a media time without a flush, if the sync frame before it was already decoded; the packets
    /// continue. Returns false if a real seek is required.
    ///
    /// - Parameter sync: The time of that sync frame; nil if unknown.
    package func skipForward(to time: MediaTime, sync: @autoclosure () -> MediaTime?) -> Bool {
        guard let last, let end = last.end, time >= end, time - end <= Self.maxSkip, let lastSync, !isFinished,
            decoder.skipPolicy >= .plain, let sync = sync(), sync <= lastSync
        else { return false }
        ready.removeAll(keepingCapacity: true)
        staying = (last, time)
        while let frame = decoder.receive() {
            if let end = frame.end, end <= time {
                staying?.frame = frame
            } else {
                ready.append(frame)
                return true
            }
        }
        return decoder.skipForward(to: time)
    }

    /// Ends the skip policy `syncOnly` before a sync frame that is not late is decoded.
    ///
    /// The decoded frame would come too late for this: a decoder that reorders returns it only after further frames,
    /// with H.264 and two B-frames after two more sync frames, and what was skipped until then lacks as a reference.
    private func endSyncOnly(at sync: MediaTime) {
        guard decoder.skipPolicy == .syncOnly, playhead.map({ sync >= $0 }) ?? true else { return }
        decoder.skipPolicy = .referencesOnly
        // Leading frames lack their reference, and frames from before the sync frame would count as late. Before the
        // first frame after a seek the decoder is empty, and its target remains.
        if last != nil { decoder.dropFrames(before: sync) }
    }

    private func returned(_ frame: SampleBuffer) -> SampleBuffer {
        var frame = frame
        if let (before, target) = staying.take(), let shown = before.presentationTime,
            let start = frame.presentationTime, start > target
        {
            ready.insert(frame, at: 0)
            frame = before
            frame.duration = start - shown
        }
        last = frame
        return frame
    }
}
