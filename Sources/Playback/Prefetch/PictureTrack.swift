import MediaCore
import SyncRendering

/// A video track with its source and decoder.
///
/// `@unchecked Sendable`: created and prepared by one thread, then handed over under the list's lock to the pipeline,
/// which uses it exclusively. `cancel` only calls the source, which permits any thread.
final class PictureTrack: @unchecked Sendable {
    /// The media that contains the track.
    let film: any MediaSource
    /// The source of the track's packets.
    let source: any SampleSource
    let frames: FrameDecoder
    var decoder: any PictureDecoder { frames.decoder }
    /// Whether the track is cover art, a single frame for the whole item.
    let isStill: Bool
    /// Whether the track has a single frame: cover art, or an image file.
    let isOnePicture: Bool
    private var still: SampleBuffer?
    /// A packet that was read while searching a sync frame.
    private var found: SampleBuffer?
    /// Packets read ahead, and the end of the source reached meanwhile.
    private var ahead: [SampleBuffer] = []
    private var aheadBytes = 0
    /// The times of the packets read ahead, and the number of packets in a row whose time is one of them.
    private var timesAhead: Set<MediaTime> = []
    private var repeatsInARow = 0
    private var endAhead: Result<Void, MediaError>?
    /// The end of the packets read since the last seek, in media time.
    private(set) var readUntil: MediaTime?
    private var failuresInARow = 0
    /// The error that ended the source early, since the last seek.
    private(set) var failure: MediaError?
    /// Why a segment of the source was skipped, and the film time up to which packets had been read; nil where none
    /// was.
    private var lostSegment: (error: MediaError, place: MediaTime?)?

    /// The maximum number of packets read for a first frame.
    private static let maxPackets = 500
    private static let maxFailures = 1000
    /// Four seconds of media at 64 Mbit/s.
    private static let maxBytesAhead = 32 << 20
    /// Four seconds of media at 60 frames per second; a packet occupies about 20 KB besides its bytes.
    private static let maxRepeats = 240

    /// Creates a track from an opened source and a decoder, both at the start.
    ///
    /// - Parameter shownFor: The duration of the only frame of an image file.
    init(
        film: any MediaSource, source: any SampleSource, decoder: any PictureDecoder, isStill: Bool = false,
        shownFor: MediaTime? = nil
    ) {
        (self.film, self.source, self.isStill) = (film, source, isStill)
        isOnePicture = isStill || shownFor != nil
        frames = FrameDecoder(decoder, duration: shownFor)
    }

    /// Seeks to a media time. A source that is not seekable keeps its position.
    ///
    /// - Returns: The media time from which frames are shown; nil if the first frame determines it.
    @discardableResult
    func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime? {
        if isStill {
            if let still, !frames.hasReady { frames.putBack(still) }
            return time
        }
        if aim == .exact, found == nil, frames.skipForward(to: time, sync: source.syncTime(before: time)) {
            return time
        }
        frames.flush()
        (found, failuresInARow, failure) = (nil, 0, nil)
        (ahead, aheadBytes, endAhead, readUntil, lostSegment) = ([], 0, nil, nil, nil)
        (timesAhead, repeatsInARow) = ([], 0)
        if let sync = try findSync(aim, time) {
            // Leading frames, which follow the sync frame in decoding order, lack their reference.
            decoder.dropFrames(before: sync)
            return sync
        }
        let isExact = aim != .anySyncBefore
        found = nil
        do {
            try source.seek(to: time, mode: isExact ? .exact : .syncBefore)
        } catch  where error.code == .unsupported {
            // Correct at the start of the media.
        }
        if isExact { decoder.dropFrames(before: time) }
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
                    found = buffer
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
        for _ in 0..<Self.maxPackets {
            switch try step() {
            case .picture(let picture):
                frames.putBack(picture)
                return
            case .moved: continue
            case .ended: return
            }
        }
    }

