internal import ArgumentParser
internal import MediaCore

/// Normalizes mpv's spellings of flags for `talkie play`: `--fs`, `--fs=yes`, `--fs=no`, `--no-fs`. The last one of a
/// flag applies.
enum FlagNormalizer {
    /// The names of one flag.
    private static let synonyms: [Set<String>] = [["--fs", "--fullscreen", "-fs"]]

    /// Returns the words with each flag as ArgumentParser expects it.
    ///
    /// - Parameter arguments: The words after `play`.
    static func settled(_ arguments: [String]) -> [String] {
        var settled: [String] = []
        for (index, argument) in arguments.enumerated() {
            // Only files follow.
            if argument == "--" { return settled + arguments[index...] }
            switch meaning(of: argument) {
            case .other: settled.append(argument)
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
    /// - Parameter arguments: The words after `play`.
    static func objection(to arguments: [String]) -> String? {
        for argument in arguments.prefix(while: { $0 != "--" }) where argument.hasPrefix("--") {
            let nameAndValue = argument.dropFirst(2).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard nameAndValue.count == 2, nameAndValue[1] != "yes", nameAndValue[1] != "no" else { continue }
            guard isSwitch("--" + nameAndValue[0]) || isSwitch("--no-" + nameAndValue[0]) else { continue }
            return "--\(nameAndValue[0]) must be yes or no"
                + (nameAndValue[1].isEmpty ? "" : ", not '\(nameAndValue[1])'")
        }
        return nil
    }

    private enum Meaning {
        case other
        case on(String)
        /// The flag is removed.
        case off(String)
    }

    private static func meaning(of argument: String) -> Meaning {
        guard argument.hasPrefix("--") else { return .other }
        let nameAndValue = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(nameAndValue[0])
        if nameAndValue.count == 1 {
            guard name.hasPrefix("no-"), !isSwitch("--" + name) else { return .other }
            let flag = "--" + name.dropFirst(3)
            return isSwitch(flag) ? .off(flag) : .other
        }
        let (yes, no) = ("--" + name, "--no-" + name)
        switch nameAndValue[1] {
        case "yes": return isSwitch(yes) ? .on(yes) : isSwitch(no) ? .off(no) : .other
        case "no": return isSwitch(no) ? .on(no) : isSwitch(yes) ? .off(yes) : .other
        default: return .other
        }
    }

    /// The results of `isSwitch` so far.
    private static let known = Lock<[String: Bool]>([:])

    /// Whether ArgumentParser accepts the word without a value. Cached: a query checks the whole command.
    private static func isSwitch(_ argument: String) -> Bool {
        if let isSwitch = known.withLock({ $0[argument] }) { return isSwitch }
        // ignored: only whether it can be parsed counts.
        let isSwitch = (try? PlayCommand.parse(["film", argument])) != nil
        known.withLock { $0[argument] = isSwitch }
        return isSwitch
    }
}
