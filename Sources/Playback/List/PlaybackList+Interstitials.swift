import MediaCore

/// Interstitials as entries of the list: the media up to the break, the parts of the interstitial, and the media from
/// the resume position on.
extension PlaybackList {
    /// An interstitial of an item, with the items to play.
    package struct InterstitialBreak: Sendable {
        /// The interstitial as stated by the media.
        package var interstitial: Interstitial
        /// The parts to play in order.
        package var items: [QueueItem]

        /// Creates a break from the addresses of its parts.
        package init(_ interstitial: Interstitial, _ addresses: [String]) {
            self.interstitial = interstitial
            let count = min(addresses.count, Interstitial.maxAssets)
            items = addresses.prefix(count).enumerated().map { index, address in
                QueueItem(address, title: count > 1 ? "Interstitial \(index + 1) of \(count)" : "Interstitial")
            }
        }
    }

    /// The interstitials of an item, with the properties of the item that they depend on.
    package struct InterstitialSchedule: Sendable {
        /// The breaks in order.
        package var breaks: [InterstitialBreak]
        /// The duration of the item; nil if unknown.
        package var duration: MediaTime?
        /// Whether the item is seekable.
        package var isSeekable: Bool
        /// The displayed title and chapters of the item.
        var title: String?
        var chapters: [Chapter] = []
        /// The breaks that were shown in this playback of the item, with their pass of the playlist. The next pass of a
        /// repeated playlist is scheduled meanwhile: it is another playback, as a new player item of AVFoundation.
        private var seen: [Int: Int] = [:]
        /// Parts that could not be played, likewise.
        private var lost: [QueueItem.ID: Int] = [:]

        /// Creates a schedule for an opened item.
        package init(_ breaks: [InterstitialBreak], of film: MediaSummary) {
            (self.breaks, duration, isSeekable) = (breaks, film.duration, film.isSeekable)
            (title, chapters) = (film.title, film.chapters)
        }

        /// Returns true if a break was shown in this playback.
        func isSeen(_ number: Int, in pass: Int) -> Bool { seen[number] == pass }
        /// Returns true if a part could not be played in this playback.
        func isLost(_ id: QueueItem.ID, in pass: Int) -> Bool { lost[id] == pass }

        fileprivate mutating func markSeen(_ number: Int, in pass: Int) { seen[number] = pass }
        fileprivate mutating func markLost(_ id: QueueItem.ID, in pass: Int) { lost[id] = pass }

        /// Forgets what was shown, because the item is played again.
        mutating func startOver() { (seen, lost) = ([:], [:]) }

        /// Adapts to passes that are counted from another one.
        mutating func countPasses(from first: Int) {
            (seen, lost) = (seen.mapValues { $0 - first }, lost.mapValues { $0 - first })
        }
    }

    /// A playback of one part of an interstitial at its item's position in the list.
    package struct InterstitialPart: Sendable, Equatable {
        /// The index of the item's break, and of the part in it.
        var number: Int
        var part: Int
        /// The part to play.
        package var item: QueueItem
        /// The item position at which playback resumes after the interstitial, before its resume offset.
        package var place: MediaTime
        /// The total duration of the preceding parts.
        var elapsed: MediaTime
        /// The target of a seek across the break.
        var goal: MediaTime?
    }

    /// A break this close to the end of the item is treated as at the end.
    private static let instant = MediaTime(value: 200, timescale: 1000)

    // MARK: Entering a break

    /// Returns the item position of a break; nil: after the end.
    private func place(of one: InterstitialBreak, in schedule: InterstitialSchedule) -> MediaTime? {
        switch one.interstitial.place {
        case .before: return .zero
        case .after: return nil
        case .at(let time): return schedule.duration.map { time < $0 - Self.instant } ?? true ? time : nil
        }
    }

    private func isPlayable(_ number: Int, of schedule: InterstitialSchedule, in pass: Int) -> Bool {
        let one = schedule.breaks[number]
        return !(one.interstitial.isOnce && schedule.isSeen(number, in: pass))
            && one.items.contains { !schedule.isLost($0.id, in: pass) }
    }

