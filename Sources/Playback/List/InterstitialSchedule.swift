internal import MediaCore

/// An interstitial of an item, with the items to play.
struct InterstitialBreak: Sendable {
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

/// A playback of one part of an interstitial at its item's position in the list.
struct InterstitialPart: Sendable, Equatable {
    /// The index of the item's break, and of the part in it.
    var number: Int
    var index: Int
    /// The part to play.
    var item: QueueItem
    /// The item position at which playback resumes after the interstitial, before its resume offset.
    var resumePosition: MediaTime
    /// The total duration of the preceding parts.
    var elapsed: MediaTime
    /// The target of a seek across the break.
    var goal: MediaTime?
}

/// The interstitials of an item: where they are, which of them still play, and what follows their parts.
///
/// A value type; its owner is `PlaybackList`. The positions that it receives are of its item.
struct InterstitialSchedule: Sendable {
    /// The breaks in order.
    private let breaks: [InterstitialBreak]
    /// The duration of the item; nil if unknown.
    let duration: MediaTime?
    /// The displayed title and chapters of the item.
    let title: String?
    let chapters: [Chapter]
    /// The breaks that were shown in this playback of the item, with their pass of the playlist. The next pass of a
    /// repeated playlist is scheduled meanwhile: it is another playback, as a new player item of AVFoundation.
    private var seen: [Int: Int] = [:]
    /// Parts that could not be played, likewise.
    private var lost: [QueueItem.ID: Int] = [:]

    /// A break this close to the end of the item is treated as at the end.
    private static let instant = MediaTime(value: 200, timescale: 1000)

    /// Creates a schedule for an opened item.
    init(_ breaks: [InterstitialBreak], of film: MediaSummary) {
        self.breaks = breaks
        (duration, title, chapters) = (film.duration, film.title, film.chapters)
    }

    /// Whether the item has no interstitials.
    var isEmpty: Bool { breaks.isEmpty }

    // MARK: Breaks

    /// Returns the item position of a break; nil: after the end.
    private func position(of number: Int) -> MediaTime? {
        switch breaks[number].interstitial.position {
        case .before: return .zero
        case .after: return nil
        case .at(let time): return duration.map { time < $0 - Self.instant } ?? true ? time : nil
        }
    }

    private func isSeen(_ number: Int, in pass: Int) -> Bool { seen[number] == pass }
    private func isLost(_ item: QueueItem, in pass: Int) -> Bool { lost[item.id] == pass }

    private func isPlayable(_ number: Int, in pass: Int) -> Bool {
        !(breaks[number].interstitial.isOnce && isSeen(number, in: pass))
            && breaks[number].items.contains { !isLost($0, in: pass) }
    }

    /// Returns the item position of the next break after another position; nil if there is none.
    func nextBreak(after mediaTime: MediaTime, in pass: Int) -> MediaTime? {
        for number in breaks.indices where isPlayable(number, in: pass) {
            guard case .at = breaks[number].interstitial.position, let position = position(of: number),
                position > mediaTime
            else {
                continue
            }
            return position
        }
        return nil
    }

    /// Returns the last mandatory break between two positions, which a seek must show first; nil if there is none.
    func mandatoryBreak(between mediaTime: MediaTime, and target: MediaTime, in pass: Int) -> Int? {
        breaks.indices.last { number in
            guard breaks[number].interstitial.forbidsJumping, !isSeen(number, in: pass),
                isPlayable(number, in: pass), let position = position(of: number)
            else { return false }
            return position > mediaTime && position < target
        }
    }

    /// Returns the break at a position; nil if there is none.
    ///
    /// - Parameter mediaTime: Nil: after the end of the item.
    func breakNumber(at mediaTime: MediaTime?, in pass: Int) -> Int? {
        breaks.indices.first { isPlayable($0, in: pass) && position(of: $0) == mediaTime }
    }

    // MARK: Entering a break

