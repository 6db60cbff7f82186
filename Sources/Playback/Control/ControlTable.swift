package import MediaCore

/// The commands and properties of a program. A value: each module adds its own before the table is used.
package struct ControlTable: Sendable {
    /// The properties by name.
    package private(set) var properties: [String: ControlProperty] = [:]
    /// The commands by name.
    package private(set) var commands: [String: ControlCommand] = [:]

    /// mpv's other names of properties.
    private static let aliases = [
        "audio": "aid", "sub": "sid", "video": "vid", "loop": "loop-file", "length": "duration",
        "playback-time": "time-pos",
    ]
    /// The maximum length of a property's name in bytes: a path of any length would take a multiple of it in memory.
    private static let maxNameBytes = 256
    /// mpv's prefixes of commands. They are ignored: each interface decides itself what it displays.
    private static let prefixes: Set<String> = [
        "no-osd", "osd-auto", "osd-bar", "osd-msg", "osd-msg-bar", "raw", "expand-properties", "repeatable", "async",
        "sync",
    ]

    /// Creates a table.
    package init(properties: [ControlProperty] = [], commands: [ControlCommand] = []) {
        for property in properties { add(property) }
        for command in commands { add(command) }
    }

    /// Adds a property; it replaces one of the same name.
    package mutating func add(_ property: ControlProperty) { properties[property.name] = property }
    /// Adds a command; it replaces one of the same name.
    package mutating func add(_ command: ControlCommand) { commands[command.name] = command }

    /// Returns the property with a name, or with mpv's other name of it, or a part of a property that is a list:
    /// `playlist/count`, `track-list/0/id`, `metadata/by-key/title`.
    ///
    /// - Throws: `unknownName`.
    package func property(_ name: String) throws(ControlError) -> ControlProperty {
        if let property = properties[Self.aliases[name] ?? name] { return property }
        let isShort = name.utf8.count <= Self.maxNameBytes
        let path = isShort ? name.split(separator: "/", omittingEmptySubsequences: false) : []
        if path.count > 1, let parent = properties[String(path[0])], parent.type == .node {
            return parent.member(name, at: path.dropFirst())
        }
        throw ControlError(.unknownName, "unknown property '\(Self.shown(name))'")
    }

    /// Returns a command with checked arguments.
    ///
    /// - Parameter tokens: The name, after any of mpv's prefixes, and the arguments.
    /// - Throws: `unknownName`, `wrongType`, `outOfRange` or `notWritable`.
    package func request(_ tokens: [JSONValue]) throws(ControlError) -> ControlRequest {
        let tokens = tokens.drop { Self.prefixes.contains($0.text ?? "") }
        guard let first = tokens.first else { throw ControlError(.wrongType, "a command is missing") }
        guard let name = first.text, let command = commands[name] else {
            throw ControlError(.unknownName, "unknown command '\(Self.shown(first.mpvText))'")
        }
        let given = tokens.dropFirst()
        guard given.count <= command.parameters.count else {
            let extra = Self.shown(given[given.startIndex + command.parameters.count].mpvText)
            throw ControlError(.wrongType, "'\(extra)' after \(name) is not supported")
        }
        var values: [JSONValue?] = []
        var named: ControlProperty?
        for (index, parameter) in command.parameters.enumerated() {
            let subject = parameter.type == .value ? named?.name ?? name : name
            guard index < given.count else {
                guard parameter.isOptional else {
                    throw ControlError(.wrongType, "\(subject): \(parameter.name) is missing")
                }
                values.append(nil)
                continue
            }
            let value = given[given.startIndex + index]
            let type = parameter.type == .value ? named?.type ?? .text : parameter.type
            do throws(ControlError) {
                values.append(try type.checked(value))
                if type == .property {
                    let property = try self.property(values[index]?.text ?? "")
                    guard property.isWritable else {
                        throw ControlError(.notWritable, "the property '\(property.name)' cannot be changed")
                    }
                    named = property
                }
            } catch {
                throw ControlError(error.code, "\(subject): \(error.problem)")
            }
        }
        let arguments = ControlCommand.Arguments(values: values)
        try command.check(arguments)
        return ControlRequest(command: command, arguments: arguments, property: named)
    }

    /// Same with text in mpv's notation.
    package func request(_ tokens: [String]) throws(ControlError) -> ControlRequest {
        try request(tokens.map { .text($0) })
    }

    private static func shown(_ text: String) -> String { PrintableText.truncated(PrintableText.of(text), to: 40) }
}
