package import MediaCore
package import Playback

/// What a wall shows when: the items of a list one after the other, from one instant of the wall's time on. A pure function, the same on
/// every screen, whenever it was started.
package struct WallLine: Sendable, Hashable {
    /// Where in the list the wall is at some moment.
    package struct Place: Sendable, Hashable {
        /// Of the list, from 0.
        package var item: Int
        /// Film time in it.
        package var position: MediaTime
        /// When the item began.
        package var began: WallInstant
        /// When the next one begins.
        package var ends: WallInstant
    }

    /// When the first item is perceived from its start.
    package let epoch: WallInstant
    package let items: [FilmExtent]
    package let loops: Bool
    /// Nanoseconds from the list's beginning to each item's, and to its end.
    private let begins: [Int64]

    /// Nil where there is nothing to show, or more than a wall can reckon with (146 years).
    ///
    /// - Parameter items: in their order, as they are played; those that cannot be played left out, on every screen the same.
    package init?(epoch: WallInstant, items: [FilmExtent], loops: Bool = true) {
        var begins: [Int64] = [0]
        for item in items { begins.append(begins.last!.addingClamped(item.length.nanoseconds)) }
        guard let total = begins.last, total > 0, total < Int64.max / 2 else { return nil }
        (self.epoch, self.items, self.loops, self.begins) = (epoch, items, loops, begins)
    }

    private var total: Int64 { begins[begins.count - 1] }

    /// What is perceived at a moment; nil before the epoch, and behind the end of a list that is played once.
    package func place(at instant: WallInstant) -> Place? {
        let elapsed = epoch.duration(to: instant).wholeNanoseconds
        guard elapsed >= 0, loops || elapsed < total else { return nil }
        let round = elapsed / total * total
        // The last item that has begun; items of no length never are.
        let item = begins.lastIndex { $0 <= elapsed - round } ?? 0
        return place(of: min(item, items.count - 1), round: round, at: elapsed)
    }

    private func place(of item: Int, round: Int64, at elapsed: Int64) -> Place {
        let began = round.addingClamped(begins[item])
        return Place(
            item: item, position: items[item].start + MediaTime(nanoseconds: elapsed - began),
            began: epoch.advanced(by: .nanoseconds(began)),
            ends: epoch.advanced(by: .nanoseconds(round.addingClamped(begins[item + 1]))))
    }

    /// When the playing of an item begins, or began, that lies nearest to a moment; nil for an item that is not in the list.
    package func begin(of item: Int, nearest instant: WallInstant) -> WallInstant? {
        guard items.indices.contains(item) else { return nil }
        let first = epoch.advanced(by: .nanoseconds(begins[item]))
        guard loops else { return first }
        let rounds = (Double(first.duration(to: instant).wholeNanoseconds) / Double(total)).rounded()
        // Doubles know rounds exactly up to 2^53.
        let distance = Int64(clamping: rounds, in: 0...1 << 53).multipliedReportingOverflow(by: total)
        return first.advanced(by: .nanoseconds(distance.overflow ? .max : distance.partialValue))
    }

    /// Where to begin so that the wall is met, not before a moment: in the midst of an item, or at the start of the next where what is left
    /// is not worth a start. Nil behind the end of a list that is played once.
    ///
    /// - Parameter least: what of an item is worth it.
    package func meeting(notBefore instant: WallInstant, least: Duration = .seconds(2)) -> (
        place: Place, at: WallInstant
    )? {
        let instant = max(instant, epoch)
        guard let place = place(at: instant) else { return nil }
        guard place.began < instant, instant.duration(to: place.ends) < least, let next = self.place(at: place.ends)
        else {
            return (place, instant)
        }
        return (next, place.ends)
    }
}