    /// Returns the next break after a position of a playback; nil if there is none.
    func nextBreak(of listPosition: PlaylistPosition, behind moment: MediaTime) -> (number: Int, place: MediaTime)? {
        guard section == nil, let schedule = interstitials[listPosition.item.id] else { return nil }
        for number in schedule.breaks.indices where isPlayable(number, of: schedule, in: listPosition.listPass) {
            guard case .at = schedule.breaks[number].interstitial.place,
                let place = place(of: schedule.breaks[number], in: schedule), place > moment
            else { continue }
            return (number, place)
        }
        return nil
    }

    /// Returns the last mandatory break between two positions, which a seek must show first; nil if there is none.
    func breakBetween(_ moment: MediaTime, and target: MediaTime, of listPosition: PlaylistPosition) -> Int? {
        guard let schedule = interstitials[listPosition.item.id] else { return nil }
        return schedule.breaks.indices.last { number in
            guard schedule.breaks[number].interstitial.forbidsJumping,
                !schedule.isSeen(number, in: listPosition.listPass),
                isPlayable(number, of: schedule, in: listPosition.listPass),
                let place = place(of: schedule.breaks[number], in: schedule)
            else { return false }
            return place > moment && place < target
        }
    }

    /// Returns the first playable part of a break; nil if there is none.
    func firstAsset(of number: Int, at base: PlaylistPosition, goal: MediaTime? = nil) -> PlaylistPosition? {
        guard let schedule = interstitials[base.item.id], schedule.breaks.indices.contains(number) else { return nil }
        let place = place(of: schedule.breaks[number], in: schedule) ?? schedule.duration ?? .zero
        return asset(at: 0, of: number, base, at: place, elapsed: .zero, goal, schedule)
    }

    private func asset(
        at part: Int, of number: Int, _ base: PlaylistPosition, at place: MediaTime, elapsed: MediaTime,
        _ goal: MediaTime?,
        _ schedule: InterstitialSchedule
    ) -> PlaylistPosition? {
        let one = schedule.breaks[number]
        guard elapsed < one.interstitial.limit,
            let part = one.items.indices.first(where: {
                $0 >= part && !schedule.isLost(one.items[$0].id, in: base.listPass)
            })
        else { return nil }
        var listPosition = base
        (listPosition.from, listPosition.until) = (nil, nil)
        listPosition.interstitialPart = InterstitialPart(
            number: number, part: part, item: one.items[part], place: place, elapsed: elapsed, goal: goal)
        return listPosition
    }

    /// Returns the break to play before an item starts at a position, or the given position unchanged.
    func entering(_ listPosition: PlaylistPosition, at moment: MediaTime? = nil) -> PlaylistPosition {
        guard listPosition.interstitialPart == nil, listPosition.from == nil, section == nil,
            let schedule = interstitials[listPosition.item.id]
        else {
            return listPosition
        }
        for number in schedule.breaks.indices where isPlayable(number, of: schedule, in: listPosition.listPass) {
            let isHere =
                switch schedule.breaks[number].interstitial.place {
                case .before: !schedule.isSeen(number, in: listPosition.listPass)
                case .at(let time): time == (moment ?? .zero)
                case .after: false
                }
            if isHere, let interstitialPart = self.firstAsset(of: number, at: listPosition, goal: moment) {
                return interstitialPart
            }
        }
        return listPosition
    }

    /// Returns the break at the end of an entry; nil if there is none.
    func interstitial(after entry: ScheduledItem) -> PlaylistPosition? {
        guard entry.listPosition.interstitialPart == nil, entry.cutEnd == nil, contains(entry.item.id), section == nil,
            let schedule = interstitials[entry.item.id]
        else { return nil }
        let number = schedule.breaks.indices.first { number in
            guard isPlayable(number, of: schedule, in: entry.listPosition.listPass) else { return false }
            let place = place(of: schedule.breaks[number], in: schedule)
            // A break without a position follows the end of the item.
            return entry.sectionEnd == nil ? place == nil && entry.end == nil : place == entry.sectionEnd
        }
        return number.flatMap { firstAsset(of: $0, at: entry.basis ?? entry.listPosition) }
    }

