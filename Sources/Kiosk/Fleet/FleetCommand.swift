internal import MediaCore

/// What somebody wants of a kiosk from elsewhere: `{"id": "7f3", "do": "volume", "volume": 40}`.
package struct FleetCommand: Sendable, Hashable {
    package enum Action: Sendable, Hashable {
        case next
        case previous
        case pause
        case play
        /// Reads the configuration again.
        case reload
        case screenshot
        /// 0…130.
        case volume(Double)
        /// Shows the slate, with these words beside its own, until it is to play again.
        case slate(String?)
    }

    /// Names the command; an answer has it, too.
    package var id: String
    package var action: Action

    package init(id: String, action: Action) { (self.id, self.action) = (id, action) }

    /// Larger messages are nothing that anybody wants of a kiosk.
    package static let mostBytes = 4096
    private static let longestID = 64
    private static let longestWords = 500

    /// Why something is no command, with its id where it has one.
    struct Refusal: Error, Hashable {
        var id: String?
        var sentence: String
    }

    /// The words that `do` knows.
    static let words = ["next", "previous", "pause", "play", "reload", "screenshot", "volume", "slate"]

    /// Reads a message.
    init(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
        guard bytes.count <= Self.mostBytes else {
            throw Refusal(id: nil, sentence: "A command has at most \(Self.mostBytes) bytes.")
        }
        guard let object = FlatObject(bytes) else {
            throw Refusal(id: nil, sentence: "A command is a JSON object, as {\"id\": \"1\", \"do\": \"next\"}.")
        }
        let id = object.text("id") ?? object.whole("id").map(String.init) ?? ""
        guard (1...Self.longestID).contains(id.utf8.count) else {
            throw Refusal(
                id: nil, sentence: "A command needs an id of at most \(Self.longestID) bytes, which its answer names.")
        }
        self.id = id
        guard let word = object.text("do") else {
            throw Refusal(id: id, sentence: "“do” says what is wanted: \(Self.choice).")
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
            throw Refusal(id: id, sentence: "There is nothing called “\(said)” to do; there is \(Self.choice).")
        }
    }

    private static let choice = words.dropLast().joined(separator: ", ") + " and " + words[words.count - 1]
}

/// What came of a command.
package struct FleetAnswer: Sendable, Hashable {
    /// Nil answers something that had none.
    package var id: String?
    package var isDone: Bool
    /// What a person should know: why not, or where the screenshot lies.
    package var words: String?
    /// The same id came before; nothing was done this time.
    package var isRepeated = false

    package init(id: String?, isDone: Bool, words: String? = nil) {
        (self.id, self.isDone, self.words) = (id, isDone, words)
    }

    package var json: String {
        var members: [(String, JSONValue)] = [("id", .optional(id)), ("done", .flag(isDone))]
        if let words { members.append(("words", .text(String(words.prefix(1000))))) }
        if isRepeated { members.append(("repeated", .flag(true))) }
        return JSONValue.object(members).compact
    }
}
