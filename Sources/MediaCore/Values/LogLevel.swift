/// The verbosity of the log; each level includes the previous ones.
package enum LogLevel: Int, Sendable, Comparable, CaseIterable {
    case error, warning, info, debug

    /// The name in options and files.
    package var name: String {
        switch self {
        case .error: "error"
        case .warning: "warning"
        case .info: "info"
        case .debug: "debug"
        }
    }

    /// Parses the name of a level; throws for other text.
    package init(parsing text: String) throws(ValueError) {
        guard let level = Self.allCases.first(where: { $0.name == text }) else {
            throw ValueError("the log level must be error, warning, info or debug")
        }
        self = level
    }

    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}
