internal import MediaCore

/// A command received from the broker: `{"id": "7f3", "do": "volume", "volume": 40}`.
package struct FleetCommand: Sendable, Hashable {
    package enum Action: Sendable, Hashable {
        case next
        case previous
        case pause
        case play
        /// Reloads the configuration.
        case reload
        case screenshot
        /// 0…130.
        case volume(Double)
        /// Pauses and shows a slate with this text until `play`; nil: the default text.
        case slate(String?)
    }

    /// Identifies the command; its answer contains the same id.
    package var id: String
    var action: Action

    package init(id: String, action: Action) { (self.id, self.action) = (id, action) }

    /// The maximum size of a message in bytes.
    static let maxBytes = 4096
    private static let longestID = 64
    private static let longestWords = 500

    /// The reason why a message is not a valid command, with its id if present.
    struct Refusal: Error, Hashable {
        var id: String?
        var sentence: String
    }

    /// The valid values of `do`.
    static let words = ["next", "previous", "pause", "play", "reload", "screenshot", "volume", "slate"]

    /// Parses a message.
    init(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
        guard bytes.count <= Self.maxBytes else {
            throw Refusal(id: nil, sentence: "A command has at most \(Self.maxBytes) bytes.")
        }
        guard let object = JSONNode(object: bytes) else {
            throw Refusal(id: nil, sentence: "A command is a JSON object, as {\"id\": \"1\", \"do\": \"next\"}.")
        }
        let id = object.text("id") ?? object.whole("id").map(String.init) ?? ""
        guard (1...Self.longestID).contains(id.utf8.count) else {
            throw Refusal(
                id: nil,
                sentence: "A command needs an id of at most \(Self.longestID) bytes, which its answer contains.")
        }
        self.id = id
        guard let word = object.text("do") else {
            throw Refusal(id: id, sentence: "“do” must be one of: \(Self.choice).")
        }
        switch word {
        case "next": action = .next
        case "previous": action = .previous
        case "pause": action = .pause
        case "play": action = .play
        case "reload": action = .reload
        case "screenshot": action = .screenshot
        case "volume":
            guard let volume = object.real("volume"), (0...130).contains(volume) else {
                throw Refusal(id: id, sentence: "“volume” is a number from 0 to 130.")
            }
            action = .volume(volume)
        case "slate":
            let words = object.text("words")
            guard words?.utf8.count ?? 0 <= Self.longestWords else {
                throw Refusal(id: id, sentence: "The words of a slate have at most \(Self.longestWords) bytes.")
            }
            action = .slate(words)
        default:
            let said = PrintableText.truncated(word, to: 40)
            throw Refusal(id: id, sentence: "Unknown command “\(said)”; choose one of \(Self.choice).")
        }
    }

    private static let choice = words.dropLast().joined(separator: ", ") + " and " + words[words.count - 1]
}

/// The answer to a command.
struct FleetAnswer: Sendable, Hashable {
    /// Nil if the message had no valid id.
    var id: String?
    /// Whether the command was carried out.
    var isDone: Bool
    /// The reason of a failure, or the path of a screenshot.
    var words: String?
    /// A command with this id was received before; it was not carried out again.
    var isRepeated = false

    /// The answer as JSON.
    var json: String {
        var members: [(String, JSONValue)] = [("id", .optional(id)), ("done", .flag(isDone))]
        if let words { members.append(("words", .text(String(words.prefix(1000))))) }
        if isRepeated { members.append(("repeated", .flag(true))) }
        return JSONValue.object(members).compact
    }
}
