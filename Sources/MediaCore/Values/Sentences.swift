/// Joins sentence fragments: error messages start in lower case and have no full stop.
package enum Sentences {
    /// Returns the parts as complete sentences; nil and blank parts are skipped.
    package static func joined(_ parts: String?...) -> String {
        parts.compactMap { $0 }.map(sentence).filter { !$0.isEmpty }.joined(separator: " ")
    }

    private static func sentence(_ part: String) -> String {
        var text = part[...]
        while text.last?.isWhitespace == true { text = text.dropLast() }
        while text.first?.isWhitespace == true { text = text.dropFirst() }
        guard let first = text.first, let last = text.last else { return "" }
        return first.uppercased() + text.dropFirst() + (".?!…".contains(last) ? "" : ".")
    }
}
