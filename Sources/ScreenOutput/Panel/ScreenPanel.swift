/// A selectable list over the video: rows with a mark and a level bar.
package struct ScreenPanel: Sendable, Hashable {
    /// A row of the list.
    package struct Row: Sendable, Hashable {
        /// The state of a row's mark.
        package enum Mark: Sendable, Hashable {
            case empty, ticked
            /// A transition to `ticked` is in progress.
            case pending
        }

        /// The text of the row.
        var text: String
        /// A short text after it: a state or a reason.
        package var detail: String
        /// The state of the mark.
        package var mark: Mark
        /// The icon between mark and text; nil: none.
        package var symbol: OutputSymbol?
        /// The text of a button before the level bar; nil: no button.
        package var button: String?
        /// The value of the level bar, 0…1; nil: no bar.
        package var level: Double?
        /// Whether the row is currently not selectable.
        package var isDim: Bool

        /// Creates a row.
        package init(
            _ text: String, detail: String = "", mark: Mark = .empty, symbol: OutputSymbol? = nil,
            button: String? = nil, level: Double? = nil, isDim: Bool = false
        ) {
            self.text = text
            self.detail = detail
            self.mark = mark
            self.symbol = symbol
            self.button = button
            self.level = level
            self.isDim = isDim
        }
    }

    /// A part of a row under the pointer.
    package enum Element: Sendable, Hashable {
        /// The mark, the text, or the button.
        case mark, text, button
        /// A position on the level bar, 0…1.
        case level(Double)
    }

    /// The kind of mark before a row's text.
    package enum Marks: Sendable, Hashable {
        /// Check boxes: any number of rows can be ticked.
        case boxes
        /// Radio buttons: one row is selected.
        case dots
        /// No marks: the rows are informational, and their details form a column.
        case none
    }

    /// The position of the panel.
    package enum Position: Sendable, Hashable {
        case middle, topLeft
        /// Above this button of the bar; centred if there is none.
        case above(ScreenBar.Button)
    }

    /// The title line.
    var title: String
    /// The rows, from top to bottom.
    package var rows: [Row]
    /// The kind of marks.
    var marks: Marks
    /// The position of the panel.
    var position: Position
    /// The row selected by keys; nil if there is none.
    package var current: Int?
    /// A line under the rows that explains the keys.
    var hint: String
    /// A QR code beside the rows, if there is space: its modules by row, true is dark; empty: none.
    var code: [[Bool]]

    /// Creates a panel.
    package init(
        title: String, rows: [Row], current: Int? = nil, hint: String = "", marks: Marks = .boxes,
        position: Position = .middle, code: [[Bool]] = []
    ) {
        (self.marks, self.position, self.code) = (marks, position, code)
        self.title = title
        self.rows = rows
        self.current = current
        self.hint = hint
    }
}
