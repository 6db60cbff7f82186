package import MediaCore

/// Interstitials as entries of the list: the media up to the break, the parts of the interstitial, and the media from
/// the resume position on.
extension PlaybackList {
    /// An interstitial of an item, with the items to play.
    struct Break: Sendable {
        /// The interstitial as stated by the media.
        var interstitial: Interstitial
        /// The parts to play in order.
        var items: [QueueItem]

        /// Creates a break from the addresses of its parts.
        init(_ interstitial: Interstitial, _ addresses: [String]) {
            self.interstitial = interstitial
            let count = min(addresses.count, Interstitial.maxAssets)
            items = addresses.prefix(count).enumerated().map { index, address in
                QueueItem(address, title: count > 1 ? "Interstitial \(index + 1) of \(count)" : "Interstitial")
            }
        }
    }

    /// The interstitials of an item, with the properties of the item that they depend on.
    struct Programme: Sendable {
        /// The breaks in order.
        var breaks: [Break]
        /// The duration of the item; nil if unknown.
        var duration: MediaTime?
        /// Whether the item is seekable.
        var isSeekable: Bool
        /// The displayed title and chapters of the item.
        var title: String?
        var chapters: [Chapter] = []
        /// The breaks that were shown since the item began.
        var seen: Set<Int> = []
        /// Parts that could not be played.
        var lost: Set<QueueItem.ID> = []

        /// Creates a schedule for an opened item.
        init(_ breaks: [Break], of film: MediaSummary) {
            (self.breaks, duration, isSeekable) = (breaks, film.duration, film.isSeekable)
            (title, chapters) = (film.title, film.chapters)
        }
    }

    /// A playback of one part of an interstitial at its item's position in the list.
    struct Aside: Sendable, Equatable {
        /// The index of the item's break, and of the part in it.
        var number: Int
        var part: Int
        /// The part to play.
        var item: QueueItem
        /// The item position at which playback resumes after the interstitial, before its resume offset.
        var place: MediaTime
        /// The total duration of the preceding parts.
        var elapsed: MediaTime
        /// The target of a seek across the break.
        var goal: MediaTime?
    }

    /// A break this close to the end of the item is treated as at the end.
    private static let instant = MediaTime(value: 200, timescale: 1000)

    // MARK: Entering a break

    /// Returns the item position of a break; nil: after the end.
    private func place(of one: Break, in programme: Programme) -> MediaTime? {
        switch one.interstitial.place {
        case .before: return .zero
        case .after: return nil
        case .at(let time): return programme.duration.map { time < $0 - Self.instant } ?? true ? time : nil
        }
    }

    private func isPlayable(_ number: Int, of programme: Programme) -> Bool {
        let one = programme.breaks[number]
        return !(one.interstitial.isOnce && programme.seen.contains(number))
            && one.items.contains { !programme.lost.contains($0.id) }
    }

    /// Returns the next break after a position; nil if there is none.
    func nextBreak(of id: QueueItem.ID, behind moment: MediaTime) -> (number: Int, place: MediaTime)? {
        guard section == nil, let programme = programmes[id] else { return nil }
        for number in programme.breaks.indices where isPlayable(number, of: programme) {
            guard case .at = programme.breaks[number].interstitial.place,
                let place = place(of: programme.breaks[number], in: programme), place > moment
            else { continue }
            return (number, place)
        }
        return nil
    }

    /// Returns the last mandatory break between two positions, which a seek must show first; nil if there is none.
    func breakBetween(_ moment: MediaTime, and target: MediaTime, of id: QueueItem.ID) -> Int? {
        guard let programme = programmes[id] else { return nil }
        return programme.breaks.indices.last { number in
            guard programme.breaks[number].interstitial.forbidsJumping, !programme.seen.contains(number),
                isPlayable(number, of: programme), let place = place(of: programme.breaks[number], in: programme)
            else { return false }
            return place > moment && place < target
        }
    }

    /// Returns the first playable part of a break; nil if there is none.
    func turn(into number: Int, of base: Turn, goal: MediaTime? = nil) -> Turn? {
        guard let programme = programmes[base.item.id], programme.breaks.indices.contains(number) else { return nil }
        let place = place(of: programme.breaks[number], in: programme) ?? programme.duration ?? .zero
        return turn(to: 0, of: number, base, at: place, elapsed: .zero, goal, programme)
    }

    private func turn(
        to part: Int, of number: Int, _ base: Turn, at place: MediaTime, elapsed: MediaTime, _ goal: MediaTime?,
        _ programme: Programme
    ) -> Turn? {
        let one = programme.breaks[number]
        guard elapsed < one.interstitial.limit,
            let part = one.items.indices.first(where: { $0 >= part && !programme.lost.contains(one.items[$0].id) })
        else { return nil }
        var turn = base
        (turn.from, turn.until) = (nil, nil)
        turn.aside = Aside(
            number: number, part: part, item: one.items[part], place: place, elapsed: elapsed, goal: goal)
        return turn
    }

