internal import ScreenOutput

/// A page of text over the video: statistics, or the keys. A value, updated by the session.
struct InfoPage: Equatable {
    enum Subject: Hashable { case statistics, keys }

    struct Row: Hashable {
        var name: String
        var text: String
    }

    let subject: Subject
    var rows: [Row]
    /// The QR code of the link to the page for a phone; empty: none.
    var code: [[Bool]] = []
    /// The first visible row.
    private var current = 0

    init(_ subject: Subject, rows: [Row]) { (self.subject, self.rows) = (subject, rows) }

    /// Handles a key for scrolling. Returns false if the page does not use it.
    ///
    /// - Parameter visible: The number of visible rows; nil if it is unknown.
    mutating func press(_ key: String, visible: Int?) -> Bool {
        guard subject == .keys else { return false }
        let page = max(1, (visible ?? 10) - 1)
        switch key {
        case "UP": scroll(by: -1, visible: visible)
        case "DOWN": scroll(by: 1, visible: visible)
        case "PGUP": scroll(by: -page, visible: visible)
        case "PGDWN", "SPACE": scroll(by: page, visible: visible)
        case "HOME": scroll(by: -rows.count, visible: visible)
        case "END": scroll(by: rows.count, visible: visible)
        default: return false
        }
        return true
    }

    mutating func scroll(by count: Int, visible: Int?) {
        current = max(0, min(rows.count - (visible ?? 1), current + count))
    }

    /// The page as drawn on the screen.
    var panel: ScreenPanel {
        let isList = subject == .keys
        let phone = code.isEmpty ? "" : "   Code: control from a phone"
        return ScreenPanel(
            title: isList ? "Keys" : "Statistics", rows: rows.map { ScreenPanel.Row($0.name, detail: $0.text) },
            current: isList ? current : nil, hint: isList ? "↑↓ scroll   Esc close" + phone : "", marks: .none,
            position: isList ? .middle : .topLeft, code: code)
    }

    static var keys: InfoPage {
        InfoPage(.keys, rows: KeyHelp.rows.map { Row(name: $0.keys, text: $0.words) })
    }
}
