internal import MediaCore

/// Reads values from a TOML table and collects all mistakes with their lines, so that the user sees every one at once.
struct TableReader {
    let table: TOMLDocument.Table
    private let file: String
    /// The name of the table; nil for the document.
    private let name: String?
    /// The keys that were read.
    private var known: [String] = []
    private(set) var mistakes: [ConfigMistake] = []
    /// Hints that are no mistakes.
    private(set) var remarks: [ConfigMistake] = []

    init(_ table: TOMLDocument.Table, file: String, name: String? = nil) {
        (self.table, self.file, self.name) = (table, file, name)
    }

    /// Returns a reader for a nested table. The caller must pass it to `finish(_:)`.
    func inside(_ table: TOMLDocument.Table, name: String) -> TableReader {
        TableReader(table, file: file, name: name)
    }

    /// Returns a reader for the table of a key; nil if the key is absent or has another value, which is recorded. The
    /// caller must pass the reader to `finish(_:)`.
    ///
    /// - Parameter expected: The expected value as text.
    mutating func inside(_ key: String, expected: String) -> TableReader? {
        guard let node = node(key) else { return nil }
        guard case .table(let table) = node.value else {
            addMistake(node.line, "\(key): expected \(expected)")
            return nil
        }
        return inside(table, name: key)
    }

    /// Finishes the reader of a nested table and records its mistakes.
    mutating func finish(_ inner: TableReader) {
        var inner = inner
        inner.finish()
        mistakes += inner.mistakes
        remarks += inner.remarks
    }

    mutating func addMistake(_ line: Int, _ sentence: String) {
        mistakes.append(ConfigMistake(file, line: line, sentence))
    }

    mutating func addRemark(_ line: Int, _ sentence: String) {
        remarks.append(ConfigMistake(file, line: line, sentence))
    }

    mutating func node(_ key: String) -> TOMLDocument.Node? {
        known.append(key)
        return table[key]
    }

    /// Returns a converted value; nil if it is absent or invalid, which is recorded.
    mutating func value<Value>(
        _ key: String, _ meaning: (TOMLDocument.Value) throws(ValueError) -> Value
    ) -> Value? {
        guard let node = node(key) else { return nil }
        do throws(ValueError) { return try meaning(node.value) } catch {
            addMistake(node.line, "\(key): \(error.description)")
            return nil
        }
    }

    /// Sets a value if the key is present and valid.
    mutating func read<Value>(
        _ key: String, into value: inout Value, _ meaning: (TOMLDocument.Value) throws(ValueError) -> Value
    ) {
        if let new = self.value(key, meaning) { value = new }
    }

    /// Returns one string or a list of strings, each with its line; nil if absent.
    mutating func texts(_ key: String) -> [(text: String, line: Int)]? {
        guard let node = node(key) else { return nil }
        let nodes: [TOMLDocument.Node] = if case .array(let nodes) = node.value { nodes } else { [node] }
        var texts: [(String, Int)] = []
        for node in nodes {
            if case .string(let text) = node.value, !text.isEmpty {
                texts.append((text, node.line))
            } else {
                addMistake(
                    node.line, "\(key): expected a string or a list of strings, not \(node.value.emptyDescription)")
            }
        }
        return texts
    }

    /// Returns the enum case named by a string.
    mutating func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, _: Choice.Type) -> Choice?
    where Choice.RawValue == String {
        value(key) { value throws(ValueError) in
            guard case .string(let text) = value, let choice = Choice(rawValue: text) else {
                throw ValueError(Self.oneOf(Choice.allCases.map(\.rawValue)))
            }
            return choice
        }
    }

    static func oneOf(_ names: [String]) -> String {
        let quoted = names.map { "\"\($0)\"" }
        return "expected one of " + quoted.dropLast().joined(separator: ", ") + " or " + (quoted.last ?? "")
    }

    /// Records every key that was not read. Must be the last call.
    mutating func finish() {
        for entry in table.entries where !known.contains(entry.key) {
            addMistake(entry.node.line, "there is no key '\(PrintableText.of(entry.key))'\(hint(for: entry.key))")
        }
    }

    /// Returns where a key belongs, or a similar key.
    private func hint(for key: String) -> String {
        if let name, Self.documentKeys.contains(key) {
            return " in [\(name)]; write it above the first line in [brackets]"
        }
        if let tables = Self.tableKeys[key], name.map({ !tables.contains($0) }) ?? true {
            let sections = tables.map { "[\($0)]" }.joined(separator: " or ")
            return "\(name.map { " in [\($0)]" } ?? ""); it belongs in \(sections)"
        }
        return SpellingSuggestion.nearest(to: key, among: known).map { "; did you mean \($0)?" } ?? ""
    }

    /// The keys above the first table.
    private static let documentKeys: Set<String> = [
        "playlist", "order", "loop", "speakers", "fallbacks", "speaker_languages", "speaker_tracks", "speaker_parts",
        "speaker_timeout", "volume", "image_duration", "screen", "operator_screen", "rotate", "mode", "overscan",
        "title_safe", "start_at",
        "quiet_hours", "on_broken_item", "slate",
    ]
    /// The tables of other keys.
    private static let tableKeys: [String: [String]] = [
        "group": ["control"], "listen": ["metrics", "remote"], "token_file": ["remote"], "file": ["timeline"],
        "max_size": ["timeline"],
        "max_age": ["timeline"], "keep": ["timeline"], "screen_on": ["hooks"], "screen_off": ["hooks"],
        "chrony": ["wall"], "chrony_port": ["wall"], "follow": ["wall"], "broker": ["fleet"], "name": ["fleet"],
        "prefix": ["fleet"], "user": ["fleet"], "password_file": ["fleet"], "ca_file": ["fleet"],
    ]
}

extension TOMLDocument.Value {
    fileprivate var emptyDescription: String {
        if case .string = self { return "an empty one" }
        return kindName
    }
}
