/// Suggests corrections for misspelt words.
package enum SpellingSuggestion {
    /// Maximum number of edits.
    private static let maxDistance = 2
    /// Maximum number of bytes of a word that are compared.
    private static let maxLength = 40

    /// Returns the candidate with the fewest edits to `word`. Nil if it needs more than two edits, or more than half
    /// the length of `word`.
    package static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
        let best = candidates.map { ($0, distance($0, word)) }.min { $0.1 < $1.1 }
        return best.flatMap { $0.1 <= min(maxDistance, word.utf8.count / 2) ? $0.0 : nil }
    }

    /// Returns the Levenshtein distance in bytes.
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.utf8.prefix(maxLength)), Array(right.utf8.prefix(maxLength)))
        var row = Array(0...right.count)
        for (i, letter) in left.enumerated() {
            var before = row[0]
            row[0] = i + 1
            for (j, other) in right.enumerated() {
                let changed = before + (letter == other ? 0 : 1)
                before = row[j + 1]
                row[j + 1] = min(changed, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[right.count]
    }
}
