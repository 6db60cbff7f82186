package import MediaCore

/// Decodes the packets of a video track, for a layer that receives them and for a reader of media. Seeks forward by
/// decoding, and ends the skip policy `syncOnly`. Used by one thread at a time.
package final class FrameDecoder {
    package let decoder: any PictureDecoder
    /// The duration of each frame, of an image file; nil: as stated.
    private let duration: MediaTime?
    /// Frames that precede those of the decoder.
    private var ready: [SampleBuffer] = []
    /// The last returned frame, and the latest sync frame's time, since the last flush.
    private var last: SampleBuffer?
    private var lastSync: MediaTime?
    /// The last frame before a seek without a flush. It remains displayed if no frame starts at the target.
    private var staying: (frame: SampleBuffer, target: MediaTime)?
    /// The media time at which playback is, for the skip policy `syncOnly`; nil: no sync frame is late.
    var playhead: MediaTime?
    /// Whether a frame was decoded.
    package private(set) var hasDelivered = false
    /// Whether frames may be outstanding.
    private(set) var isBusy = false
    /// Whether the end of the packets was signalled.
    package private(set) var isFinished = false

    /// The maximum distance of a seek by decoding: in an index with gaps a real seek may be faster.
    private static let maxSkip = MediaTime(value: 10, timescale: 1)

    package init(_ decoder: any PictureDecoder, duration: MediaTime? = nil) {
        (self.decoder, self.duration) = (decoder, duration)
    }

    /// Decodes a packet.
    ///
    /// - Throws: As `PictureDecoder.send`.
    package func send(_ buffer: SampleBuffer) throws(MediaError) {
        if buffer.flags.contains(.sync), let sync = buffer.presentationTime {
            lastSync = sync
            endSyncOnly(at: sync)
        }
        isBusy = true
        try decoder.send(buffer)
    }

    /// Signals the end of the packets, so that the decoder's remaining frames become available.
    package func finish() {
        isFinished = true
        decoder.finish()
    }

    /// Returns the next frame in presentation order; nil if further packets are required.
    package func receive() -> SampleBuffer? {
        if !ready.isEmpty { return returned(ready.removeFirst()) }
        guard var frame = decoder.receive() else { return nil }
        hasDelivered = true
        if let duration { frame.duration = duration }
        return returned(frame)
    }

    /// Whether `receive` returns a frame that was put back.
    package var hasReady: Bool { !ready.isEmpty }

    /// Returns a frame by the next `receive`.
    package func putBack(_ frame: SampleBuffer) { ready.append(frame) }

    /// Drops all packets and frames, for a seek.
    package func flush() {
        ready.removeAll(keepingCapacity: true)
        (last, lastSync, staying, isFinished, isBusy) = (nil, nil, nil, false, false)
        decoder.flush()
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
