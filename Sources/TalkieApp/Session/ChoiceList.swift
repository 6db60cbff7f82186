internal import LocalOutput

/// A list over the film from which a person chooses one: a track, a chapter, a speed. A value; nothing happens in it by itself.
struct ChoiceList: Equatable {
    enum Subject: Hashable { case sound, subtitles, chapters, speed }

    struct Row: Hashable {
        var text: String
        /// A few words after it.
        var detail = ""
        var isChosen = false
    }

    /// What a person wants.
    enum Wish: Hashable {
        case close
        /// The row with this number, from 0.
        case choose(Int)
    }

    let subject: Subject
    let title: String
    private(set) var rows: [Row]
    /// The row that keys speak of; nil in an empty list.
    private(set) var current: Int?

    /// Begins on the row that is chosen.
    init(_ subject: Subject, title: String, rows: [Row]) {
        (self.subject, self.title, self.rows) = (subject, title, rows)
        current = rows.isEmpty ? nil : rows.firstIndex(where: \.isChosen) ?? 0
    }

    /// Shows what there is now; a person stays on the row with the same number.
    mutating func update(_ rows: [Row]) {
        self.rows = rows
        current = rows.isEmpty ? nil : min(current ?? 0, rows.count - 1)
    }

    /// Nil for a key that means nothing here; those of the film are then heard as ever.
    mutating func press(_ key: String) -> Wish?? {
        switch key {
        case "UP", "k": move(by: -1)
        case "DOWN", "j": move(by: 1)
        case "HOME", "PGUP": move(by: -rows.count)
        case "END", "PGDWN": move(by: rows.count)
        case "ENTER", "KP_ENTER", "SPACE": return .some(current.map { .choose($0) })
        case "ESC", "BS": return .some(.close)
        default: return nil
        }
        return .some(nil)
    }

    /// The pointer: a press chooses, the wheel moves.
    mutating func point(at row: Int, turned: Int) -> Wish? {
        guard rows.indices.contains(row) else { return nil }
        guard turned == 0 else {
            move(by: -turned)
            return nil
        }
        current = row
        return .choose(row)
    }

    private mutating func move(by distance: Int) {
        current = current.map { min(rows.count - 1, max(0, $0 + distance)) }
    }

    static let keys = "↑↓ move   Enter choose   Esc close"

    /// As the screen draws it.
    var panel: ScreenPanel {
        ScreenPanel(
            title: title,
            rows: rows.map { ScreenPanel.Row($0.text, detail: $0.detail, mark: $0.isChosen ? .ticked : .empty) },
            current: current, hint: Self.keys, marks: .dots, place: .above(Self.button(subject)))
    }
}
