package import MediaCore
package import SyncRendering

/// The pictures of one film on their way from its source through its decoder.
///
/// `@unchecked Sendable`: made and made ready by one thread, then handed over under the list's lock to the pipeline, the
/// only one who uses it from then on; `cancel` is the source's, which any thread may call.
package final class PictureTrack: @unchecked Sendable {
    package let film: any MediaSource
    package let source: any SampleSource
    let decoder: any PictureDecoder
    /// One picture, which came along with a recording and stands for all of it.
    let isStill: Bool
    /// How long the one picture of a film of its own stays.
    private let shownFor: MediaTime?
    /// A picture has come out.
    private(set) var hasGiven = false
    var isOnePicture: Bool { isStill || shownFor != nil }
    private var still: SampleBuffer?
    private var ready: [SampleBuffer] = []
    /// A packet that was read to find a place to begin.
    private var found: SampleBuffer?
    /// Packets that were read while no frame was wanted, and how the source ended meanwhile.
    private var ahead: [SampleBuffer] = []
    private var aheadBytes = 0
    private var endAhead: Result<Void, MediaError>?
    /// Film time up to which packets were read since the last jump.
    private(set) var readUntil: MediaTime?
    private var sourceHasEnded = false
    private var failuresInARow = 0
    /// Why the source ended before its end, since the last jump.
    private(set) var failure: MediaError?
    /// Why a segment of the source was skipped, and the film time up to which packets had been read; nil where none was.
    private var lostSegment: (error: MediaError, place: MediaTime?)?
    /// The picture that was handed out last, and the latest place of a sync picture that was read, since the last jump.
    private var last: SampleBuffer?
    private var lastSync: MediaTime?
    /// A jump leads on from this picture. It stays where nothing is coded for the place asked for.
    private var staying: (picture: SampleBuffer, place: MediaTime)?

    /// Packets that may be read for a first picture.
    private static let mostPackets = 500
    private static let mostFailures = 1000
    /// Four seconds of film at 64 Mbit/s.
    private static let maxBytesAhead = 32 << 20
    /// Where an index has holes, so much at most is decoded on the way to a place that a jump would find at once.
    private static let longestWay = MediaTime(value: 10, timescale: 1)

    package init(
        film: any MediaSource, source: any SampleSource, decoder: any PictureDecoder, isStill: Bool = false,
        shownFor: MediaTime? = nil
    ) {
        self.shownFor = shownFor
        self.film = film
        self.source = source
        self.decoder = decoder
        self.isStill = isStill
    }

    /// Goes to a film time; a source that cannot stays where it is.
    ///
    /// - Returns: the film time from which pictures are seen; nil when the first of them tells.
    @discardableResult
    package func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime? {
        ready.removeAll(keepingCapacity: true)
        if isStill {
            if let still { ready.append(still) }
            return time
        }
        if aim == .exact, goOn(to: time) { return time }
        (found, last, lastSync, staying) = (nil, nil, nil, nil)
        (sourceHasEnded, failuresInARow, failure) = (false, 0, nil)
        (ahead, aheadBytes, endAhead, readUntil, lostSegment) = ([], 0, nil, nil, nil)
        if let sync = try findSync(aim, time) {
            decoder.flush()
            // Pictures that are shown before it and sent behind it need one that is not there.
            decoder.discardPictures(before: sync)
            return sync
        }
        let isExact = aim != .anySyncBefore
        found = nil
        do {
            try source.seek(to: time, mode: isExact ? .exact : .syncBefore)
        } catch  where error.code == .unsupported {
            // At the start that is right.
        }
        decoder.flush()
        if isExact { decoder.discardPictures(before: time) }
        return isExact ? time : nil
    }

    /// Decodes on to a place behind the last picture, where a jump would begin with a sync picture that was decoded already.
    private func goOn(to time: MediaTime) -> Bool {
        guard let last, let end = last.end, time >= end, time - end <= Self.longestWay, let lastSync, found == nil,
            !sourceHasEnded, decoder.effort >= .plain, let sync = source.syncTime(before: time), sync <= lastSync
        else { return false }
        staying = (last, time)
        while let picture = decoder.receive() {
            if let end = picture.end, end <= time {
                staying?.picture = picture
            } else {
                ready.append(picture)
                return true
            }
        }
        return decoder.goOn(to: time)
    }

    /// The sync picture that a jump by a distance aims at; nil when there is none so near. The next packet read is its own.
    ///
    /// - Throws: `cancelled`.
    private func findSync(_ aim: SeekAim, _ time: MediaTime) throws(MediaError) -> MediaTime? {
        do {
            switch aim {
            case .exact, .anySyncBefore: return nil
            case .syncBefore(let step):
                guard let sync = try source.seek(to: time, mode: .syncBefore) else { return nil }
                return sync <= time && time - sync <= step ? sync : nil
            case .syncAfter(let step):
                try source.seek(to: time, mode: .syncBefore)
                // Read rather than asked for: not every container knows all its sync pictures, and none says how far it looks.
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

    /// Reads and decodes up to the first picture, so that it is there at once.
    func makeReady(from start: MediaTime) throws(MediaError) {
        if start > .zero { try seek(to: start, aim: .exact) }
        for _ in 0..<Self.mostPackets {
            switch try step() {
            case .picture(let picture):
                ready.append(picture)
                return
            case .moved: continue
            case .ended: return
            }
        }
    }

    package enum Step {
        case picture(SampleBuffer)
        case moved
        /// Everything is out.
        case ended
    }

    /// The next picture, or one packet more. A damaged packet is passed over; a source that fails ends here.
    ///
    /// - Throws: `cancelled`.
    ///
    /// - Parameter intake: where calls into the source are noted.
    package func step() throws(MediaError) -> Step { try step(noting: nil) }

    func step(noting intake: TrackIntake?) throws(MediaError) -> Step {
        if !ready.isEmpty { return handed(ready.removeFirst()) }
        if still != nil { return .ended }
        if var picture = decoder.receive() {
            hasGiven = true
            if let shownFor { picture.duration = shownFor }
            if isStill { still = picture }
            return handed(picture)
        }
        if sourceHasEnded { return .ended }
        do {
            if let buffer = try nextPacket(noting: intake) {
                failuresInARow = 0
                if buffer.flags.contains(.sync) { lastSync = buffer.presentationTime ?? lastSync }
                try decoder.send(buffer)
            } else {
                finish()
            }
        } catch {
            if error.code == .cancelled { throw error }
            failuresInARow += 1
            noteLostSegment(error)
            // What the decoder still holds is shown before the track is given up.
            if !error.isRecoverable || failuresInARow >= Self.mostFailures {
                failure = error
                finish()
            }
        }
        return .moved
    }

    /// Reads one packet more, for later.
    ///
    /// - Returns: false where nothing can be read, or too much waits.
    /// - Throws: `cancelled`.
    func readAhead(noting intake: TrackIntake) throws(MediaError) -> Bool {
        guard !sourceHasEnded, endAhead == nil, aheadBytes < Self.maxBytesAhead else { return false }
        do throws(MediaError) {
            guard let buffer = try read(noting: intake) else {
                endAhead = .success(())
                return false
            }
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
        if error.code == .lostSegment { lostSegment = lostSegment ?? (error, readUntil) }
    }

    /// Returns the first segment that was skipped since the last call.
    func takeLostSegment() -> (error: MediaError, place: MediaTime?)? { lostSegment.take() }

    private func handed(_ picture: SampleBuffer) -> Step {
        var picture = picture
        if let (before, place) = staying.take(), let shown = before.presentationTime,
            let start = picture.presentationTime, start > place
        {
            ready.insert(picture, at: 0)
            picture = before
            picture.duration = start - shown
        }
        last = picture
        return .picture(picture)
    }

    private func nextPacket(noting intake: TrackIntake?) throws(MediaError) -> SampleBuffer? {
        if let buffer = found.take() { return buffer }
        if !ahead.isEmpty {
            // At most a few hundred, after a hold only.
            let buffer = ahead.removeFirst()
            aheadBytes -= buffer.byteCount
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

    private func finish() {
        sourceHasEnded = true
        decoder.finish()
    }

    package func cancel() { source.cancel() }
}

extension SampleBuffer {
    /// Bytes of the encoded picture inside.
    fileprivate var byteCount: Int {
        if case .encodedVideo(_, let batch) = payload { return batch.byteCount }
        return 0
    }
}
