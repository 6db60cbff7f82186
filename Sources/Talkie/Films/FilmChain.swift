internal import MediaCore

/// The films in a row on a player's line: the one that is perceived, and those that follow it without a seam.
///
/// The player's thread puts links in and takes them off; the pipelines walk along them, each at its own pace, and tell where
/// their tracks end. Any thread; nothing here waits.
final class FilmChain: Sendable {
    /// Who walks along the chain.
    enum Walker: Int, Sendable { case sound, picture }

    /// What follows a link.
    enum Successor: Sendable {
        /// Not known yet. Whoever asked is told when it is (`onChange`).
        case wait
        /// The tail is to be given out, and something may follow all the same.
        case finish
        /// Nothing follows.
        case end
        case link(FilmLink)
    }

    fileprivate struct State {
        var links: [FilmLink] = []
        /// Something is to follow the last link.
        var isOpen = false
        /// The link each walker is in; nil before the first.
        var places: [Int?] = [nil, nil]
        /// Walkers that stand at the end of their link and wait.
        var waiting = [false, false]
        /// Walkers that are not to wait with what they hold.
        var ending = [false, false]
        /// Pictures that were opened and decoded ahead, by link.
        var pictures: [Int: PictureTrack] = [:]
        var pictureless: Set<Int> = []
        /// Links whose film cannot be read any more.
        var lost: [Int: MediaError] = [:]
        var lastSerial = 0
    }

    private let state = Lock(State())
    /// Tells the player's thread that a walker has moved on or waits.
    private let onChange: @Sendable () -> Void

    init(onChange: @escaping @Sendable () -> Void = {}) { self.onChange = onChange }

    // MARK: The player's thread

    func newSerial() -> Int {
        state.withLock {
            $0.lastSerial += 1
            return $0.lastSerial
        }
    }

    var links: [FilmLink] { state.withLock { $0.links } }
    /// The one that is perceived.
    var current: FilmLink? { state.withLock { $0.links.first } }
    /// The one behind it.
    var second: FilmLink? { state.withLock { $0.links.count > 1 ? $0.links[1] : nil } }
    var last: FilmLink? { state.withLock { $0.links.last } }

    /// Begins anew with a film, whose own time is the line's.
    func begin(with link: FilmLink) {
        state.withLock { state in
            var link = link
            link.offset = .zero
            state.restart(with: [link])
        }
    }

    /// Nothing is on the line.
    func removeAll() { state.withLock { $0.restart(with: []) } }

    /// The current film begins anew on its own time; what followed is forgotten.
    func rebase() {
        state.withLock { state in
            guard var link = state.links.first else { return }
            link.offset = .zero
            // Read once more to its end, perhaps by another track.
            if link.soundEnd != .none { link.soundEnd = .unknown }
            state.restart(with: [link])
        }
    }

    /// Lays a film out behind the last one.
    func append(_ link: FilmLink) {
        state.withLock { state in
            var link = link
            link.offset = nil
            state.links.append(link)
            state.place(at: state.links.count - 1)
        }
    }

    /// Whether something is to follow the last link.
    func setOpen(_ isOpen: Bool) { state.withLock { $0.isOpen = isOpen } }

    /// The next link is the one that is perceived.
    func advance() {
        state.withLock { state in
            guard !state.links.isEmpty else { return }
            let old = state.links.removeFirst().serial
            state.forget(old)
        }
    }

    /// Forgets what follows a link.
    func truncate(after serial: Int) {
        state.withLock { state in
            guard let index = state.links.firstIndex(where: { $0.serial == serial }) else { return }
            for link in state.links[(index + 1)...] { state.forget(link.serial) }
            state.links.removeSubrange((index + 1)...)
        }
    }

    func setLoopsLeft(_ loops: PlayerOptions.Loop, of serial: Int) { change(serial) { $0.loopsLeft = loops } }
    func setAudioTrack(_ track: Track?, of serial: Int) { change(serial) { $0.audioTrack = track } }

    /// A track turned out not to be had.
    func leaveOutSound(of serial: Int) {
        change(serial) { ($0.audioTrack, $0.soundEnd) = (nil, .none) }
    }
    func leaveOutPictures(of serial: Int) {
        change(serial) { ($0.videoTrack, $0.pictureEnd) = (nil, .none) }
    }

    private func change(_ serial: Int, _ body: (inout FilmLink) -> Void) {
        state.withLock { state in
            guard let index = state.links.firstIndex(where: { $0.serial == serial }) else { return }
            body(&state.links[index])
        }
    }

    /// Where a walker is: the serial of its link.
    func place(of walker: Walker) -> Int? { state.withLock { $0.places[walker.rawValue] } }
    /// Whether a walker has come so far.
    func hasEntered(_ serial: Int, _ walker: Walker) -> Bool { (place(of: walker) ?? .min) >= serial }
    func isWaiting(_ walker: Walker) -> Bool { state.withLock { $0.waiting[walker.rawValue] } }

