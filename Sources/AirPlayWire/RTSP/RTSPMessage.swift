/// The header fields of a message, in order; names are case-insensitive (RFC 9110, section 5.1).
package struct RTSPHeaders: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    package struct Field: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    package private(set) var fields: [Field] = []

    init() {}
    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }

    /// Adds a field. Line breaks are removed, which prevents header injection.
    package mutating func append(_ name: String, _ value: String) {
        func clean(_ text: String) -> String {
            String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\r" && $0 != "\n" }))
        }
        fields.append(Field(name: clean(name), value: clean(value)))
    }

    /// Returns the first field with this name.
    package subscript(name: String) -> String? {
        let wanted = name.lowercased()
        return fields.first { $0.name.lowercased() == wanted }?.value
    }
}

/// A request: this sender's, or a receiver's on the event channel.
package struct RTSPRequest: Hashable, Sendable {
    package var method: String
    /// A path such as `/info`, or the session's URL.
    package var target: String
    package var version: String
    package var headers: RTSPHeaders
    package var body: [UInt8]

    package init(
        _ method: String, _ target: String, version: String = "RTSP/1.0", headers: RTSPHeaders = [:],
        body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.version = version
        self.headers = headers
        self.body = body
    }

    /// Returns the serialized request, always with `Content-Length`.
    package func encoded() -> [UInt8] {
        encode(line: "\(method) \(target) \(version)", headers: headers, body: body, alwaysCounted: true)
    }
}

/// The response to a request.
package struct RTSPResponse: Hashable, Sendable {
    package var version: String
    package var status: Int
    var reason: String
    package var headers: RTSPHeaders
    package var body: [UInt8]

    package init(
        status: Int, reason: String = "OK", version: String = "RTSP/1.0", headers: RTSPHeaders = [:],
        body: [UInt8] = []
    ) {
        self.version = version
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body
    }

    /// `CSeq` of the request; nil if absent or not a number.
    package var sequence: Int? { headers["CSeq"].flatMap { Int($0) } }

    /// Returns the serialized response, with `Content-Length` only if there is a body. Some receivers stop responding
    /// if a response on the event channel contains more than status and `CSeq`.
    package func encoded() -> [UInt8] {
        encode(line: "\(version) \(status) \(reason)", headers: headers, body: body, alwaysCounted: false)
    }
}

private func encode(line: String, headers: RTSPHeaders, body: [UInt8], alwaysCounted: Bool) -> [UInt8] {
    var text = line + "\r\n"
    for field in headers.fields { text += "\(field.name): \(field.value)\r\n" }
    if alwaysCounted || !body.isEmpty { text += "Content-Length: \(body.count)\r\n" }
    text += "\r\n"
    return Array(text.utf8) + body
}

/// A request or a response.
package enum RTSPMessage: Hashable, Sendable {
    case request(RTSPRequest)
    case response(RTSPResponse)
}
