import MediaCore
import Playback

/// The schedule of a wall: the items of a playlist in sequence, from one instant of the wall's time on. A value, equal
/// on all screens whenever they were started.
struct WallTimeline: Sendable, Hashable {
    /// The maximum time between opening the first file and the start of the wall.
    static let early = Duration.seconds(30)
    /// A position in the playlist at an instant.
    struct Position: Sendable, Hashable {
        /// The index in the playlist, from 0.
        var item: Int
        /// The media time in the item.
        var position: MediaTime
        /// When the item starts.
        var began: WallInstant
        /// When the item ends and the next one starts.
        var ends: WallInstant
    }

    /// When the first item is perceived from its start.
    let epoch: WallInstant
    /// The extents of the items in playlist order.
    let items: [FilmExtent]
    let loops: Bool
    /// Nanoseconds from the start of the playlist to the start of each item, and to the playlist's end.
    private let begins: [Int64]

    /// Creates a schedule; nil if the total duration is zero, or beyond the range of calculations (146 years).
    ///
    /// - Parameter items: The items in playlist order. Unplayable items must be omitted, equally on all screens.
    init?(epoch: WallInstant, items: [FilmExtent], loops: Bool = true) {
        var begins: [Int64] = [0]
        for item in items { begins.append(begins.last!.addingClamped(item.length.nanoseconds)) }
        guard let total = begins.last, total > 0, total < Int64.max / 2 else { return nil }
        (self.epoch, self.items, self.loops, self.begins) = (epoch, items, loops, begins)
    }

    private var total: Int64 { begins[begins.count - 1] }

    /// Returns what is perceived at an instant; nil before the epoch, and after the end of a playlist without loop.
    func position(at instant: WallInstant) -> Position? {
        let elapsed = epoch.duration(to: instant).wholeNanoseconds
        guard elapsed >= 0, loops || elapsed < total else { return nil }
        let round = elapsed / total * total
        // The last item that has started; items of zero duration are never current.
        let item = begins.lastIndex { $0 <= elapsed - round } ?? 0
        return position(of: min(item, items.count - 1), round: round, at: elapsed)
    }

    private func position(of item: Int, round: Int64, at elapsed: Int64) -> Position {
        let began = round.addingClamped(begins[item])
        return Position(
            item: item, position: items[item].start + MediaTime(nanoseconds: elapsed - began),
            began: epoch.advanced(by: .nanoseconds(began)),
            ends: epoch.advanced(by: .nanoseconds(round.addingClamped(begins[item + 1]))))
    }

    /// Returns the start of an item that is nearest to an instant, before or after it; nil for an index outside the
    /// playlist.
    func begin(of item: Int, nearest instant: WallInstant) -> WallInstant? {
        guard items.indices.contains(item) else { return nil }
        let first = epoch.advanced(by: .nanoseconds(begins[item]))
        guard loops else { return first }
        let rounds = (Double(first.duration(to: instant).wholeNanoseconds) / Double(total)).rounded()
        // Double represents integers exactly up to 2^53.
        let distance = Int64(clamping: rounds, in: 0...1 << 53).multipliedReportingOverflow(by: total)
        return first.advanced(by: .nanoseconds(distance.overflow ? .max : distance.partialValue))
    }

    /// Returns where and when to start in sync, not before an instant; nil after the end of a playlist without loop.
    /// Starts within the current item, or at the next one if the remainder is shorter than `minDuration`.
    ///
    /// - Parameter minDuration: The minimum remainder of an item.
    func meeting(notBefore instant: WallInstant, minDuration: Duration = .seconds(2)) -> (
        place: Position, at: WallInstant
    )? {
        let instant = max(instant, epoch)
        guard let position = position(at: instant) else { return nil }
        guard position.began < instant, instant.duration(to: position.ends) < minDuration,
            let next = self.position(at: position.ends)
        else {
            return (position, instant)
        }
        return (next, position.ends)
    }
}