    /// What a walker holds is needed before it is known what follows.
    func end(_ walker: Walker) { state.withLock { $0.ending[walker.rawValue] = true } }

    /// The pictures of a link are there, or cannot be had.
    func give(_ pictures: PictureTrack?, to serial: Int) {
        state.withLock { state in
            guard state.links.contains(where: { $0.serial == serial }) else { return }
            if let pictures { state.pictures[serial] = pictures } else { state.pictureless.insert(serial) }
        }
    }

    /// A link that waits behind another and whose film cannot be read any more.
    var lost: (before: FilmLink, link: FilmLink, error: MediaError)? {
        state.withLock { state in
            for (before, link) in zip(state.links, state.links.dropFirst()) {
                if let error = state.lost[link.serial] { return (before, link, error) }
            }
            return nil
        }
    }

    // MARK: Walkers

    /// A film cannot be read any more: whoever has not begun with it waits until it is taken off the chain.
    func lose(_ serial: Int, _ error: MediaError) {
        state.withLock { state in
            guard state.links.contains(where: { $0.serial == serial }) else { return }
            state.lost[serial] = error
        }
        onChange()
    }

    /// A walker begins with a link.
    func enter(_ serial: Int, _ walker: Walker) {
        state.withLock { state in
            state.places[walker.rawValue] = serial
            state.waiting[walker.rawValue] = false
            state.ending[walker.rawValue] = false
        }
        onChange()
    }

    /// A track has been read, or was looked up, to its end, in film time. What is settled already stays.
    func note(_ end: FilmLink.TrackEnd, _ walker: Walker, of serial: Int) {
        state.withLock { state in
            guard let index = state.links.firstIndex(where: { $0.serial == serial }) else { return }
            let isSettled = index + 1 < state.links.count && state.links[index + 1].offset != nil
            guard !isSettled else { return }
            switch walker {
            case .sound: state.links[index].soundEnd = end
            case .picture: if state.links[index].pictureEnd == .unknown { state.links[index].pictureEnd = end }
            }
            for later in state.links.indices.dropFirst(index + 1) { state.place(at: later) }
        }
        onChange()
    }

    /// What a walker finds behind a link.
    func successor(of serial: Int, _ walker: Walker) -> Successor {
        let (successor, isNew) = state.withLock { state -> (Successor, Bool) in
            let found = state.successor(of: serial, walker)
            let waits = if case .wait = found { true } else { false }
            let isNew = waits && !state.waiting[walker.rawValue]
            state.waiting[walker.rawValue] = waits
            if waits, state.ending[walker.rawValue] {
                state.ending[walker.rawValue] = false
                return (.finish, isNew)
            }
            return (found, isNew)
        }
        if isNew { onChange() }
        return successor
    }

    func link(_ serial: Int) -> FilmLink? { state.withLock { $0.links.first { $0.serial == serial } } }

    /// Where a link's successor begins on the line, once that is settled: nothing of the link lies behind it.
    func settledEnd(of serial: Int) -> MediaTime? {
        state.withLock { state in
            guard let index = state.links.firstIndex(where: { $0.serial == serial }), index + 1 < state.links.count
            else { return nil }
            return state.links[index + 1].begin
        }
    }

    /// The pictures that were made ready for a link; nil when there are none.
    func takePictures(of serial: Int) -> PictureTrack? {
        state.withLock { $0.pictures.removeValue(forKey: serial) }
    }
}

extension FilmChain.State {
    fileprivate mutating func restart(with links: [FilmLink]) {
        self.links = links
        places = [nil, nil]
        waiting = [false, false]
        ending = [false, false]
        pictures.removeAll()
        pictureless.removeAll()
        lost.removeAll()
    }

    fileprivate mutating func forget(_ serial: Int) {
        pictures[serial] = nil
        pictureless.remove(serial)
        lost[serial] = nil
    }

    /// Gives a link its place as soon as the one before has an end.
    fileprivate mutating func place(at index: Int) {
        guard index > 0, links[index].offset == nil, let joint = links[index - 1].joint else { return }
        links[index].offset = (joint - links[index].start).reduced
    }

    fileprivate func successor(of serial: Int, _ walker: FilmChain.Walker) -> FilmChain.Successor {
        guard let index = links.firstIndex(where: { $0.serial == serial }) else {
            // Its link was taken off the chain; where to go on is about to be said.
            return links.isEmpty ? .end : .wait
        }
        guard index + 1 < links.count else { return isOpen ? .wait : .end }
        let next = links[index + 1]
        guard next.offset != nil, lost[next.serial] == nil else { return .wait }
        if walker == .picture, next.videoTrack != nil, pictures[next.serial] == nil, !pictureless.contains(next.serial)
        {
            return .wait
        }
        return .link(next)
    }
}
