/// Breaks text into lines that are no wider than the room there is.
enum LineBreaking {
    /// Groups of words that belong together stand apart by three spaces, as in `a play   b stop`; a line ends between
    /// groups where it can, else between words, and inside a word that has no room by itself. A new line stays one.
    ///
    /// - Parameters:
    ///   - room: the width of a line, in units of the glyphs.
    ///   - longest: characters that are looked at; the rest is left out.
    static func lines(_ text: String, within room: Double, longest: Int = 2000) -> [String] {
        var lines: [String] = []
        for paragraph in String(text.unicodeScalars.prefix(longest)).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            var line = ""
            for group in groups(of: paragraph) {
                if fits(line, group, groupGap, room) {
                    line += line.isEmpty ? group : groupGap + group
                    continue
                }
                if fits("", group, "", room) {
                    lines.append(line)
                    line = group
                    continue
                }
                var gap = groupGap
                for word in group.split(separator: " ").flatMap({ pieces(of: $0, within: room) }) {
                    if fits(line, word, gap, room) {
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
        return lines
    }

    private static let groupGap = "   "

    private static func fits(_ line: String, _ more: String, _ gap: String, _ room: Double) -> Bool {
        PenStroke.width(of: ((line.isEmpty ? "" : line + gap) + more).unicodeScalars) <= room
    }

    private static func groups(of paragraph: Substring) -> [String] {
        var groups: [String] = []
        var words: [Substring] = []
        var spaces = 0
        for word in paragraph.split(separator: " ", omittingEmptySubsequences: false) {
            if word.isEmpty {
                spaces += 1
                continue
            }
            if spaces >= groupGap.count - 1, !words.isEmpty {
                groups.append(words.joined(separator: " "))
                words = []
            }
            words.append(word)
            spaces = 0
        }
        if !words.isEmpty { groups.append(words.joined(separator: " ")) }
        return groups
    }

    private static func pieces(of word: Substring, within room: Double) -> [String] {
        var pieces: [String] = []
        var piece = String.UnicodeScalarView()
        for scalar in word.unicodeScalars {
            if !piece.isEmpty, PenStroke.width(of: Array(piece) + [scalar]) > room {
                pieces.append(String(piece))
                piece = String.UnicodeScalarView()
            }
            piece.append(scalar)
        }
        pieces.append(String(piece))
        return pieces
    }
}
