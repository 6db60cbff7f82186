package import MediaCore

/// Interstitials, as parts of the list: the film to where one stands, what it is made of, and the film again from where it goes on.
extension PlaybackList {
    /// An interstitial of an item, and what plays in its place.
    package struct Break: Sendable {
        package var interstitial: Interstitial
        package var items: [QueueItem]

        package init(_ interstitial: Interstitial, _ addresses: [String]) {
            self.interstitial = interstitial
            let count = min(addresses.count, Interstitial.mostAssets)
            items = addresses.prefix(count).enumerated().map { index, address in
                QueueItem(address, title: count > 1 ? "Interstitial \(index + 1) of \(count)" : "Interstitial")
            }
        }
    }

    /// What is known of an item that has interstitials.
    package struct Programme: Sendable {
        package var breaks: [Break]
        package var duration: MediaTime?
        package var isSeekable: Bool
        /// What people are shown as the film's name and chapters.
        var title: String?
        var chapters: [Chapter] = []
        /// Breaks that were seen since the item began.
        var seen: Set<Int> = []
        /// What could not be played.
        var lost: Set<QueueItem.ID> = []

        package init(_ breaks: [Break], of film: MediaSummary) {
            (self.breaks, duration, isSeekable) = (breaks, film.duration, film.isSeekable)
            (title, chapters) = (film.title, film.chapters)
        }
    }

    /// A playing of one part of an interstitial, which has the item's place in the list.
    package struct Aside: Sendable, Equatable {
        /// Which of the item's breaks, and which part of it.
        var number: Int
        var part: Int
        package var item: QueueItem
        /// Where the film stands meanwhile.
        package var place: MediaTime
        /// How long the parts before it were together.
        var elapsed: MediaTime
        /// Where somebody wanted to be who jumped over it.
        var goal: MediaTime?
    }

    /// A film that ends this shortly behind a break ends there.
    private static let instant = MediaTime(value: 200, timescale: 1000)

    // MARK: Into a break

    /// Where the film stands at a break; nil is behind its end.
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

    /// The break that the film comes to next.
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

    /// The break that whoever goes from one moment to another must see first: the last one between them.
    func breakBetween(_ moment: MediaTime, and target: MediaTime, of id: QueueItem.ID) -> Int? {
        guard let programme = programmes[id] else { return nil }
        return programme.breaks.indices.last { number in
            guard programme.breaks[number].interstitial.forbidsJumping, !programme.seen.contains(number),
                isPlayable(number, of: programme), let place = place(of: programme.breaks[number], in: programme)
            else { return false }
            return place > moment && place < target
        }
    }

    /// The first part of a break; nil where none can be played.
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

    /// What is seen before an item that is about to begin.
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

    /// What follows a film that ends at a break; nil where it does not.
    func aside(behind entry: Entry) -> Turn? {
        guard entry.turn.aside == nil, entry.cutEnd == nil, contains(entry.item.id), section == nil,
            let programme = programmes[entry.item.id]
        else { return nil }
        let number = programme.breaks.indices.first { number in
            guard isPlayable(number, of: programme) else { return false }
            let place = place(of: programme.breaks[number], in: programme)
            // Behind the end stands what stands at no moment of the film.
            return entry.sectionEnd == nil ? place == nil && entry.end == nil : place == entry.sectionEnd
        }
        return number.flatMap { turn(into: $0, of: entry.basis ?? entry.turn) }
    }

    // MARK: Out of a break

    /// What follows a part of an interstitial.
    ///
    /// - Parameter length: how long it was.
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
        guard let place = place(of: one, in: programme) else { return successor(of: turn.plain) }
        // What could not be played takes nothing of the film away.
        let isBefore = one.interstitial.place == .before
        let offset = elapsed > .zero && !isBefore ? one.interstitial.resumeOffset ?? elapsed : .zero
        let moment = max(place + offset, aside.goal ?? .zero)
        if let duration = programme.duration, moment > duration - Self.instant { return successor(of: turn.plain) }
        var next = turn.plain
        (next.from, next.until) = (moment, nextBreak(of: turn.item.id, behind: moment)?.place)
        return next
    }

    /// How long a part of an interstitial may last.
    func room(for turn: Turn) -> MediaTime? {
        guard let aside = turn.aside, let programme = programmes[turn.item.id],
            programme.breaks.indices.contains(aside.number)
        else { return nil }
        return programme.breaks[aside.number].interstitial.limit - aside.elapsed
    }

    /// The same of a part that is laid out.
    func turn(behindAside entry: Entry) -> Turn? { turn(behind: entry.turn, lasting: entry.asideLength) }

    // MARK: What happened

    mutating func note(_ programme: Programme, of id: QueueItem.ID) {
        if programmes[id] == nil, !programme.breaks.isEmpty { programmes[id] = programme }
    }

    /// A break is perceived.
    mutating func noteSeen(_ turn: Turn) {
        if let aside = turn.aside { programmes[turn.item.id]?.seen.insert(aside.number) }
    }

    /// A part of one cannot be played: it is passed over.
    mutating func noteLost(_ turn: Turn) {
        if let aside = turn.aside { programmes[turn.item.id]?.lost.insert(aside.item.id) }
    }
}

extension PlaybackList.Turn {
    /// What is opened for it.
    package var opened: QueueItem { aside?.item ?? item }
    /// The item as a whole.
    var plain: PlaybackList.Turn {
        var turn = self
        (turn.from, turn.until, turn.aside) = (nil, nil, nil)
        return turn
    }
}
