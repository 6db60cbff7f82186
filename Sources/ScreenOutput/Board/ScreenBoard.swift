/// The content of an operator's display: a title and labelled lines.
package struct ScreenBoard: Sendable, Hashable {
    /// A line of the board.
    package struct Line: Sendable, Hashable {
        package var label: String
        var text: String
        /// Whether the line is highlighted as a problem.
        package var isTrouble: Bool

        package init(_ label: String, _ text: String, isTrouble: Bool = false) {
            (self.label, self.text, self.isTrouble) = (label, text, isTrouble)
        }
    }

    package var title: String
    package var lines: [Line]

    package init(title: String, lines: [Line]) { (self.title, self.lines) = (title, lines) }
}
