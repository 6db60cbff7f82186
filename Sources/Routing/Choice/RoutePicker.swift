internal import MediaCore

/// The list from which a person chooses where the sound goes: what it shows, and what keys and pointer mean in it. A
/// value; nothing happens in it by itself.
package struct RoutePicker: Equatable {
    package struct Row: Hashable {
        /// As `OutputPlace.id`.
        package var id: String
        package var name: String
        /// It plays, or is to play.
        package var isTicked: Bool
        /// It is on its way: why it is not heard yet.
        package var pending: String?
        /// Why it cannot be chosen.
        package var obstacle: String?
        /// 0…130; nil while it is not known.
        package var volume: Double?
    }

    /// The part of a row that a pointer is on.
    package enum Part: Hashable, Sendable {
        case mark, text
        /// The bar, at a share of its length, 0…1.
        case level(Double)
    }

    /// What a person wants.
    package enum Wish: Hashable {
        case close
        /// Only these, by id; never none.
        case play([String])
        /// Only this one, and the list is closed.
        case playAndClose(String)
        case setVolume(String, Double)
        /// To be told why nothing happens.
        case explain(String)
    }

    /// As far as a key goes; as everywhere in Talkie.
    static let volumeStep = 5.0

    package private(set) var rows: [Row] = []
    /// The id of the row that keys speak of, which stays when others come and go.
    package private(set) var current: String?
    /// What is to be said under the list; nil says which keys there are.
    package var notice: String?

    /// Shows what there is now.
    mutating func update(_ rows: [Row]) {
        let place = index
        self.rows = rows
        if current == nil || !rows.contains(where: { $0.id == current }) {
            // The row that took its place, or what plays.
            current =
                place.flatMap { rows.isEmpty ? nil : rows[min($0, rows.count - 1)].id }
                ?? (rows.first { $0.isTicked } ?? rows.first)?.id
        }
    }

    /// Puts a person on a row.
    package mutating func go(to id: String) { if rows.contains(where: { $0.id == id }) { current = id } }

    package var index: Int? { rows.firstIndex { $0.id == current } }

    // MARK: What a person does

    /// Nil for a key that means nothing here; those of the film are then heard as ever.
    package mutating func press(_ key: String) -> Wish?? {
        switch key {
        case "UP", "k": move(by: -1)
        case "DOWN", "j": move(by: 1)
        case "HOME", "PGUP": move(by: -rows.count)
        case "END", "PGDWN": move(by: rows.count)
        case "ENTER", "KP_ENTER": return .some(index.flatMap { playOnly($0) })
        case "SPACE", "x": return .some(index.flatMap { toggle($0) })
        case "LEFT", "-": return .some(index.flatMap { turn($0, by: -Self.volumeStep) })
        case "RIGHT", "+": return .some(index.flatMap { turn($0, by: Self.volumeStep) })
        case "ESC", "s", "BS": return .some(.close)
        default: return nil
        }
        return .some(nil)
    }

    package mutating func point(at row: Int, _ part: Part, turned: Int) -> Wish? {
        guard rows.indices.contains(row) else { return nil }
        current = rows[row].id
        if turned != 0 { return turn(row, by: Double(turned) * Self.volumeStep) }
        switch part {
        case .mark: return toggle(row)
        case .text: return playOnly(row)
        case .level(let share): return setVolume(row, to: (share * 20).rounded() * 5)
        }
    }

    private mutating func move(by distance: Int) {
        guard !rows.isEmpty else { return }
        notice = nil
        current = rows[min(rows.count - 1, max(0, (index ?? 0) + distance))].id
    }

    private func playOnly(_ place: Int) -> Wish? {
        let row = rows[place]
        if let obstacle = row.obstacle { return .explain("\(row.name): \(obstacle)") }
        return .playAndClose(row.id)
    }

    private func toggle(_ place: Int) -> Wish? {
        let row = rows[place]
        var ticked = rows.filter(\.isTicked).map(\.id)
        if row.isTicked {
            ticked.removeAll { $0 == row.id }
            return ticked.isEmpty
                ? .explain("The sound needs a place to go to; tick another one first.") : .play(ticked)
        }
        if let obstacle = row.obstacle { return .explain("\(row.name): \(obstacle)") }
        return .play(ticked + [row.id])
    }

    private mutating func turn(_ place: Int, by step: Double) -> Wish? {
        guard let volume = rows[place].volume else {
            return .explain("\(rows[place].name): its volume is not known before it plays")
        }
        return setVolume(place, to: volume + step)
    }

    private mutating func setVolume(_ place: Int, to volume: Double) -> Wish? {
        // Up to 100, and not beyond what the master has lifted it to.
        let volume = min(max(100, rows[place].volume ?? 100), max(0, volume))
        rows[place].volume = volume
        return .setVolume(rows[place].id, volume)
    }

    // MARK: What is seen

    package static let keys = "↑↓ choose   Enter play here   Space add or leave out   ← → volume   Esc close"

    /// For a terminal: one line.
    package var line: String {
        rows.map { row in
            let mark = row.pending != nil ? "…" : row.isTicked ? "x" : " "
            let volume = row.volume.map { " \(Decimals.text($0, 0))%" } ?? ""
            let text = "[\(mark)] \(row.name)\(volume)"
            return row.id == current ? ">\(text)<" : " \(text) "
        }.joined(separator: " ") + (notice.map { "  \($0)" } ?? "")
    }
}
