internal import MediaCore
internal import SyncRendering

/// The list shared by the engine and its pipelines. The engine edits it; the pipelines read along the schedule, each at
/// its own pace, and report the ends of their tracks.
///
/// Any thread; does not block.
final class SharedPlaybackList: Sendable {
    /// A reader of the list: video, primary and secondary subtitles, and each audio track. The main audio track
    /// determines the end of an item's audio.
    enum TrackCursor: Hashable, Sendable {
        case audio(Int)
        case video
        case subtitle
        case secondarySubtitle

        static let audio = TrackCursor.audio(0)

        var kind: Track.Kind {
            switch self {
            case .audio: .audio
            case .video: .video
            case .subtitle, .secondarySubtitle: .subtitle
            }
        }
    }

    /// The successor of an entry.
    enum Successor: Sendable {
        /// Not known yet; the engine wakes the reader once it is.
        case wait
        /// The decoder must be drained, but an entry may still follow.
        case finish
        /// No entry follows.
        case end
        /// The next entry.
        case entry(PlaybackList.ScheduledItem)
    }

    /// The position of a reader.
    private struct Position {
        /// The serial number of its entry.
        var serial: Int
        /// Whether it waits at the end of its entry.
        var isWaiting = false
        /// Whether it must drain its decoder instead of waiting.
        var isEnding = false
    }

    /// Guarded by the lock `state`.
    private struct State {
        var list = PlaybackList()
        /// Whether an entry will follow the last one.
        var isOpen = false
        /// The entry beyond which no reader goes, because its successors are being removed.
        var barrier: Int?
        var cursors: [TrackCursor: Position] = [:]
        /// Video tracks prepared in advance by entry; nil if there is none.
        var preparedVideo: [Int: VideoReader?] = [:]
        /// Entries whose media is unreadable.
        var lost: [Int: MediaError] = [:]

        /// Returns the index of the entry that follows that of a reader; nil if its entry was removed.
        ///
        /// Playback may pass the entry of a late reader, because the main audio determines which entry is current. Such
        /// a reader continues with the current entry.
        func indexOfSuccessor(of serial: Int, _ cursor: TrackCursor) -> Int? {
            if let index = list.entries.firstIndex(where: { $0.serial == serial }) { return index + 1 }
            // After `restart` there are no readers: a seek follows.
            guard cursor != .audio, cursors[cursor]?.serial == serial, let current = list.entries.first,
                serial < current.serial
            else { return nil }
            return 0
        }
    }

    private let state = Lock(State())
    /// Wakes the engine's thread after a reader has moved on or waits.
    private let onChange: @Sendable () -> Void

    init(onChange: @escaping @Sendable () -> Void = {}) { self.onChange = onChange }

    // MARK: Engine's thread

    /// A copy of the list.
    var list: PlaybackList { state.withLock { $0.list } }

    /// Edits the list and drops the preparation of removed entries.
    @discardableResult
    func update<Result: Sendable>(_ body: (inout PlaybackList) -> Result) -> Result {
        state.withLock { state in
            let result = body(&state.list)
            state.preparedVideo = state.preparedVideo.filter { state.list.entry($0.key) != nil }
            state.lost = state.lost.filter { state.list.entry($0.key) != nil }
            return result
        }
    }

    /// Edits the list and resets all readers.
    func restart(_ body: (inout PlaybackList) -> Void) {
        state.withLock { state in
            body(&state.list)
            (state.cursors, state.preparedVideo, state.barrier, state.lost) = ([:], [:], nil, [:])
        }
    }

    /// Sets whether an entry will follow the last one.
    func setOpen(_ isOpen: Bool) { state.withLock { $0.isOpen = isOpen } }

    /// Prevents readers from going beyond an entry; nil: no limit.
    func setBarrier(behind serial: Int?) { state.withLock { $0.barrier = serial } }

    /// Returns the serial number of a reader's entry; nil if it has none.
    func currentSerial(of cursor: TrackCursor) -> Int? { state.withLock { $0.cursors[cursor]?.serial } }
    /// Returns the scheduled entry that a reader enters next; nil if there is none.
    func next(for cursor: TrackCursor) -> PlaybackList.ScheduledItem? {
        state.withLock { state in
            guard let entrySerial = state.cursors[cursor]?.serial,
                let index = state.indexOfSuccessor(of: entrySerial, cursor),
                index < state.list.entries.count
            else { return nil }
            return state.list.entries[index]
        }
    }
    /// Returns true if a reader has reached an entry.
    func hasEntered(_ serial: Int, _ cursor: TrackCursor) -> Bool { (currentSerial(of: cursor) ?? .min) >= serial }
    /// Returns true if a reader waits for the successor of its entry.
    func isWaiting(_ cursor: TrackCursor) -> Bool { state.withLock { $0.cursors[cursor]?.isWaiting ?? false } }

    /// Lets a reader drain its decoder although its successor is unknown.
    func end(_ cursor: TrackCursor) { state.withLock { $0.cursors[cursor]?.isEnding = true } }

    /// Stores the prepared video track of an entry; nil if it has none.
    func setVideoTrack(_ pictures: VideoReader?, to serial: Int) {
        state.withLock { state in
            if state.list.entry(serial) != nil { state.preparedVideo[serial] = .some(pictures) }
        }
    }

    /// The first scheduled entry whose media became unreadable.
    var lost: (index: Int, error: MediaError)? {
        state.withLock { state in
            for (index, entry) in state.list.entries.enumerated().dropFirst() {
                if let error = state.lost[entry.serial] { return (index, error) }
            }
            return nil
        }
    }

