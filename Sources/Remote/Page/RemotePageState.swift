internal import MediaCore
internal import Playback

/// What a page displays: properties of the table, in a form of limited size.
enum RemotePageState {
    /// The displayed properties, except the position. `health` exists for a kiosk only.
    static let names = [
        "audio-device-list", "core-idle", "duration", "health", "media-title", "mute", "pause", "playlist", "speed",
        "sub-visibility", "track-list", "volume", "volume-max",
    ]
    private static let maxTextColumns = 120
    private static let maxTracks = 100
    private static let maxOutputs = 100

    /// Returns the value of a property as the page displays it.
    ///
    /// - Parameter value: nil: unavailable.
    static func shown(_ name: String, _ value: JSONValue?) -> JSONValue {
        switch (name, value) {
        case ("playlist", _): playlist(PlaylistExcerpt(value))
        case ("track-list", .array(let tracks)?):
            .array(
                tracks.lazy.filter { ["audio", "sub"].contains($0["type"]?.text) }.prefix(maxTracks).map {
                    members(of: $0, ["id", "type", "title", "lang", "purpose", "forced", "selected"])
                })
        case ("audio-device-list", .array(let outputs)?):
            .array(
                outputs.prefix(maxOutputs).map {
                    members(
                        of: $0,
                        [
                            "name", "description", "selected", "volume", "language", "lang", "pending", "problem",
                            "obstacle", "pairing",
                        ])
                })
        case (_, .text(let text)?): .text(Self.text(PrintableText.withoutFolders(text)))
        default: value ?? .null
        }
    }

    /// Returns what a page can change: its commands, and the properties that `set` can change.
    static func abilities(of table: ControlTable, commands: Set<String>) -> [String: JSONValue] {
        let commands = commands.filter { table.commands[$0] != nil }.sorted()
        let settable = table.properties.values.filter(\.isWritable).map(\.name).sorted()
        return ["commands": .array(commands.map { .text($0) }), "settable": .array(settable.map { .text($0) })]
    }

    /// Returns the message to a page: its properties, and the position at this instant.
    static func message(_ values: [String: JSONValue], position: JSONValue?) -> [UInt8] {
        let members = values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        let object = JSONValue.object(members + [("time-pos", position ?? .null)])
        // HTML, section 9.2.6: JSON on one line is one field.
        return Array("data: \(object.compact)\n\n".utf8)
    }

    /// A playlist without the folders and servers of its films.
    private static func playlist(_ excerpt: PlaylistExcerpt) -> JSONValue {
        .array(
            excerpt.entries.map { entry in
                let name = PrintableText.name(of: entry.address)
                return .object([
                    ("index", .integer(entry.index)), ("title", .text(text(entry.title ?? name))),
                    ("current", .flag(entry.isCurrent)),
                ])
            })
    }

    private static func members(of object: JSONValue, _ names: [String]) -> JSONValue {
        .object(
            names.compactMap { name in
                guard let value = object[name] else { return nil }
                // A command identifies an output by its whole name.
                return (name, name == "name" ? value : value.text.map { .text(text($0)) } ?? value)
            })
    }

    private static func text(_ text: String) -> String {
        PrintableText.truncated(PrintableText.of(text), to: maxTextColumns)
    }
}
