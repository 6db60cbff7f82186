/// Which key asks for what: the keys that Talkie has by itself (`KeyBindings`), changed by a person's own `input.conf`.
package struct KeyMap: Sendable {
    /// A key without actions does nothing.
    private var changes: [String: [PlayerAction]] = [:]

    package init() {}

    /// - Parameter key: as windows and terminals name it.
    package func actions(for key: String) -> [PlayerAction] {
        changes[key] ?? KeyBindings.action(for: key).map { [$0] } ?? []
    }

    package mutating func bind(_ key: String, to actions: [PlayerAction]) { changes[key] = actions }
}