    // MARK: Readers

    /// Marks an entry as unreadable: readers that have not entered it wait until it is removed.
    func lose(_ serial: Int, _ error: MediaError) {
        state.withLock { if $0.list.entry(serial) != nil { $0.lost[serial] = error } }
        onChange()
    }

    /// The current entry.
    var current: PlaybackList.ScheduledItem? { state.withLock { $0.list.entries.first } }
    /// Returns an entry by its serial number.
    func entry(_ serial: Int) -> PlaybackList.ScheduledItem? { state.withLock { $0.list.entry(serial) } }

    /// Records that a reader has entered an entry.
    func markEntered(_ serial: Int, _ cursor: TrackCursor) {
        state.withLock { $0.cursors[cursor] = Position(serial: serial) }
        onChange()
    }

    /// Stores the end of a track, as read or determined in advance, in media time.
    func setTrackEnd(_ end: PlaybackList.ScheduledItem.TrackEnd, _ cursor: TrackCursor, of serial: Int) {
        let kind: Track.Kind
        switch cursor {
        case .audio(0): kind = .audio
        case .audio, .subtitle, .secondarySubtitle: return
        case .video: kind = .video
        }
        state.withLock { $0.list.setTrackEnd(end, kind, of: serial) }
        onChange()
    }

    /// Records that a track of an entry failed at a media time.
    func recordFailure(_ error: MediaError, at entrySerial: MediaTime, _ cursor: TrackCursor, of serial: Int) {
        let failure = EntryLosses.Failure(kind: cursor.kind, error: error, position: entrySerial)
        update { list in list.change(serial) { $0.losses.record(failure) } }
        onChange()
    }

    /// A segment of an entry could not be read at a film time; reading continues after it.
    func record(lostSegment error: MediaError, at entrySerial: MediaTime, _ cursor: TrackCursor, of serial: Int) {
        let loss = EntryLosses.Failure(kind: cursor.kind, error: error, position: entrySerial)
        update { list in list.change(serial) { $0.losses.record(lostSegment: loss) } }
        onChange()
    }

    /// Records that the audio of an entry was read to its end, in media time.
    func recordRead(audioUntil time: MediaTime, of serial: Int) {
        update { list in list.change(serial) { $0.losses.audioRead = time } }
        onChange()
    }

    /// Records a gap between the audio timestamps of an entry, in media time.
    func record(hole start: MediaTime, until end: MediaTime, of serial: Int) {
        update { list in list.change(serial) { $0.losses.record(hole: start, until: end) } }
    }

    /// Records audio of an entry that could not be decoded, in media time.
    func record(undecodable sound: UndecodableAudio, of serial: Int) {
        update { list in list.change(serial) { $0.losses.record(undecodable: sound) } }
    }

    /// Records damaged packets of an entry.
    func recordDamage(of serial: Int) { update { list in list.change(serial) { $0.losses.isDamaged = true } } }

    /// Records the end of the video of an entry as read, in media time, and the error that ended it.
    func recordRead(videoUntil time: MediaTime, failure: MediaError?, of serial: Int) {
        update { list in
            if let failure {
                let failure = EntryLosses.Failure(kind: .video, error: failure, position: time)
                list.change(serial) { $0.losses.record(failure) }
            }
            list.recordRead(videoUntil: time, of: serial)
        }
        onChange()
    }

    /// Returns the successor of an entry for a reader.
    func successor(of serial: Int, _ cursor: TrackCursor) -> Successor {
        let (successor, isNew) = state.withLock { state -> (Successor, Bool) in
            var found = Self.successor(of: serial, cursor, in: state)
            var position = state.cursors[cursor] ?? Position(serial: serial)
            let isWaiting = if case .wait = found { true } else { false }
            let isNew = isWaiting && !position.isWaiting
            position.isWaiting = isWaiting
            if isWaiting, position.isEnding {
                position.isEnding = false
                found = .finish
            }
            state.cursors[cursor] = position
            return (found, isNew)
        }
        if isNew { onChange() }
        return successor
    }

    private static func successor(of serial: Int, _ cursor: TrackCursor, in state: State) -> Successor {
        let entries = state.list.entries
        if state.barrier == serial { return .wait }
        guard let index = state.indexOfSuccessor(of: serial, cursor) else {
            // The entry was removed; a seek or cut of the reader follows.
            return entries.isEmpty ? .end : .wait
        }
        guard index < entries.count else { return state.isOpen ? .wait : .end }
        let next = entries[index]
        guard next.offset != nil, state.lost[next.serial] == nil else { return .wait }
        if cursor == .video, next.videoTrack != nil, state.preparedVideo[next.serial] == nil { return .wait }
        return .entry(next)
    }

    /// Returns the end of an entry on the timeline, once it is final; the start of the current entry if playback has
    /// passed it.
    func settledEnd(of serial: Int) -> MediaTime? {
        state.withLock { state in
            let entries = state.list.entries
            guard let index = entries.firstIndex(where: { $0.serial == serial }) else {
                return entries.first.flatMap { serial < $0.serial ? $0.begin : nil }
            }
            if entries[index].setEnd != nil { return entries[index].gaplessBoundary }
            return index + 1 < entries.count ? entries[index + 1].begin : nil
        }
    }

    /// Removes and returns the prepared video track of an entry; nil if there is none.
    func removePreparedVideo(of serial: Int) -> VideoReader? {
        state.withLock { state in
            defer { if state.preparedVideo[serial] != nil { state.preparedVideo[serial] = .some(nil) } }
            return state.preparedVideo[serial] ?? nil
        }
    }
}
