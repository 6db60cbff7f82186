/// The key bindings of a session: the defaults (`KeyBindings`), changed by the user's `input.conf`.
package struct KeyMap: Sendable {
    /// The changed bindings. A key without actions does nothing.
    private var changes: [String: [PlayerAction]] = [:]

    package init() {}

    /// Returns the actions of a key.
    ///
    /// - Parameter key: The name of the key as reported by window and terminal.
    func actions(for key: String) -> [PlayerAction] {
        changes[key] ?? KeyBindings.action(for: key).map { [$0] } ?? []
    }

    /// Replaces the binding of a key; an empty list disables it.
    mutating func bind(_ key: String, to actions: [PlayerAction]) { changes[key] = actions }
}
