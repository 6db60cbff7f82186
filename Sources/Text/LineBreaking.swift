/// Wraps text to a line width and truncates text that must stay on one line.
///
/// `width` measures text. It is called repeatedly with the same words and should cache them.
package struct LineBreaking {
    /// Maximum number of characters processed; the rest is dropped.
    private let longest: Int
    private let room: Double
    private let width: (String) -> Double

    /// Creates a line breaker.
    ///
    /// - Parameters:
    ///   - room: maximum line width, in the unit of `width`.
    ///   - longest: maximum number of characters processed; the rest is dropped.
    ///   - width: returns the width of a text.
    package init(room: Double, longest: Int = 2000, width: @escaping (String) -> Double) {
        (self.room, self.longest, self.width) = (room, longest, width)
    }

    /// Returns the wrapped lines. Three spaces separate groups of words, as in `a play   b stop`. Lines break between
    /// groups if possible, otherwise between words, and inside words that are too long. Newlines are preserved.
    ///
    /// - Parameter count: maximum number of lines; the rest is dropped.
    package func lines(_ text: String, atMost count: Int = .max) -> [String] {
        var lines: [String] = []
        for paragraph in text.prefix(longest).split(separator: "\n", omittingEmptySubsequences: false) {
            guard lines.count < count else { break }
            var line = ""
            for group in groups(of: paragraph) where lines.count < count {
                if fits(line, group, Self.groupGap) {
                    line += line.isEmpty ? group : Self.groupGap + group
                    continue
                }
                if fits("", group, "") {
                    lines.append(line)
                    line = group
                    continue
                }
                var gap = Self.groupGap
                for word in group.split(separator: " ").flatMap({ pieces(of: $0) }) {
                    if fits(line, word, gap) {
                        line += line.isEmpty ? word : gap + word
                    } else {
                        if !line.isEmpty { lines.append(line) }
                        line = word
                    }
                    gap = " "
                }
            }
            lines.append(line)
        }
        return Array(lines.prefix(count))
    }

    /// Returns the text truncated to one line, with an ellipsis if it is too long; empty if not even that fits.
    package func shortened(_ text: String) -> String {
        let text = text.prefix(longest)
        if width(String(text)) <= room { return String(text) }
        let kept = longestPrefix(of: text) { width($0 + "…") <= room }
        return kept == 0 ? "" : text.prefix(kept) + "…"
    }

    private static let groupGap = "   "

    private func fits(_ line: String, _ more: String, _ gap: String) -> Bool {
        width((line.isEmpty ? "" : line + gap) + more) <= room
    }

    private func groups(of paragraph: Substring) -> [String] {
        var groups: [String] = []
        var words: [Substring] = []
        var spaces = 0
        for word in paragraph.split(separator: " ", omittingEmptySubsequences: false) {
            if word.isEmpty {
                spaces += 1
                continue
            }
            if spaces >= Self.groupGap.count - 1, !words.isEmpty {
                groups.append(words.joined(separator: " "))
                words = []
            }
            words.append(word)
            spaces = 0
        }
        if !words.isEmpty { groups.append(words.joined(separator: " ")) }
        return groups
    }

    private func pieces(of word: Substring) -> [String] {
        var pieces: [String] = []
        var rest = word
        while !rest.isEmpty {
            let count = max(1, longestPrefix(of: rest) { width($0) <= room })
            pieces.append(String(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }

    /// Returns the length of the longest prefix with a property that all shorter prefixes have. Starts with exponential
    /// search, because a line contains a small part of a long text.
    private func longestPrefix(of text: Substring, _ isShort: (String) -> Bool) -> Int {
        let all = text.count
        var (low, high) = (0, 1)
        while high < all, isShort(String(text.prefix(high))) { (low, high) = (high, high * 2) }
        high = min(high, all)
        if high == all, isShort(String(text)) { return all }
        while high - low > 1 {
            let middle = (low + high) / 2
            if isShort(String(text.prefix(middle))) { low = middle } else { high = middle }
        }
        return low
    }
}