    /// Returns the first playable part of a break; nil if there is none.
    func firstPart(of number: Int, at base: PlaylistPosition, goal: MediaTime? = nil) -> PlaylistPosition? {
        guard breaks.indices.contains(number) else { return nil }
        let position = position(of: number) ?? duration ?? .zero
        return part(from: 0, of: number, at: base, position: position, elapsed: .zero, goal: goal)
    }

    /// Returns the first playable part of a break from an index on; nil if there is none.
    private func part(
        from index: Int, of number: Int, at base: PlaylistPosition, position: MediaTime, elapsed: MediaTime,
        goal: MediaTime?
    ) -> PlaylistPosition? {
        let one = breaks[number]
        guard elapsed < one.interstitial.limit,
            let part = one.items.indices.first(where: { $0 >= index && !isLost(one.items[$0], in: base.listPass) })
        else { return nil }
        var listPosition = base.plain
        listPosition.interstitialPart = InterstitialPart(
            number: number, index: part, item: one.items[part], resumePosition: position, elapsed: elapsed, goal: goal)
        return listPosition
    }

    /// Returns the break to play before the item starts at a position; nil if there is none.
    func entering(_ listPosition: PlaylistPosition, at mediaTime: MediaTime?) -> PlaylistPosition? {
        let pass = listPosition.listPass
        for number in breaks.indices where isPlayable(number, in: pass) {
            let isHere =
                switch breaks[number].interstitial.position {
                case .before: !isSeen(number, in: pass)
                case .at(let time): time == (mediaTime ?? .zero)
                case .after: false
                }
            if isHere, let part = firstPart(of: number, at: listPosition, goal: mediaTime) { return part }
        }
        return nil
    }

    // MARK: Leaving a break

    /// Returns what follows a part of an interstitial: a further part, or the item from its resume position on. Nil if
    /// the item has no more to play.
    ///
    /// - Parameters:
    ///   - listPosition: The position of a part.
    ///   - length: The duration of the part.
    func following(_ listPosition: PlaylistPosition, lasting length: MediaTime) -> PlaylistPosition? {
        guard let part = listPosition.interstitialPart, breaks.indices.contains(part.number) else { return nil }
        let elapsed = part.elapsed + length
        if let next = self.part(
            from: part.index + 1, of: part.number, at: listPosition, position: part.resumePosition, elapsed: elapsed,
            goal: part.goal)
        {
            return next
        }
        guard let position = position(of: part.number) else {
            // Several interstitials after the item follow one another.
            let later = breaks.indices.first {
                $0 > part.number && isPlayable($0, in: listPosition.listPass) && self.position(of: $0) == nil
            }
            return later.flatMap { firstPart(of: $0, at: listPosition) }
        }
        // Unplayable parts skip nothing of the item.
        let one = breaks[part.number].interstitial
        let offset = elapsed > .zero && one.position != .before ? one.resumeOffset ?? elapsed : .zero
        let mediaTime = max(position + offset, part.goal ?? .zero)
        if let duration, mediaTime > duration - Self.instant { return nil }
        var next = listPosition.plain
        next.from = mediaTime
        return next
    }

    /// Returns the maximum duration of a part.
    func room(for part: InterstitialPart) -> MediaTime? {
        breaks.indices.contains(part.number) ? breaks[part.number].interstitial.limit - part.elapsed : nil
    }

    /// Returns true if a part must be played to its end at its own speed.
    func forbidsSkipping(_ part: InterstitialPart) -> Bool {
        breaks.indices.contains(part.number) && breaks[part.number].interstitial.forbidsSkipping
    }

    // MARK: Events

    /// Records that a part is shown.
    mutating func markSeen(_ part: InterstitialPart, in pass: Int) { seen[part.number] = pass }

    /// Records that a part cannot be played; it is skipped.
    mutating func markLost(_ part: InterstitialPart, in pass: Int) { lost[part.item.id] = pass }

    /// Forgets what was shown, because the item is played again.
    mutating func startOver() { (seen, lost) = ([:], [:]) }

    /// Adapts to passes that are counted from another one.
    mutating func countPasses(from first: Int) {
        (seen, lost) = (seen.mapValues { $0 - first }, lost.mapValues { $0 - first })
    }
}
