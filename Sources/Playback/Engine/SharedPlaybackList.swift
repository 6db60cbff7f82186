internal import MediaCore

/// The list as the engine and its pipelines share it: the engine changes it, the pipelines walk along what is laid out, each at
/// its own pace, and tell where their tracks end.
///
/// Any thread; nothing here waits.
final class SharedPlaybackList: Sendable {
    /// Who walks along the list: the pictures, the subtitles below and at the top, and each sound track that plays. The first sound says where a film's sound ends.
    enum Walker: Hashable, Sendable {
        case sound(Int)
        case picture
        case subtitle
        case secondarySubtitle

        static let sound = Walker.sound(0)

        var kind: Track.Kind {
            switch self {
            case .sound: .audio
            case .picture: .video
            case .subtitle, .secondarySubtitle: .subtitle
            }
        }
    }

    /// What follows an entry.
    enum Successor: Sendable {
        /// Not known yet. Whoever asked is told when it is (`onChange`).
        case wait
        /// The tail is to be given out, and something may follow all the same.
        case finish
        /// Nothing follows.
        case end
        case entry(PlaybackList.Entry)
    }

    /// Where a walker is.
    private struct Position {
        /// The serial of its entry.
        package var place: Int
        /// It stands at the end of its entry and waits.
        package var isWaiting = false
        /// It is not to wait with what it holds.
        var isEnding = false
    }

    private struct State {
        package var list = PlaybackList()
        /// Something is to follow the last entry.
        package var isOpen = false
        /// Nobody goes beyond this entry: what follows it is being taken back.
        var barrier: Int?
        var walkers: [Walker: Position] = [:]
        /// Pictures that were opened and decoded ahead, by entry; nil where there are none to be had.
        package var pictures: [Int: PictureTrack?] = [:]
        /// Entries whose film cannot be read any more.
        package var lost: [Int: MediaError] = [:]
    }

    private let state = Lock(State())
    /// Tells the engine's thread that a walker has moved on or waits.
    private let onChange: @Sendable () -> Void

    init(onChange: @escaping @Sendable () -> Void = {}) { self.onChange = onChange }

    // MARK: The engine's thread

    /// The list as it is now.
    var list: PlaybackList { state.withLock { $0.list } }

    /// Changes the list; what was made ready for entries that are gone is forgotten.
    @discardableResult
    func update<Result: Sendable>(_ body: (inout PlaybackList) -> Result) -> Result {
        state.withLock { state in
            let result = body(&state.list)
            state.pictures = state.pictures.filter { state.list.entry($0.key) != nil }
            state.lost = state.lost.filter { state.list.entry($0.key) != nil }
            return result
        }
    }

    /// The same where everything begins anew: nobody is anywhere any more.
    func restart(_ body: (inout PlaybackList) -> Void) {
        state.withLock { state in
            body(&state.list)
            (state.walkers, state.pictures, state.barrier, state.lost) = ([:], [:], nil, [:])
        }
    }

    /// Whether something is to follow the last entry.
    func setOpen(_ isOpen: Bool) { state.withLock { $0.isOpen = isOpen } }

    /// Keeps walkers from going beyond an entry; nil lets them go on.
    func setBarrier(behind serial: Int?) { state.withLock { $0.barrier = serial } }

    func place(of walker: Walker) -> Int? { state.withLock { $0.walkers[walker]?.place } }
    /// Whether a walker has come so far.
    func hasEntered(_ serial: Int, _ walker: Walker) -> Bool { (place(of: walker) ?? .min) >= serial }
    func isWaiting(_ walker: Walker) -> Bool { state.withLock { $0.walkers[walker]?.isWaiting ?? false } }

    /// What a walker holds is needed before it is known what follows.
    func end(_ walker: Walker) { state.withLock { $0.walkers[walker]?.isEnding = true } }

    /// The pictures of an entry are there, or cannot be had.
    func give(_ pictures: PictureTrack?, to serial: Int) {
        state.withLock { state in
            if state.list.entry(serial) != nil { state.pictures[serial] = .some(pictures) }
        }
    }

    /// An entry that waits behind another and whose film cannot be read any more.
    var lost: (index: Int, error: MediaError)? {
        state.withLock { state in
            for (index, entry) in state.list.entries.enumerated().dropFirst() {
                if let error = state.lost[entry.serial] { return (index, error) }
            }
            return nil
        }
    }

    // MARK: Walkers

    /// A film cannot be read any more: whoever has not begun with it waits until it is taken off the list.
    func lose(_ serial: Int, _ error: MediaError) {
        state.withLock { if $0.list.entry(serial) != nil { $0.lost[serial] = error } }
        onChange()
    }

