/// Sentences for people from parts that were written apart: error messages begin small and end without a stop.
package enum Sentences {
    /// The parts, each as a sentence of its own; those that say nothing are left out.
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