    // MARK: Leaving a break

    /// Returns what follows a part of an interstitial.
    ///
    /// - Parameter length: The duration of the part.
    func following(_ listPosition: PlaylistPosition, lasting length: MediaTime) -> PlaylistPosition? {
        guard let interstitialPart = listPosition.interstitialPart else { return nil }
        guard let schedule = interstitials[listPosition.item.id],
            schedule.breaks.indices.contains(interstitialPart.number)
        else {
            return successor(of: listPosition.plain)
        }
        let one = schedule.breaks[interstitialPart.number]
        let elapsed = interstitialPart.elapsed + length
        if let next = self.asset(
            at: interstitialPart.part + 1, of: interstitialPart.number, listPosition, at: interstitialPart.place,
            elapsed: elapsed, interstitialPart.goal, schedule)
        {
            return next
        }
        guard let place = place(of: one, in: schedule) else {
            // Several interstitials after the item follow one another.
            let later = schedule.breaks.indices.first { number in
                number > interstitialPart.number && isPlayable(number, of: schedule, in: listPosition.listPass)
                    && self.place(of: schedule.breaks[number], in: schedule) == nil
            }
            return later.flatMap { self.firstAsset(of: $0, at: listPosition.plain) }
                ?? successor(of: listPosition.plain)
        }
        // Unplayable parts skip nothing of the item.
        let isBefore = one.interstitial.place == .before
        let offset = elapsed > .zero && !isBefore ? one.interstitial.resumeOffset ?? elapsed : .zero
        let moment = max(place + offset, interstitialPart.goal ?? .zero)
        if let duration = schedule.duration, moment > duration - Self.instant {
            return successor(of: listPosition.plain)
        }
        var next = listPosition.plain
        (next.from, next.until) = (moment, nextBreak(of: listPosition, behind: moment)?.place)
        return next
    }

    /// Returns the maximum duration of a part of an interstitial; nil for other positions.
    func room(for listPosition: PlaylistPosition) -> MediaTime? {
        guard let interstitialPart = listPosition.interstitialPart, let schedule = interstitials[listPosition.item.id],
            schedule.breaks.indices.contains(interstitialPart.number)
        else { return nil }
        return schedule.breaks[interstitialPart.number].interstitial.limit - interstitialPart.elapsed
    }

    /// Same for a scheduled part.
    func following(part entry: ScheduledItem) -> PlaylistPosition? {
        following(entry.listPosition, lasting: entry.partLength)
    }

    // MARK: Events

    /// Stores the schedule of an item, once.
    mutating func setInterstitials(_ schedule: InterstitialSchedule, of id: QueueItem.ID) {
        if interstitials[id] == nil, !schedule.breaks.isEmpty { interstitials[id] = schedule }
    }

    /// Records that a break is shown.
    mutating func noteSeen(_ listPosition: PlaylistPosition) {
        if let interstitialPart = listPosition.interstitialPart {
            interstitials[listPosition.item.id]?.markSeen(interstitialPart.number, in: listPosition.listPass)
        }
    }

    /// Records that a part cannot be played; it is skipped.
    mutating func noteLost(_ listPosition: PlaylistPosition) {
        if let interstitialPart = listPosition.interstitialPart {
            interstitials[listPosition.item.id]?.markLost(interstitialPart.item.id, in: listPosition.listPass)
        }
    }
}

extension PlaylistPosition {
    /// The item to open: the part of the interstitial or the item.
    package var opened: QueueItem { interstitialPart?.item ?? item }
    /// The position of the whole item.
    var plain: PlaylistPosition {
        var listPosition = self
        (listPosition.from, listPosition.until, listPosition.interstitialPart) = (nil, nil, nil)
        return listPosition
    }
}
