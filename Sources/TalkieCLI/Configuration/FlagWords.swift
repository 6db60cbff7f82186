internal import ArgumentParser

/// mpv's ways to write a switch, for those of `talkie play`: `--fs`, `--fs=yes`, `--fs=no`, `--no-fs`. Of several about one the
/// last counts.
enum FlagWords {
    /// Words for one and the same switch.
    private static let synonyms: [Set<String>] = [["--fs", "--fullscreen", "-fs"]]

    /// - Parameter words: those behind `play`.
    static func settled(_ words: [String]) -> [String] {
        var settled: [String] = []
        for (index, word) in words.enumerated() {
            // What follows is files.
            if word == "--" { return settled + words[index...] }
            switch meaning(of: word) {
            case .other: settled.append(word)
            case .on(let flag): settled.append(flag)
            case .off(let flag):
                let all = synonyms.first { $0.contains(flag) } ?? [flag]
                settled.removeAll(where: all.contains)
            }
        }
        return settled
    }

    private enum Meaning {
        case other
        case on(String)
        /// As if it had not been written.
        case off(String)
    }

    private static func meaning(of word: String) -> Meaning {
        guard word.hasPrefix("--") else { return .other }
        let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        if parts.count == 1 {
            guard name.hasPrefix("no-"), !isSwitch("--" + name) else { return .other }
            let flag = "--" + name.dropFirst(3)
            return isSwitch(flag) ? .off(flag) : .other
        }
        let (yes, no) = ("--" + name, "--no-" + name)
        switch parts[1] {
        case "yes": return isSwitch(yes) ? .on(yes) : isSwitch(no) ? .off(no) : .other
        case "no": return isSwitch(no) ? .on(no) : isSwitch(yes) ? .off(yes) : .other
        default: return .other
        }
    }

    /// Whether a word makes sense without a value.
    private static func isSwitch(_ word: String) -> Bool { (try? PlayCommand.parse(["film", word])) != nil }
}
