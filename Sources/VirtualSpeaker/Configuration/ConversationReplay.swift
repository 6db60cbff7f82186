internal import AirPlayWire
internal import MediaCore

/// The responses of a recorded conversation (`ConversationTrace`), so that this speaker responds as the recorded one.
///
/// Pairing, ports and what was replaced in the trace remain this speaker's own. Shared by the connections of a speaker,
/// since a sender that is refused connects again. Any thread.
final class ConversationReplay: Sendable {
    /// A response of the recorded speaker.
    struct Response: Sendable {
        var status: Int
        /// The header fields that do not belong to the connection.
        var headers: [(name: String, value: String)]
        /// The body's property list as JSON; nil: none.
        var list: JSONValue?
    }

    /// The responses to each kind of request, in order; the last one is repeated.
    private let responses: [String: [Response]]
    /// The number of responses given to each kind of request.
    private let positions = Lock<[String: Int]>([:])

    private static let maxBytes = 5 << 20
    private static let maxLines = 10_000
    private static let maxElements = 65_536
    /// The largest binary value that is made up.
    private static let maxData = 4096

    /// Reads a trace file.
    ///
    /// - Throws: `badOption` if it is unreadable or no trace.
    convenience init(file: String) throws(SpeakerError) {
        try self.init(TextFile.contents(file, limit: Self.maxBytes), name: file)
    }

    /// Parses a trace.
    ///
    /// - Throws: `badOption` if it is none.
    init(_ text: String, name: String) throws(SpeakerError) {
        var responses: [String: [Response]] = [:]
        var reader = JSONReader(maxElements: Self.maxElements)
        for line in text.split(whereSeparator: \.isNewline).prefix(Self.maxLines) {
            var line = String(line)
            let value: JSONValue? = line.withUTF8 { reader.read(UnsafeRawBufferPointer($0)).map(JSONValue.init) }
            if case .tooLarge? = reader.failure { continue }
            guard let value else { throw Self.unusable(name) }
            guard let method = value["method"]?.text, let target = value["target"]?.text else { continue }
            guard let status = value["status"]?.integer, (100...999).contains(status) else { continue }
            let isStream = value["body"]?["list"]?["streams"] != nil
            responses[Self.kind(method, target, isStream: isStream), default: []].append(
                Response(
                    status: status, headers: Self.headers(value["reply_headers"]), list: value["reply"]?["list"]))
        }
        if responses.isEmpty { throw Self.unusable(name) }
        self.responses = responses
    }

    private static func unusable(_ name: String) -> SpeakerError {
        SpeakerError(
            .badOption,
            "\"\(name)\" is no trace of a speaker, or it cannot be read; write one with talkie speakers --trace.")
    }

    private static func headers(_ fields: JSONValue?) -> [(name: String, value: String)] {
        guard case .object(let members)? = fields else { return [] }
        return members.compactMap { name, value in
            guard let text = value.text, !isReplaced(text), !isReplaced(name) else { return nil }
            return ["cseq", "content-length", "connection"].contains(name.lowercased()) ? nil : (name, text)
        }
    }

    /// Returns what identifies the requests with the same purpose. The session's URL differs in each session.
    private static func kind(_ method: String, _ target: String, isStream: Bool) -> String {
        "\(method) \(target.hasPrefix("/") ? target : "")\(isStream ? " stream" : "")"
    }

    /// Returns the next recorded response to a request; nil if this speaker responds on its own.
    func next(to request: RTSPRequest) -> Response? {
        if request.target.hasPrefix("/pair-") { return nil }
        // ignored: a malformed body has no streams.
        let isStream = (try? PropertyList(binary: request.body))?["streams"] != nil
        let kind = Self.kind(request.method, String(request.target.prefix { $0 != "?" }), isStream: isStream)
        guard let recorded = responses[kind] else { return nil }
        let position = positions.withLock { positions in
            defer { positions[kind, default: 0] += 1 }
            return positions[kind, default: 0]
        }
        return recorded[min(position, recorded.count - 1)]
    }

    /// Returns the recorded property list with this speaker's own values where they were replaced, and its own ports.
    static func merged(_ recorded: JSONValue, _ own: PropertyList?, of member: String = "") -> PropertyList {
        switch recorded {
        case .integer(let number):
            return member.lowercased().hasSuffix("port") ? own ?? .integer(Int64(number)) : .integer(Int64(number))
        case .real(let number, _): return .real(number)
        case .flag(let flag): return .boolean(flag)
        case .null: return .null
        case .text(let text): return isReplaced(text) ? own ?? .string(text) : .string(text)
        case .array(let elements):
            let others = own?.array ?? []
            return .array(
                elements.enumerated().map { index, element in
                    merged(element, index < others.count ? others[index] : nil, of: member)
                })
        case .object(let members):
            if members.count == 1, let value = special(members[0], own) { return value }
            return .dictionary(
                Dictionary(
                    members.map { name, value in
                        // A replaced name belongs to a member that this speaker does not have.
                        (name, merged(value, own?[name], of: name))
                    }, uniquingKeysWith: { _, last in last }))
        }
    }

    /// Returns the value that an object represents because JSON has no equivalent; nil for others.
    private static func special(_ member: (String, JSONValue), _ own: PropertyList?) -> PropertyList? {
        switch member {
        case ("number", .text(let text)): UInt64(text).map { PropertyList($0) } ?? own ?? 0
        case ("real", let value): value.number.map { .real($0) }
        case ("bytes", .integer(let count)):
            own ?? .data([UInt8](repeating: 0, count: max(0, min(count, maxData))))
        case ("date", _): own ?? .date(0)
        case ("uid", _): own ?? .uid(0)
        default: nil
        }
    }

    private static func isReplaced(_ text: String) -> Bool {
        text.hasPrefix("<") && text.hasSuffix(">") && UInt32(text.dropFirst().dropLast()) != nil
    }
}
