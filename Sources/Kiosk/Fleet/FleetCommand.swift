internal import MediaCore
package import Playback

/// A command received from the broker: `{"id": "7f3", "do": "volume", "volume": 40}`.
package struct FleetCommand: Sendable {
    /// Identifies the command; its answer contains the same id.
    package let id: String
    /// The command of the kiosk's table.
    package let request: ControlRequest

    /// The maximum size of a message in bytes.
    static let maxBytes = 4096
    private static let longestID = 64
    /// The valid values of `do`, their command of the table, and the member of the message with its last argument.
    private static let commands: [(word: String, command: [String], argument: StaticString?)] = [
        ("next", ["playlist-next"], nil), ("previous", ["playlist-prev"], nil),
        ("pause", ["set", "pause", "yes"], nil), ("play", ["set", "pause", "no"], nil),
        ("reload", ["reload"], nil), ("screenshot", ["screenshot"], nil),
        ("volume", ["set", "volume"], "volume"), ("slate", ["slate"], "words"),
    ]

    /// The reason why a message is not a valid command, with its id if present.
    struct Refusal: Error, Hashable {
        var id: String?
        var sentence: String
    }

    /// The valid values of `do`.
    static let names = commands.map(\.word)

    /// Parses a message with a command of a table.
    init(_ bytes: UnsafeRawBufferPointer, _ table: ControlTable) throws(Refusal) {
        guard bytes.count <= Self.maxBytes else {
            throw Refusal(id: nil, sentence: "A command has at most \(Self.maxBytes) bytes.")
        }
        guard let object = JSONNode(object: bytes) else {
            throw Refusal(id: nil, sentence: "A command is a JSON object, as {\"id\": \"1\", \"do\": \"next\"}.")
        }
        let id = object.text("id") ?? object.integer("id").map(String.init) ?? ""
        guard (1...Self.longestID).contains(id.utf8.count) else {
            throw Refusal(
                id: nil,
                sentence: "A command needs an id of at most \(Self.longestID) bytes, which its answer contains.")
        }
        self.id = id
        guard let name = object.text("do") else {
            throw Refusal(id: id, sentence: "“do” must be one of: \(Self.choice).")
        }
        guard let known = Self.commands.first(where: { $0.word == name }) else {
            let said = PrintableText.truncated(name, to: 40)
            throw Refusal(id: id, sentence: "Unknown command “\(said)”; choose one of \(Self.choice).")
        }
        var values = known.command.map(JSONValue.text)
        if let argument = known.argument.flatMap({ object[$0] }).map(JSONValue.init), argument != .null {
            values.append(argument.text.map { .text(PrintableText.of($0)) } ?? argument)
        }
        do throws(ControlError) { request = try table.request(values) } catch {
            throw Refusal(id: id, sentence: error.message)
        }
    }

    private static let choice = names.dropLast().joined(separator: ", ") + " and " + names[names.count - 1]
}

/// The answer to a command.
struct FleetAnswer: Sendable, Hashable {
    /// Nil if the message had no valid id.
    var id: String?
    /// Whether the command was carried out.
    var isDone: Bool
    /// The reason of a failure, or the name of a screenshot in the state folder; without folders.
    var detail: String?
    /// A command with this id was received before; it was not carried out again.
    var isRepeated = false

    /// The answer as JSON.
    var json: String {
        var members: [(String, JSONValue)] = [("id", .optional(id)), ("done", .flag(isDone))]
        if let detail { members.append(("words", .text(String(detail.prefix(1000))))) }
        if isRepeated { members.append(("repeated", .flag(true))) }
        return JSONValue.object(members).compact
    }
}

extension FleetAnswer {
    /// Creates the answer to a command with a result.
    init(id: String, _ result: Result<JSONValue, ControlError>) {
        switch result {
        case .success(let value):
            self.init(id: id, isDone: true, detail: value["filename"]?.text.map(PrintableText.withoutFolders))
        case .failure(let error):
            self.init(id: id, isDone: false, detail: PrintableText.withoutFolders(error.message))
        }
    }
}
