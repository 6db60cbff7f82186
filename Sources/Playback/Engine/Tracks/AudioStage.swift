internal import MediaCore
internal import SyncRendering

/// Reads the audio of successive entries and enqueues it at its position on the timeline. Packets are passed on
/// undecoded. Confined to the pipeline's thread, except `cancel`.
final class AudioStage: TrackStage {
    private let list: SharedPlaybackList
    private let cursor: SharedPlaybackList.TrackCursor
    private let renderer: AudioRenderer
    private let replayGain: ReplayGainOptions
    /// The linear gain of the current track.
    private var gain: Float
    /// Selects the track of an entry.
    private let choose: @Sendable (PlaybackList.ScheduledItem) -> Track?
    /// The entry being read; nil before the first seek.
    private var entry: PlaybackList.ScheduledItem?
    /// The media whose source is open.
    private var film: (any MediaSource)?
    private var track: Track?
    private let source: StageSource
    /// Whether the audio of the entry was read to its end.
    private var isAtEnd = false
    /// Whether the next buffer follows a gapless boundary.
    private var isGaplessBoundary = false
    /// The end of the read audio in media time.
    private var readUntil = MediaTime.zero
    /// Whether audible audio was read since the last seek or the start of the entry.
    private var hasRead = false
    /// A buffer read before the renderer had space, so that the end of the audio is known early.
    private var next: SampleBuffer?
    private var mover = TimestampShifter()
    private var failuresInARow = 0
    /// The number of buffers in a row that contain only audio read before; at most `maxRepeats`.
    private var repeatsInARow = 0
    let intake: TrackIntake?
    private let check: PacketCheck?

    private static let maxFailures = 100
    /// 25 seconds of audio in batches of 250 ms.
    private static let maxRepeats = 100

    /// Creates a stage with an open source.
    ///
    /// - Parameter entry: The entry of `source`.
    init(
        list: SharedPlaybackList, cursor: SharedPlaybackList.TrackCursor = .audio, renderer: AudioRenderer,
        replayGain: ReplayGainOptions = ReplayGainOptions(), entry: PlaybackList.ScheduledItem,
        source: any SampleSource, intake: TrackIntake? = nil, check: PacketCheck? = nil
    ) {
        (self.intake, self.check) = (intake, check)
        choose = { $0.audioTrack }
        (self.list, self.cursor, self.renderer) = (list, cursor, renderer)
        self.source = StageSource(source)
        (film, track) = (entry.film, entry.audioTrack)
        self.replayGain = replayGain
        gain = replayGain.gain(for: entry.audioTrack?.replayGain)
    }

    /// Creates a stage that starts with the successor of an entry without audio.
    init(
        list: SharedPlaybackList, cursor: SharedPlaybackList.TrackCursor = .audio, renderer: AudioRenderer,
        replayGain: ReplayGainOptions = ReplayGainOptions(),
        choose: @escaping @Sendable (PlaybackList.ScheduledItem) -> Track? = { $0.audioTrack },
        behind entry: PlaybackList.ScheduledItem, intake: TrackIntake? = nil, check: PacketCheck? = nil
    ) {
        (self.intake, self.check) = (intake, check)
        self.choose = choose
        (self.list, self.cursor, self.renderer) = (list, cursor, renderer)
        self.entry = entry
        self.replayGain = replayGain
        gain = 1
        source = StageSource()
        isAtEnd = true
        list.markEntered(entry.serial, cursor)
    }

    // MARK: Seeking

    func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime? {
        renderer.flush()
        check?.reset()
        guard let entry = list.current else { return time }
        self.entry = entry
        let mediaTime = time - (entry.offset ?? .zero)
        // Nothing is read until its source is open.
        (isAtEnd, isGaplessBoundary, readUntil, failuresInARow, next, hasRead) = (true, false, mediaTime, 0, nil, false)
        repeatsInARow = 0
        list.markEntered(entry.serial, cursor)
        guard let wanted = choose(entry) else { return time }
        do throws(MediaError) {
            let reader: any SampleSource
            if film === entry.film, track == wanted, let open = source.reader {
                reader = open
            } else {
                reader = try entry.media.source(for: wanted)
                try useReader(reader, entry, wanted)
            }
            // The others read on: a shared input has the track from its reading position on.
            if aim != .exactAlone || !entry.film.summary.sharesReader {
                try reader.seek(to: mediaTime, mode: .exact)
            }
        } catch {
            if error.code == .cancelled { throw error }
            // A source that is not seekable continues at its position, which is correct at the start. A failed source
            // ends.
            if error.code != .unsupported {
                list.recordFailure(error, at: mediaTime, cursor, of: entry.serial)
                _ = reachEnd(of: entry)
                return time
            }
        }
        isAtEnd = false
        return time
    }

    /// Returns to an entry after its successors, or its end, have changed.
    func cut(after serial: Int) {
        guard let kept = list.entry(serial) else { return }
        if let end = kept.sectionEnd, kept.serial == entry?.serial, !isAtEnd, readUntil < end {
            // It reads on up to the new end.
            return entry = kept
        }
        if cursor != .audio, kept.serial == entry?.serial, !isAtEnd,
            let end = list.settledEnd(of: serial).map({ $0 - (kept.offset ?? .zero) }), readUntil < end
        {
            // The main track determined the end, and this one has not reached it.
            return entry = kept
        }
        (entry, isAtEnd, next) = (kept, true, nil)
        list.markEntered(serial, cursor)
    }

    private func useReader(_ reader: any SampleSource, _ entry: PlaybackList.ScheduledItem, _ track: Track)
        throws(MediaError)
    {
        try source.replace(reader)
        (film, self.track) = (entry.film, track)
        gain = replayGain.gain(for: track.replayGain)
    }

