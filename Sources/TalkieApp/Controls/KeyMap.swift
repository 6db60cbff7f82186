internal import MediaCore
internal import Playback

/// The key bindings of a session: the defaults (`KeyBindings`), changed by the user's `input.conf`.
package struct KeyMap: Sendable {
    /// Maximum number of commands per key.
    private static let maxCommands = 32

    /// The changed bindings. A key without commands does nothing.
    private var changes: [String: [[String]]] = [:]

    package init() {}

    /// Returns the commands of a key, each as its words.
    ///
    /// - Parameter key: The name of the key as reported by window and terminal.
    package func commands(for key: String) -> [[String]] { changes[key] ?? KeyBindings.commands(for: key) }

    /// Replaces the binding of a key by the commands of a line; an empty list disables the key.
    ///
    /// - Throws: `ValueError` for a command or argument that Talkie does not implement.
    mutating func bind(_ key: String, to line: some StringProtocol) throws(ValueError) {
        let commands = try CommandText.commands(in: line, from: .keyBinding)
        guard commands.count <= Self.maxCommands else { throw ValueError("too many commands for one key") }
        guard !commands.isEmpty else { throw ValueError("a key must be followed by a command; “ignore” does nothing") }
        var kept: [[String]] = []
        for words in commands {
            do throws(ControlError) {
                let request = try ControlTable.unbound.request(words)
                if request.command.name != "ignore" { kept.append(words) }
            } catch { throw ValueError(error.problem) }
        }
        changes[key] = kept
    }
}
