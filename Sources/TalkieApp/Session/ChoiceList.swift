internal import ScreenOutput

/// A list over the video for choosing a track, a chapter or a speed. A value without side effects.
struct ChoiceList: Equatable {
    enum Subject: Hashable { case audio, subtitles, chapters, speed }

    struct Row: Hashable {
        var text: String
        /// Additional text after it.
        var detail = ""
        var isChosen = false
    }

    /// An action requested by the user.
    enum Action: Hashable {
        case close
        /// The index of the row.
        case choose(Int)
    }

    let subject: Subject
    let title: String
    private(set) var rows: [Row]
    /// The index of the selected row; nil in an empty list.
    private(set) var current: Int?

    /// Creates a list; the chosen row is selected.
    init(_ subject: Subject, title: String, rows: [Row]) {
        (self.subject, self.title, self.rows) = (subject, title, rows)
        current = rows.isEmpty ? nil : rows.firstIndex(where: \.isChosen) ?? 0
    }

    /// Replaces the rows and keeps the selected index.
    mutating func update(_ rows: [Row]) {
        self.rows = rows
        current = rows.isEmpty ? nil : min(current ?? 0, rows.count - 1)
    }

    /// Handles a key. Returns nil for an unused key, which then has its usual function; `.some(nil)` if there is
    /// nothing to do.
    mutating func press(_ key: String) -> Action?? {
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

    /// Handles the pointer: a click chooses a row, the wheel moves the selection.
    mutating func point(at row: Int, turned: Int) -> Action? {
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

    /// The list as drawn on the screen.
    var panel: ScreenPanel {
        ScreenPanel(
            title: title,
            rows: rows.map { ScreenPanel.Row($0.text, detail: $0.detail, mark: $0.isChosen ? .ticked : .empty) },
            current: current, hint: Self.keys, marks: .dots, position: .above(Self.button(subject)))
    }
}
