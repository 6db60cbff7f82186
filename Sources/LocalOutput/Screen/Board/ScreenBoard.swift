/// What a display beside the film's says, for whoever runs the show: a title, and lines with a label each.
package struct ScreenBoard: Sendable, Hashable {
    package struct Line: Sendable, Hashable {
        package var label: String
        package var text: String
        /// Wants somebody's attention.
        package var isTrouble: Bool

        package init(_ label: String, _ text: String, isTrouble: Bool = false) {
            (self.label, self.text, self.isTrouble) = (label, text, isTrouble)
        }
    }

    package var title: String
    package var lines: [Line]

    package init(title: String, lines: [Line]) { (self.title, self.lines) = (title, lines) }
}
