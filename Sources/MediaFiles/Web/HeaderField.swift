public import MediaCore

/// A line that a request to a web server has besides its own (RFC 9110, 5).
public struct HeaderField: Sendable, Hashable {
    public let name: String
    public let value: String

    /// Those that a request needs for itself, or that would break it into two.
    private static let own: Set<String> = [
        "host", "range", "if-range", "connection", "content-length", "transfer-encoding", "te", "upgrade", "expect",
        "accept-encoding", "proxy-authorization", "proxy-connection",
    ]
    /// Those that say nothing that another server may not know. All others may be permissions.
    private static let harmless: Set<String> = [
        "accept", "accept-language", "accept-charset", "dnt", "origin", "referer", "user-agent", "sec-fetch-mode",
        "sec-fetch-site", "sec-fetch-dest",
    ]
    static let longest = 8 << 10
    /// More than anybody writes.
    public static let mostFields = 64

    /// - Parameter text: `Name: value`.
    /// - Throws: for what is no such line, or is one that Talkie writes itself.
    public init(parsing text: String) throws(ValueError) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw ValueError("a header field is written 'Name: value'")
        }
        self = try Self(name: String(text[..<colon]), value: String(text[text.utf8.index(after: colon)...]))
    }

    public init(name: String, value: String) throws(ValueError) {
        let value = String(value.drop { $0 == " " || $0 == "\t" })
        let isToken = name.utf8.allSatisfy {
            (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
                || "!#$%&'*+-.^_`|~".utf8.contains($0)
        }
        guard !name.isEmpty, isToken else { throw ValueError("a header field is written 'Name: value'") }
        guard !value.utf8.contains(where: { $0 == 0x7F || ($0 < 0x20 && $0 != 9) }) else {
            throw ValueError("the header field \(name) holds a line break or another control character")
        }
        guard name.utf8.count + value.utf8.count <= Self.longest else {
            throw ValueError("the header field \(name) is too long")
        }
        guard !Self.own.contains(name.lowercased()) else {
            throw ValueError("the header field \(name) is Talkie's own affair; leave it out")
        }
        (self.name, self.value) = (name, value)
    }

    /// Whether only the server that a person named may see it.
    package var isSecret: Bool { !Self.harmless.contains(name.lowercased()) }

    /// A list as mpv has it: fields separated by commas; `\,` is a comma, `\\` a backslash.
    public static func list(parsing text: String) throws(ValueError) -> [HeaderField] {
        var (parts, part, isEscaped) = ([String](), "", false)
        for character in text {
            if isEscaped {
                if character != ",", character != "\\" { part.append("\\") }
                part.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "," {
                parts.append(part)
                part = ""
            } else {
                part.append(character)
            }
        }
        if isEscaped { part.append("\\") }
        parts.append(part)
        var fields: [HeaderField] = []
        for part in parts where !part.isEmpty { fields.append(try HeaderField(parsing: part)) }
        guard fields.count <= mostFields else { throw ValueError("these are more than \(mostFields) header fields") }
        return fields
    }
}
