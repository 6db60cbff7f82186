public import MediaCore

/// An additional header field of HTTP requests (RFC 9110, 5).
public struct HeaderField: Sendable, Hashable {
    /// The field name, a token.
    public let name: String
    /// The field value, without leading blanks.
    public let value: String

    /// Names that the request itself sets, or that could split it into two.
    private static let own: Set<String> = [
        "host", "range", "if-range", "connection", "content-length", "transfer-encoding", "te", "upgrade", "expect",
        "accept-encoding", "proxy-authorization", "proxy-connection",
    ]
    /// Names whose values any server may see. All others may be credentials.
    private static let harmless: Set<String> = [
        "accept", "accept-language", "accept-charset", "dnt", "origin", "referer", "user-agent", "sec-fetch-mode",
        "sec-fetch-site", "sec-fetch-dest",
    ]
    static let longest = 8 << 10
    /// The maximum number of fields in a list.
    package static let maxFields = 64

    /// Parses a field.
    ///
    /// - Parameter text: `Name: value`.
    /// - Throws: For a malformed field, or one that Talkie sets.
    public init(parsing text: String) throws(ValueError) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw ValueError("a header field must have the form 'Name: value'")
        }
        self = try Self(name: String(text[..<colon]), value: String(text[text.utf8.index(after: colon)...]))
    }

    /// Creates a field.
    ///
    /// - Throws: For an invalid name or value, one that is too long, or a field that Talkie sets.
    public init(name: String, value: String) throws(ValueError) {
        let value = String(value.drop { $0 == " " || $0 == "\t" })
        let isToken = name.utf8.allSatisfy {
            (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
                || "!#$%&'*+-.^_`|~".utf8.contains($0)
        }
        guard !name.isEmpty, isToken else { throw ValueError("a header field must have the form 'Name: value'") }
        guard !value.utf8.contains(where: { $0 == 0x7F || ($0 < 0x20 && $0 != 9) }) else {
            throw ValueError("the header field \(name) contains a line break or another control character")
        }
        guard name.utf8.count + value.utf8.count <= Self.longest else {
            throw ValueError("the header field \(name) is too long")
        }
        guard !Self.own.contains(name.lowercased()) else {
            throw ValueError("the header field \(name) is set by Talkie; remove it")
        }
        (self.name, self.value) = (name, value)
    }

    /// Whether the field is only sent to the server of the user-provided address.
    package var isSecret: Bool { !Self.harmless.contains(name.lowercased()) }

    /// Parses a list in mpv's format: fields separated by commas; `\,` is a comma, `\\` a backslash.
    ///
    /// - Throws: For a malformed field, and for more than `maxFields`.
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
        guard fields.count <= maxFields else { throw ValueError("there are more than \(maxFields) header fields") }
        return fields
    }
}
