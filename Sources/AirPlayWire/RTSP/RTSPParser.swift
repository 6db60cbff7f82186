/// An incremental parser of RTSP and HTTP messages; chunk boundaries are arbitrary.
///
/// Input is untrusted. A head larger than `headLimit` is an error, as is a `Content-Length` larger than `bodyLimit`.
/// After an error every later call throws, because the framing is lost.
package struct RTSPParser: Sendable {
    /// Maximum size of start line and headers in bytes.
    package static let headLimit = 64 << 10
    /// Default maximum size of a body in bytes.
    package static let bodyLimit = 8 << 20

    private var buffer: [UInt8] = []
    /// Index in `buffer` where the next message begins.
    private var start = 0
    /// No end of a head before this index; the search continues here.
    private var searched = 0
    /// A parsed head whose body of `length` bytes is incomplete.
    private var pending: (message: RTSPMessage, length: Int)?
    private var failure: WireError?

    /// Maximum size of a body, applied from the next head on; lower for unauthenticated peers.
    package var bodyLimit: Int

    /// - Parameter bodyLimit: maximum size of a body in bytes.
    package init(bodyLimit: Int = Self.bodyLimit) { self.bodyLimit = bodyLimit }

    /// The number of buffered bytes that form no complete message.
    package var heldBytes: Int { buffer.count - start }

    /// True while an incomplete message is buffered.
    package var isPartial: Bool { pending != nil || heldBytes > 0 }

    /// Appends received bytes; call `next` afterwards until it returns nil.
    package mutating func append(_ bytes: some Collection<UInt8>) {
        if failure != nil { return }
        if start > 0 {
            buffer.removeSubrange(..<start)
            searched -= start
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Returns the next complete message; nil if more bytes are needed.
    package mutating func next() throws(WireError) -> RTSPMessage? {
        if let failure { throw failure }
        do {
            return try read()
        } catch {
            failure = error
            buffer = []
            (start, searched) = (0, 0)
            throw error
        }
    }

    private mutating func read() throws(WireError) -> RTSPMessage? {
        if pending == nil {
            guard let head = try readHead() else { return nil }
            pending = try Self.parse(head, bodyLimit: bodyLimit)
        }
        guard let (message, length) = pending, buffer.count - start >= length else { return nil }
        let body = Array(buffer[start..<(start + length)])
        start += length
        searched = start
        pending = nil
        switch message {
        case .request(var request):
            request.body = body
            return .request(request)
        case .response(var response):
            response.body = body
            return .response(response)
        }
    }

    /// Returns the lines of a head without the terminating blank line; nil if it is incomplete.
    private mutating func readHead() throws(WireError) -> [String]? {
        // Blank lines before a message are ignored (RFC 9112, section 2.2).
        while start < buffer.count, buffer[start] == 0x0D || buffer[start] == 0x0A { start += 1 }
        if start < buffer.count, !Self.isLetter(buffer[start]) {
            throw .malformed("The speaker sent data that is not an RTSP message.")
        }
        searched = max(searched, start)
        var index = searched
        while index < buffer.count {
            defer { index += 1 }
            guard buffer[index] == 0x0A else { continue }
            let blank =
                (index >= start + 1 && buffer[index - 1] == 0x0A)
                || (index >= start + 2 && buffer[index - 1] == 0x0D && buffer[index - 2] == 0x0A)
            guard blank else { continue }
            guard index - start <= Self.headLimit else { throw Self.headTooLong }
            let head = buffer[start..<index]
            start = index + 1
            searched = start
            return head.split(separator: 0x0A).map { line in
                String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
            }.filter { !$0.isEmpty }
        }
        searched = buffer.count
        guard buffer.count - start <= Self.headLimit else { throw Self.headTooLong }
        return nil
    }

    /// Methods and the names of both protocols begin with a letter.
    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }

    /// Parses start line and headers; `length` is the size of the body.
    private static func parse(_ lines: [String], bodyLimit: Int) throws(WireError) -> (
        message: RTSPMessage, length: Int
    ) {
        guard let first = lines.first else { throw .malformed("The speaker sent a message without a first line.") }
        var headers = RTSPHeaders()
        for line in lines.dropFirst() {
            guard let colon = line.utf8.firstIndex(of: 0x3A) else {
                throw .malformed("The speaker sent a header line without a colon.")
            }
            headers.append(trimmed(line[..<colon]), trimmed(line[line.index(after: colon)...]))
        }
        var length = 0
        if let text = headers["Content-Length"] {
            guard let value = Int(text), value >= 0 else {
                throw .malformed("The speaker sent a body whose length is not a number.")
            }
            guard value <= bodyLimit else {
                throw .tooMuch("The speaker announced a body of \(value) bytes; more than \(bodyLimit) is refused.")
            }
            length = value
        }
        let fields = first.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true).map(String.init)
        if first.hasPrefix("RTSP/") || first.hasPrefix("HTTP/") {
            guard fields.count >= 2, let status = Int(fields[1]), (100...999).contains(status) else {
                throw .malformed("The speaker sent a response without a status.")
            }
            let response = RTSPResponse(
                status: status, reason: fields.count > 2 ? fields[2] : "", version: fields[0], headers: headers)
            return (.response(response), length)
        }
        guard fields.count == 3, fields[2].hasPrefix("RTSP/") || fields[2].hasPrefix("HTTP/") else {
            throw .malformed("The speaker sent a first line that is neither a request nor a response.")
        }
        return (.request(RTSPRequest(fields[0], fields[1], version: fields[2], headers: headers)), length)
    }

    private static func trimmed(_ text: Substring) -> String {
        let blank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var rest = text.drop(while: blank)
        while let last = rest.last, blank(last) { rest.removeLast() }
        return String(rest)
    }

    private static let headTooLong = WireError.tooMuch(
        "The speaker sent a message head of more than \(headLimit) bytes.")
}