    // MARK: Steps

    func step() throws(MediaError) -> TrackStep {
        guard let entry else { return .full }
        if isAtEnd { return proceed(behind: entry) }
        // Queried before the read: a full renderer requests more only after it was queried.
        let hasRoom = renderer.isReadyForMoreMediaData || intake?.wantsMore ?? false
        if let buffer = next {
            guard hasRoom else { return .full }
            next = nil
            return enqueue(buffer, of: entry)
        }
        guard let reader = source.reader else { return reachEnd(of: entry) }
        do {
            intake?.beginReading()
            let read = Result { () throws(MediaError) in try reader.read() }
            intake?.endReading()
            // The renderer may have been flushed for another item while the read blocked.
            try source.checkCancellation()
            guard let buffer = try read.get() else {
                if cursor == .audio { list.recordRead(audioUntil: readUntil, of: entry.serial) }
                return reachEnd(of: entry)
            }
            failuresInARow = 0
            if let start = buffer.presentationTime {
                intake?.record(readUntil: start + buffer.audioLength + (entry.offset ?? .zero))
            }
            if hasRoom { return enqueue(buffer, of: entry) }
            next = buffer
            return .full
        } catch {
            // A damaged packet is skipped; a source that fails repeatedly ends.
            failuresInARow += 1
            if error.code == .damagedPacket, failuresInARow == 1 { list.recordDamage(of: entry.serial) }
            if error.isPartial {
                list.record(lostSegment: error, at: readUntil, cursor, of: entry.serial)
            }
            if error.isRecoverable, failuresInARow < Self.maxFailures { return .moved }
            if error.code != .cancelled {
                list.recordFailure(error, at: readUntil, cursor, of: entry.serial)
                return reachEnd(of: entry)
            }
            try source.checkCancellation()
            renderer.finish()
            throw error
        }
    }

    /// Shifts a buffer to the timeline, trims it to the entry, and enqueues it.
    private func enqueue(_ buffer: SampleBuffer, of entry: PlaybackList.ScheduledItem) -> TrackStep {
        let offset = entry.offset ?? .zero
        var buffer = buffer
        let start = buffer.presentationTime ?? readUntil
        let isHeard = !buffer.flags.contains(.decodeOnly)
        // Audio beyond the end of the entry is dropped.
        let settled = list.settledEnd(of: entry.serial).map { $0 - offset }
        let limit = [entry.limit, settled].compactMap { $0 }.min()
        if let limit, isHeard, start >= limit {
            readUntil = max(readUntil, limit)
            return reachEnd(of: entry)
        }
        if isHeard {
            let isRepeat =
                hasRead && buffer.presentationTime != nil && buffer.audioLength > .zero
                && start + buffer.audioLength <= readUntil
            if repeatsInARow == Self.maxRepeats {
                // A demuxer that repeats packets without end would fill the renderer's queue, which plays them once.
                if isRepeat { return .moved }
                buffer.flags.insert(.discontinuity)
            }
            repeatsInARow = isRepeat ? repeatsInARow + 1 : 0
            if cursor == .audio, hasRead, start - readUntil > EntryLosses.shortestHole {
                list.record(hole: readUntil, until: start, of: entry.serial)
            }
            hasRead = true
            readUntil = max(readUntil, start + buffer.audioLength)
            if let lost = check?.undecodable(in: buffer) { list.record(undecodable: lost, of: entry.serial) }
        }
        // The part after a section has the timeline of the media but starts within a packet.
        if isGaplessBoundary || entry.isSection || offset.value != 0 {
            buffer = mover.moved(
                buffer, by: TimeShift(offset), from: isGaplessBoundary || entry.start > .zero ? entry.start : nil)
        }
        if let limit, isHeard, readUntil > limit {
            buffer.heardUntil = limit + offset
            readUntil = limit
        }
        if isGaplessBoundary {
            buffer.flags.remove(.discontinuity)
            buffer.flags.insert(.gaplessBoundary)
            isGaplessBoundary = false
        }
        buffer.gain = gain
        renderer.enqueue(buffer, reportsDrop: false)
        return .moved
    }

    private func reachEnd(of entry: PlaybackList.ScheduledItem) -> TrackStep {
        isAtEnd = true
        list.setTrackEnd(.at(readUntil), cursor, of: entry.serial)
        return .moved
    }

    private func proceed(behind entry: PlaybackList.ScheduledItem) -> TrackStep {
        switch list.successor(of: entry.serial, cursor) {
        case .wait: return .full
        case .finish:
            renderer.finish()
            return .full
        case .end:
            renderer.finish()
            return .ended
        case .entry(let next):
            begin(next)
            return .moved
        }
    }

    private func begin(_ next: PlaybackList.ScheduledItem) {
        // Opened before `markEntered`, because that marks the boundary as reached.
        var wanted = choose(next)
        if let track = wanted {
            intake?.beginReading()
            defer { intake?.endReading() }
            do throws(MediaError) {
                let reader = try next.media.source(for: track)
                if next.start > .zero { try reader.seek(to: next.start, mode: .exact) }
                try useReader(reader, next, track)
            } catch {
                // Video without the audio is not played either. An additional track is dropped instead.
                guard cursor != .audio else { return list.lose(next.serial, error) }
                if source.isCancelled { return }
                wanted = nil
            }
        }
        entry = next
        self.next = nil
        (isAtEnd, isGaplessBoundary, readUntil, failuresInARow, hasRead) = (wanted == nil, true, next.start, 0, false)
        repeatsInARow = 0
        list.markEntered(next.serial, cursor)
    }

    func askForRoom(raising signal: Signal) { renderer.requestMediaData(raising: signal) }

    func cancel() { source.cancel() }
}
