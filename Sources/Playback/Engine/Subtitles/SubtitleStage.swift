internal import MediaCore
internal import SyncRendering

/// Reads the subtitles of successive entries and enqueues them at their position on the timeline. Playback never waits
/// for it. Confined to the pipeline's thread, except `cancel`.
final class SubtitleStage: TrackStage {
    private let list: SharedPlaybackList
    private let cursor: SharedPlaybackList.TrackCursor
    private let renderer: SubtitleRenderer
    /// Selects the track of an entry.
    private let choose: @Sendable (PlaybackList.ScheduledItem) -> Track?
    private var entry: PlaybackList.ScheduledItem?
    /// The media whose source is open.
    private var film: (any MediaSource)?
    private var track: Track?
    private let source = StageSource()
    private var isAtEnd = true
    private var failuresInARow = 0
    /// The last read media time.
    private var readUntil = MediaTime.zero

    private static let maxFailures = 100

    /// Creates a stage.
    ///
    /// - Parameter entry: The stage starts with its successor, or with a seek.
    init(
        list: SharedPlaybackList, cursor: SharedPlaybackList.TrackCursor = .subtitle, renderer: SubtitleRenderer,
        choose: @escaping @Sendable (PlaybackList.ScheduledItem) -> Track?, behind entry: PlaybackList.ScheduledItem
    ) {
        (self.list, self.cursor, self.renderer) = (list, cursor, renderer)
        (self.choose, self.entry) = (choose, entry)
        list.markEntered(entry.serial, cursor)
    }

    // MARK: Seeking

    func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime? {
        renderer.flush()
        guard let entry = list.current else { return time }
        self.entry = entry
        isAtEnd = true
        list.markEntered(entry.serial, cursor)
        isAtEnd = try !open(entry, at: time - (entry.offset ?? .zero))
        return time
    }

    func cut(after serial: Int) {
        guard let kept = list.entry(serial) else { return }
        if let gaplessBoundary = kept.gaplessBoundary { renderer.flush(fromSourceTime: gaplessBoundary) }
        (entry, isAtEnd) = (kept, true)
        list.markEntered(serial, cursor)
    }

    /// Opens the selected track of an entry.
    ///
    /// - Returns: False if the entry has none, or it is unreadable.
    private func open(_ entry: PlaybackList.ScheduledItem, at moment: MediaTime) throws(MediaError) -> Bool {
        (failuresInARow, readUntil) = (0, moment)
        guard let wanted = choose(entry) else { return false }
        do throws(MediaError) {
            let reader: any SampleSource
            if film === entry.film, track == wanted, let open = source.reader {
                reader = open
            } else {
                reader = try entry.media.source(for: wanted)
                try source.replace(reader)
                (film, track) = (entry.film, wanted)
            }
            // A source that is not seekable continues at its position.
            do { try reader.seek(to: moment, mode: .exact) } catch  where error.code == .unsupported {}
            try source.checkCancellation()
            return true
        } catch {
            try source.checkCancellation()
            if error.code == .cancelled { throw error }
            list.recordFailure(error, at: moment, cursor, of: entry.serial)
            return false
        }
    }

    // MARK: Steps

    func step() throws(MediaError) -> TrackStep {
        guard let entry else { return .full }
        if isAtEnd { return try proceed(behind: entry) }
        guard renderer.isReadyForMoreMediaData else { return .full }
        guard let reader = source.reader else {
            isAtEnd = true
            return .moved
        }
        do throws(MediaError) {
            let next = Result { () throws(MediaError) in try reader.read() }
            // The renderer may have been flushed for another item while the read blocked.
            try source.checkCancellation()
            guard let buffer = try next.get() else {
                isAtEnd = true
                return .moved
            }
            failuresInARow = 0
            enqueue(buffer, of: entry)
            return .moved
        } catch {
            failuresInARow += 1
            if error.code == .cancelled { throw error }
            if error.isPartial {
                list.record(lostSegment: error, at: readUntil, cursor, of: entry.serial)
            }
            // A damaged packet is skipped; a source that fails ends, and the item continues without subtitles.
            if !error.isRecoverable || failuresInARow >= Self.maxFailures {
                isAtEnd = true
                list.recordFailure(error, at: readUntil, cursor, of: entry.serial)
            }
            return .moved
        }
    }

    private func enqueue(_ buffer: SampleBuffer, of entry: PlaybackList.ScheduledItem) {
        guard let time = buffer.presentationTime else { return }
        readUntil = max(readUntil, time)
        let limit = [entry.limit, list.settledEnd(of: entry.serial).map { $0 - (entry.offset ?? .zero) }]
            .compactMap { $0 }.min()
        if let limit, time >= limit {
            isAtEnd = true
            return
        }
        renderer.enqueue(buffer.moved(to: time + (entry.offset ?? .zero)))
    }

    private func proceed(behind entry: PlaybackList.ScheduledItem) throws(MediaError) -> TrackStep {
        switch list.successor(of: entry.serial, cursor) {
        case .wait, .finish: return .full
        case .end: return .ended
        case .entry(let next):
            // Subtitles of the preceding item end at the boundary.
            if let begin = next.begin { renderer.flush(fromSourceTime: begin) }
            self.entry = next
            isAtEnd = try !open(next, at: next.start)
            list.markEntered(next.serial, cursor)
            return .moved
        }
    }

    func askForRoom(raising signal: Signal) { renderer.requestMediaData(raising: signal) }

    func cancel() { source.cancel() }
}
