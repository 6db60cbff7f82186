internal import MediaCore

extension ControlTable {
    /// Adds mpv's properties that describe a table, `command-list` and `property-list`. They do not contain later
    /// additions.
    mutating func addLists() {
        let listed = commands.values.sorted { $0.name < $1.name }.map { command in
            JSONValue.object([
                ("name", .text(command.name)),
                (
                    "args",
                    .array(
                        command.parameters.map {
                            .object([("name", .text($0.name)), ("optional", .flag($0.isOptional))])
                        })
                ),
            ])
        }
        let names = (properties.keys + ["command-list", "property-list"]).sorted().map(JSONValue.text)
        add(ControlProperty("command-list", .node, "the commands: `name`, `args`", read: { _ in .array(listed) }))
        add(ControlProperty("property-list", .node, "the names of the properties", read: { _ in .array(names) }))
    }
}
