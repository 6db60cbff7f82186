internal import MediaCore
internal import Playback

/// A line of a client: a request in JSON, or commands as text, which have no reply (mpv's manual, "JSON IPC").
enum IPCRequest {
    case none
    case text([[JSONValue]])
    case json(Message)

    /// A request in JSON.
    struct Message {
        /// Copied into the reply.
        let id: JSONValue
        /// Whether later requests are executed before this one has ended.
        var isAsync = false
        /// The command and its arguments, or what is wrong with them.
        let arguments: Result<[JSONValue], IPCError>

        /// Returns the reply.
        func reply(_ result: Result<JSONValue, IPCError>) -> JSONValue {
            switch result {
            case .success(let data): .object([("data", data), ("request_id", id), ("error", .text("success"))])
            case .failure(let error):
                .object(
                    [("request_id", id), ("error", .text(error.message)), ("reason", .text(error.reason))]
                        + (error.code.map { [("code", .text($0))] } ?? []))
            }
        }
    }

    /// Maximum number of values and names in a request.
    private static let maxElements = 8192

    /// Parses a line.
    ///
    /// - Parameter table: Names the parameters of commands.
    init(_ line: [UInt8], _ table: ControlTable) {
        let content = line.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        switch content.first {
        case nil, UInt8(ascii: "#"): self = .none
        case UInt8(ascii: "{"): self = .json(line.withUnsafeBytes { Self.message($0, table) })
        default:
            // A request without a reply: errors are not reported.
            let text = String(validating: content, as: UTF8.self)
            // ignored: see above.
            let commands = text.flatMap { try? CommandText.commands(in: $0, from: .client) }
            self = commands.map { .text($0.map { list in list.map(JSONValue.text) }) } ?? .none
        }
    }

    private static func message(_ bytes: UnsafeRawBufferPointer, _ table: ControlTable) -> Message {
        var reader = JSONReader(maxElements: maxElements)
        guard let node = reader.read(bytes), node.isObject else {
            return Message(id: .integer(0), arguments: .failure(.invalid(reason(reader.failure))))
        }
        let id = node["request_id"].map(JSONValue.init)
        do throws(IPCError) {
            var isAsync = false
            if let node = node["async"] {
                guard let flag = JSONValue(node).flag else { throw .invalid("“async” must be true or false") }
                isAsync = flag
            }
            guard !isAsync || id?.integer != nil else {
                throw .invalid("a request with “async” needs an integer as “request_id”")
            }
            let list = try argumentList(node, table)
            return Message(id: id ?? .integer(0), isAsync: isAsync, arguments: .success(list))
        } catch {
            return Message(id: id ?? .integer(0), arguments: .failure(error))
        }
    }

    private static func reason(_ failure: JSONReader.Failure?) -> String {
        switch failure {
        case nil: "a request must be a JSON object"
        case .malformed(let offset): "the JSON text is invalid at byte \(offset)"
        case .tooDeep: "the JSON text is nested more than \(JSONReader.maxDepth) times"
        case .tooLarge: "the JSON text has more than \(maxElements) values"
        }
    }

    private static func argumentList(_ node: JSONNode, _ table: ControlTable) throws(IPCError) -> [JSONValue] {
        guard let command = node["command"] else { throw .invalid("“command” is missing") }
        switch JSONValue(command) {
        case .array(let list):
            guard list.first?.text != nil else { throw .invalid("the name of the command is missing") }
            return list
        case .object(let members): return try argumentList(named: members, table)
        default: throw .invalid("“command” must be an array or an object")
        }
    }

    /// Returns the words of a command with named arguments.
    private static func argumentList(
        named members: [(String, JSONValue)], _ table: ControlTable
    ) throws(IPCError) -> [JSONValue] {
        var arguments = Dictionary(members) { $1 }
        guard let name = arguments.removeValue(forKey: "name"), let command = name.text.flatMap({ table.commands[$0] })
        else { throw .invalid("“name” must be the name of a command") }
        var list = [name]
        for (index, parameter) in command.parameters.enumerated() {
            guard let value = arguments.removeValue(forKey: parameter.name) else { continue }
            // Omitted arguments have no place in a list of words.
            guard list.count == index + 1 else {
                throw .invalid("\(command.name): \(command.parameters[list.count - 1].name) is missing")
            }
            list.append(value)
        }
        guard arguments.isEmpty else {
            throw .invalid("the arguments of \(command.name) are \(command.parameters.map(\.name))")
        }
        return list
    }
}
