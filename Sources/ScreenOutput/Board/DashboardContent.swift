/// The content of an operator's display: a title and labelled lines.
package struct DashboardContent: Sendable, Hashable {
    /// A line of the dashboard.
    package struct Row: Sendable, Hashable {
        package var label: String
        var text: String
        /// Whether the line is highlighted as a problem.
        package var isTrouble: Bool

        package init(_ label: String, _ text: String, isTrouble: Bool = false) {
            (self.label, self.text, self.isTrouble) = (label, text, isTrouble)
        }
    }

    package var title: String
    package var rows: [Row]

    package init(title: String, rows: [Row]) { (self.title, self.rows) = (title, rows) }
}
