/// Breaks text into lines that are no wider than the room there is, and shortens what must stay on one.
///
/// `width` measures a line; it is asked often for the same words, and remembers them.
public struct LineBreaking {
    /// Characters that are looked at; the rest is left out.
    private let longest: Int
    private let room: Double
    private let width: (String) -> Double

    /// - Parameters:
    ///   - room: the width of a line, in the unit of `width`.
    ///   - longest: characters that are looked at; the rest is left out.
    public init(room: Double, longest: Int = 2000, width: @escaping (String) -> Double) {
        (self.room, self.longest, self.width) = (room, longest, width)
    }

    /// Groups of words that belong together stand apart by three spaces, as in `a play   b stop`; a line ends between
    /// groups where it can, else between words, and inside a word that has no room by itself. A new line stays one.
    ///
    /// - Parameter count: lines at most; what is left is left out.
    public func lines(_ text: String, atMost count: Int = .max) -> [String] {
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

    /// As much of a text as has room on one line, with an ellipsis where something is left out; empty where there is no room.
    public func shortened(_ text: String) -> String {
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

    /// How many characters satisfy what fewer of them satisfy too. Doubles first, because a line holds few of many.
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