    /// Returns the break to play before an item starts at a position, or the given position unchanged.
    func entering(_ turn: Turn, at moment: MediaTime? = nil) -> Turn {
        guard turn.aside == nil, turn.from == nil, section == nil, let programme = programmes[turn.item.id] else {
            return turn
        }
        for number in programme.breaks.indices where isPlayable(number, of: programme) {
            let isHere =
                switch programme.breaks[number].interstitial.place {
                case .before: !programme.seen.contains(number)
                case .at(let time): time == (moment ?? .zero)
                case .after: false
                }
            if isHere, let aside = self.turn(into: number, of: turn, goal: moment) { return aside }
        }
        return turn
    }

    /// Returns the break at the end of an entry; nil if there is none.
    func aside(behind entry: Entry) -> Turn? {
        guard entry.turn.aside == nil, entry.cutEnd == nil, contains(entry.item.id), section == nil,
            let programme = programmes[entry.item.id]
        else { return nil }
        let number = programme.breaks.indices.first { number in
            guard isPlayable(number, of: programme) else { return false }
            let place = place(of: programme.breaks[number], in: programme)
            // A break without a position follows the end of the item.
            return entry.sectionEnd == nil ? place == nil && entry.end == nil : place == entry.sectionEnd
        }
        return number.flatMap { turn(into: $0, of: entry.basis ?? entry.turn) }
    }

    // MARK: Leaving a break

    /// Returns what follows a part of an interstitial.
    ///
    /// - Parameter length: The duration of the part.
    func turn(behind turn: Turn, lasting length: MediaTime) -> Turn? {
        guard let aside = turn.aside else { return nil }
        guard let programme = programmes[turn.item.id], programme.breaks.indices.contains(aside.number) else {
            return successor(of: turn.plain)
        }
        let one = programme.breaks[aside.number]
        let elapsed = aside.elapsed + length
        if let next = self.turn(
            to: aside.part + 1, of: aside.number, turn, at: aside.place, elapsed: elapsed, aside.goal, programme)
        {
            return next
        }
        guard let place = place(of: one, in: programme) else {
            // Several interstitials after the item follow one another.
            let later = programme.breaks.indices.first { number in
                number > aside.number && isPlayable(number, of: programme)
                    && self.place(of: programme.breaks[number], in: programme) == nil
            }
            return later.flatMap { self.turn(into: $0, of: turn.plain) } ?? successor(of: turn.plain)
        }
        // Unplayable parts skip nothing of the item.
        let isBefore = one.interstitial.place == .before
        let offset = elapsed > .zero && !isBefore ? one.interstitial.resumeOffset ?? elapsed : .zero
        let moment = max(place + offset, aside.goal ?? .zero)
        if let duration = programme.duration, moment > duration - Self.instant { return successor(of: turn.plain) }
        var next = turn.plain
        (next.from, next.until) = (moment, nextBreak(of: turn.item.id, behind: moment)?.place)
        return next
    }

    /// Returns the maximum duration of a part of an interstitial; nil for other positions.
    func room(for turn: Turn) -> MediaTime? {
        guard let aside = turn.aside, let programme = programmes[turn.item.id],
            programme.breaks.indices.contains(aside.number)
        else { return nil }
        return programme.breaks[aside.number].interstitial.limit - aside.elapsed
    }

    /// Same for a scheduled part.
    func turn(behindAside entry: Entry) -> Turn? { turn(behind: entry.turn, lasting: entry.asideLength) }

    // MARK: Events

    /// Stores the schedule of an item, once.
    mutating func setProgramme(_ programme: Programme, of id: QueueItem.ID) {
        if programmes[id] == nil, !programme.breaks.isEmpty { programmes[id] = programme }
    }

    /// Records that a break is shown.
    mutating func noteSeen(_ turn: Turn) {
        if let aside = turn.aside { programmes[turn.item.id]?.seen.insert(aside.number) }
    }

    /// Records that a part cannot be played; it is skipped.
    mutating func noteLost(_ turn: Turn) {
        if let aside = turn.aside { programmes[turn.item.id]?.lost.insert(aside.item.id) }
    }
}

extension PlaybackList.Turn {
    /// The item to open: the part of the interstitial or the item.
    var opened: QueueItem { aside?.item ?? item }
    /// The position of the whole item.
    var plain: PlaybackList.Turn {
        var turn = self
        (turn.from, turn.until, turn.aside) = (nil, nil, nil)
        return turn
    }
}