    /// The entry that is perceived.
    var current: PlaybackList.Entry? { state.withLock { $0.list.entries.first } }
    func entry(_ serial: Int) -> PlaybackList.Entry? { state.withLock { $0.list.entry(serial) } }

    /// A walker begins with an entry.
    func enter(_ serial: Int, _ walker: Walker) {
        state.withLock { $0.walkers[walker] = Position(place: serial) }
        onChange()
    }

    /// A track has been read, or was looked up, to its end, in film time.
    func note(_ end: PlaybackList.Entry.TrackEnd, _ walker: Walker, of serial: Int) {
        let kind: Track.Kind
        switch walker {
        case .sound(0): kind = .audio
        case .sound, .subtitle, .secondarySubtitle: return
        case .picture: kind = .video
        }
        state.withLock { $0.list.note(end, kind, of: serial) }
        onChange()
    }

    /// Reading a track of an entry failed at a film time.
    func note(_ error: MediaError, at place: MediaTime, _ walker: Walker, of serial: Int) {
        let failure = EntryLosses.Failure(kind: walker.kind, error: error, place: place)
        update { list in list.change(serial) { $0.losses.note(failure) } }
        onChange()
    }

    /// A segment of an entry could not be read at a film time; reading continues after it.
    func note(lostSegment error: MediaError, at place: MediaTime, _ walker: Walker, of serial: Int) {
        let loss = EntryLosses.Failure(kind: walker.kind, error: error, place: place)
        update { list in list.change(serial) { $0.losses.note(lostSegment: loss) } }
        onChange()
    }

    /// The sound of an entry was read to its end, in film time.
    func noteRead(soundUntil time: MediaTime, of serial: Int) {
        update { list in list.change(serial) { $0.losses.soundRead = time } }
        onChange()
    }

    /// The stamps of the sound of an entry leave a hole, in film time.
    func note(hole start: MediaTime, until end: MediaTime, of serial: Int) {
        update { list in list.change(serial) { $0.losses.note(hole: start, until: end) } }
    }

    /// Packets of an entry are damaged.
    func noteDamage(of serial: Int) { update { list in list.change(serial) { $0.losses.isDamaged = true } } }

    /// Where the pictures of an entry ended as they were read to their end, in film time.
    func noteRead(picturesUntil time: MediaTime, of serial: Int) {
        state.withLock { $0.list.noteRead(picturesUntil: time, of: serial) }
        onChange()
    }

    /// What a walker finds behind an entry.
    func successor(of serial: Int, _ walker: Walker) -> Successor {
        let (successor, isNew) = state.withLock { state -> (Successor, Bool) in
            var found = Self.successor(of: serial, walker, in: state)
            var position = state.walkers[walker] ?? Position(place: serial)
            let isWaiting = if case .wait = found { true } else { false }
            let isNew = isWaiting && !position.isWaiting
            position.isWaiting = isWaiting
            if isWaiting, position.isEnding {
                position.isEnding = false
                found = .finish
            }
            state.walkers[walker] = position
            return (found, isNew)
        }
        if isNew { onChange() }
        return successor
    }

    private static func successor(of serial: Int, _ walker: Walker, in state: State) -> Successor {
        let entries = state.list.entries
        guard let index = entries.firstIndex(where: { $0.serial == serial }) else {
            // Its entry was taken off the list; where to go on is about to be said.
            return entries.isEmpty ? .end : .wait
        }
        if state.barrier == serial { return .wait }
        guard index + 1 < entries.count else { return state.isOpen ? .wait : .end }
        let next = entries[index + 1]
        guard next.offset != nil, state.lost[next.serial] == nil else { return .wait }
        if walker == .picture, next.videoTrack != nil, state.pictures[next.serial] == nil { return .wait }
        return .entry(next)
    }

    /// The place on the timeline behind which nothing of an entry lies, once that is settled.
    func settledEnd(of serial: Int) -> MediaTime? {
        state.withLock { state in
            let entries = state.list.entries
            guard let index = entries.firstIndex(where: { $0.serial == serial }) else { return nil }
            if entries[index].setEnd != nil { return entries[index].joint }
            return index + 1 < entries.count ? entries[index + 1].begin : nil
        }
    }

    /// The pictures that were made ready for an entry; nil when there are none.
    func takePictures(of serial: Int) -> PictureTrack? {
        state.withLock { state in
            defer { if state.pictures[serial] != nil { state.pictures[serial] = .some(nil) } }
            return state.pictures[serial] ?? nil
        }
    }
}
