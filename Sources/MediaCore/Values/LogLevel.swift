/// The verbosity of the log; each level includes the previous ones.
package enum LogLevel: Int, Sendable, Comparable, CaseIterable {
    case error, warning, info, debug

    /// Parses the name of a level; throws for other text.
    package init(parsing text: String) throws(ValueError) {
        guard let level = Self.allCases.first(where: { "\($0)" == text }) else {
            throw ValueError("the log level must be error, warning, info or debug")
        }
        self = level
    }

    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}
