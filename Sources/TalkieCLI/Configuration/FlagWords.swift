internal import ArgumentParser
internal import MediaCore

/// Normalizes mpv's spellings of flags for `talkie play`: `--fs`, `--fs=yes`, `--fs=no`, `--no-fs`. The last one of a
/// flag applies.
enum FlagWords {
    /// The names of one flag.
    private static let synonyms: [Set<String>] = [["--fs", "--fullscreen", "-fs"]]

    /// Returns the words with each flag as ArgumentParser expects it.
    ///
    /// - Parameter words: The words after `play`.
    static func settled(_ words: [String]) -> [String] {
        var settled: [String] = []
        for (index, word) in words.enumerated() {
            // Only files follow.
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

    /// Returns the error message for the first flag with a value other than `yes` and `no`; nil if there is none.
    ///
    /// - Parameter words: The words after `play`.
    static func objection(to words: [String]) -> String? {
        for word in words.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[1] != "yes", parts[1] != "no" else { continue }
            guard isSwitch("--" + parts[0]) || isSwitch("--no-" + parts[0]) else { continue }
            return "--\(parts[0]) must be yes or no" + (parts[1].isEmpty ? "" : ", not '\(parts[1])'")
        }
        return nil
    }

    private enum Meaning {
        case other
        case on(String)
        /// The flag is removed.
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

    /// The results of `isSwitch` so far.
    private static let known = Lock<[String: Bool]>([:])

    /// Whether ArgumentParser accepts the word without a value. Cached: a query checks the whole command.
    private static func isSwitch(_ word: String) -> Bool {
        if let isSwitch = known.withLock({ $0[word] }) { return isSwitch }
        // ignored: only whether it can be parsed counts.
        let isSwitch = (try? PlayCommand.parse(["film", word])) != nil
        known.withLock { $0[word] = isSwitch }
        return isSwitch
    }
}