    /// The result of a step.
    enum Step {
        /// The next frame in presentation order.
        case picture(SampleBuffer)
        /// A packet was read; there may be a frame after further steps.
        case moved
        /// All frames were returned.
        case ended
    }

    /// Returns the next frame or reads one packet. A damaged packet is skipped; a source that fails ends here.
    ///
    /// - Throws: `cancelled`.
    ///
    /// - Parameter intake: Records the calls into the source.
    func step() throws(MediaError) -> Step { try step(noting: nil) }

    func step(noting intake: TrackIntake?) throws(MediaError) -> Step {
        if still != nil, !frames.hasReady { return .ended }
        if let picture = frames.receive() {
            if isStill { still = picture }
            return .picture(picture)
        }
        if frames.isFinished {
            // A decoder that fails while it is drained returns no frame, as at the end.
            failure = failure ?? decoder.failure
            return .ended
        }
        do {
            if let buffer = try nextPacket(noting: intake) {
                failuresInARow = 0
                try frames.send(buffer)
            } else {
                frames.finish()
            }
        } catch {
            if error.code == .cancelled { throw error }
            failuresInARow += 1
            noteLostSegment(error)
            // The decoder's remaining frames are shown before the track ends.
            if !error.isRecoverable || failuresInARow >= Self.maxFailures {
                failure = error
                frames.finish()
            }
        }
        return .moved
    }

    /// Reads one packet in advance.
    ///
    /// - Returns: False if nothing can be read, or the limit of packets read ahead is reached.
    /// - Throws: `cancelled`.
    func readAhead(noting intake: TrackIntake) throws(MediaError) -> Bool {
        guard !frames.isFinished, endAhead == nil, aheadBytes < Self.maxBytesAhead else { return false }
        do throws(MediaError) {
            guard let buffer = try read(noting: intake) else {
                endAhead = .success(())
                return false
            }
            if let time = buffer.presentationTime {
                repeatsInARow = timesAhead.insert(time).inserted ? 0 : repeatsInARow + 1
            }
            // A demuxer that repeats packets without end never completes a reserve. They are dropped, and reading
            // continues, so that the track still counts as waiting for its source.
            if repeatsInARow > Self.maxRepeats { return true }
            ahead.append(buffer)
            aheadBytes += buffer.byteCount
        } catch {
            if error.code == .cancelled { throw error }
            noteLostSegment(error)
            if !error.isRecoverable { endAhead = .failure(error) }
        }
        return true
    }

    private func noteLostSegment(_ error: MediaError) {
        if error.isPartial { lostSegment = lostSegment ?? (error, readUntil) }
    }

    /// Returns the first segment that was skipped since the last call.
    func takeLostSegment() -> (error: MediaError, place: MediaTime?)? { lostSegment.take() }

    private func nextPacket(noting intake: TrackIntake?) throws(MediaError) -> SampleBuffer? {
        if let buffer = found.take() { return buffer }
        if !ahead.isEmpty {
            // At most a few hundred packets, and only after a hold.
            let buffer = ahead.removeFirst()
            aheadBytes -= buffer.byteCount
            if ahead.isEmpty { (timesAhead, repeatsInARow) = ([], 0) }
            return buffer
        }
        if let endAhead {
            try endAhead.get()
            return nil
        }
        return try read(noting: intake)
    }

    private func read(noting intake: TrackIntake?) throws(MediaError) -> SampleBuffer? {
        intake?.beginReading()
        defer { intake?.endReading() }
        let buffer = try source.read()
        if let end = buffer?.end { readUntil = max(readUntil ?? end, end) }
        return buffer
    }

    /// Cancels blocking reads of the source. Any thread.
    func cancel() { source.cancel() }
}

extension SampleBuffer {
    /// The size of the encoded payload in bytes.
    fileprivate var byteCount: Int {
        if case .encodedVideo(_, let batch) = payload { return batch.byteCount }
        return 0
    }
}
