import MediaCore
import SyncRendering

/// Reads the packets of a video track for its decoder.
///
/// `@unchecked Sendable`: created and prepared by one thread, then handed over under the list's lock to the pipeline,
/// which uses it exclusively.
final class VideoReader: @unchecked Sendable {
    /// The media that contains the track.
    let film: any MediaSource
    /// The source of the track's packets.
    let source: any SampleSource
    /// The decoder of the track; packets that were read wait there.
    let frames: FrameDecoder
    var decoder: any VideoFrameDecoder { frames.decoder }
    /// Whether the source has ended since the last seek.
    private var hasEnded = false
    /// The times of the packets read ahead, and the number of packets in a row whose time is one of them.
    private var timesAhead: Set<MediaTime> = []
    private var repeatsInARow = 0
    /// The end of the packets read since the last seek, in media time.
    private(set) var readUntil: MediaTime?
    private var failuresInARow = 0
    /// Why a segment of the source was skipped, and the film time up to which packets had been read; nil where none
    /// was.
    private var lostSegment: (error: MediaError, place: MediaTime?)?

    /// The maximum number of packets read for a first frame.
    private static let maxPackets = 500
    private static let maxFailures = 1000
    /// Four seconds of media at 64 Mbit/s.
    private static let maxBytesAhead = 32 << 20
    /// Four seconds of media at 60 frames per second.
    private static let maxRepeats = 240

    /// Creates a reader from an opened source and a decoder, both at the start.
    init(film: any MediaSource, source: any SampleSource, decoder: any VideoFrameDecoder) {
        (self.film, self.source) = (film, source)
        frames = FrameDecoder(decoder, duration: source.track.isStillImage ? source.track.duration : nil)
    }

    /// Whether the track is cover art, a single frame for the whole item.
    var isStill: Bool { source.track.isCoverArt }
    /// Whether the track has a single frame: cover art, or an image file.
    var isSingleFrame: Bool { isStill || source.track.isStillImage }

    /// Seeks to a media time. A source that is not seekable keeps its position.
    ///
    /// - Returns: The media time from which frames are shown; nil if the first frame determines it.
    @discardableResult
    func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime? {
        if isStill {
            frames.repeatLast()
            return time
        }
        if aim == .exact, frames.skipForward(to: time, sync: source.syncTime(before: time)) { return time }
        frames.flush()
        (hasEnded, readUntil, failuresInARow, lostSegment) = (false, nil, 0, nil)
        if let sync = try findSync(aim, time) {
            // Leading frames, which follow the sync frame in decoding order, lack their reference.
            frames.dropFrames(before: sync)
            return sync
        }
        let isExact = aim != .anySyncBefore
        do {
            try source.seek(to: time, mode: isExact ? .exact : .syncBefore)
        } catch  where error.code == .unsupported {
            // Correct at the start of the media.
        }
        if isExact { frames.dropFrames(before: time) }
        return isExact ? time : nil
    }

    /// Returns the time of the sync frame for a seek by a distance; nil if there is none within the distance. The next
    /// packet is then that frame's.
    ///
    /// - Throws: `cancelled`.
    private func findSync(_ aim: SeekAim, _ time: MediaTime) throws(MediaError) -> MediaTime? {
        do {
            switch aim {
            case .exact, .exactAlone, .anySyncBefore: return nil
            case .syncBefore(let step):
                guard let sync = try source.seek(to: time, mode: .syncBefore) else { return nil }
                return sync <= time && time - sync <= step ? sync : nil
            case .syncAfter(let step):
                try source.seek(to: time, mode: .syncBefore)
                // Packets are read instead of querying the index: not every container indexes all sync frames, and none
                // reports the range of its index.
                while let buffer = try source.read() {
                    guard let moment = buffer.presentationTime else { continue }
                    if moment > time + step { return nil }
                    guard moment >= time, buffer.flags.contains(.sync) else { continue }
                    frames.packets.append(buffer)
                    return moment
                }
                return nil
            }
        } catch {
            if error.code == .cancelled { throw error }
            return nil
        }
    }

    /// Reads and decodes up to the first frame, so that it is available at once. Blocks on the disk or the network.
    func makeReady(from start: MediaTime) throws(MediaError) {
        if start > .zero { try seek(to: start, aim: .exact) }
        if try nextFrame(within: Self.maxPackets) != nil { frames.repeatLast() }
    }

    /// Reads and decodes the next frame; returns nil at the end, or if further packets are required. Blocks.
    func nextFrame(within maxPackets: Int = .max) throws(MediaError) -> SampleBuffer? {
        var count = 0
        while count < maxPackets {
            switch frames.step() {
            case .frame(let frame): return frame
            case .moved: continue
            case .starved:
                try read()
                count += 1
            case .ended: return nil
            }
        }
        return nil
    }

    /// Reads one packet for the decoder. A damaged one is skipped; a source that fails ends here.
    ///
    /// - Parameter intake: Records the call into the source.
    /// - Returns: False if nothing more can be read, or the limit of the packets that wait is reached.
    /// - Throws: `cancelled`.
    @discardableResult
    func read(noting intake: TrackIntake? = nil) throws(MediaError) -> Bool {
        guard !hasEnded, frames.packets.byteCount < Self.maxBytesAhead else { return false }
        do throws(MediaError) {
            intake?.beginReading()
            defer { intake?.endReading() }
            if let packet = try source.read() {
                failuresInARow = 0
                if let end = packet.end { readUntil = max(readUntil ?? end, end) }
                if !isRepeated(packet) { frames.packets.append(packet) }
                return true
            }
        } catch {
            if error.code == .cancelled { throw error }
            failuresInARow += 1
            if error.isPartial { lostSegment = lostSegment ?? (error, readUntil) }
            if error.isRecoverable, failuresInARow < Self.maxFailures { return true }
            frames.failure = frames.failure ?? error
        }
        // The frames of the packets are shown before the track ends.
        hasEnded = true
        frames.packets.finish()
        return false
    }

    /// Returns true for a packet to drop, because a demuxer that repeats packets without end never completes a
    /// reserve. Reading continues, so that the track still counts as waiting for its source.
    private func isRepeated(_ packet: SampleBuffer) -> Bool {
        if frames.packets.count == 0 {
            (timesAhead, repeatsInARow) = ([], 0)
        } else if let time = packet.presentationTime {
            repeatsInARow = timesAhead.insert(time).inserted ? 0 : repeatsInARow + 1
        }
        return repeatsInARow > Self.maxRepeats
    }

    /// Returns the first segment that was skipped since the last call.
    func consumeLostSegment() -> (error: MediaError, place: MediaTime?)? { lostSegment.take() }
}
