internal import MediaCore

/// The status line and header fields of an HTTP response (RFC 9112, 4 and 5).
struct HTTPResponse: Sendable {
    var status: Int
    private let isHTTP11: Bool
    private(set) var fields: [(name: String, value: String)] = []
    /// Whether fields were ignored, one of which may state another length.
    private let isCut: Bool

    /// The maximum size of status line and header fields in bytes.
    static let largestHead = 64 << 10
    private static let maxFields = 256

    /// Returns the index after the empty line that ends the header; nil if it is incomplete.
    static func end(in bytes: [UInt8], from start: Int) -> Int? {
        var index = max(0, start)
        while index < bytes.count {
            // An empty line; some servers send bare line feeds.
            if bytes[index] == 0x0A {
                if index + 1 < bytes.count, bytes[index + 1] == 0x0A { return index + 2 }
                if index + 2 < bytes.count, bytes[index + 1] == 0x0D, bytes[index + 2] == 0x0A { return index + 3 }
            }
            index += 1
        }
        return nil
    }

    /// Parses a header; nil if it is not an HTTP response.
    init?(_ head: ArraySlice<UInt8>) {
        var lines = head.split(separator: 0x0A).map { $0.last == 0x0D ? $0.dropLast() : $0 }[...]
        guard let first = lines.popFirst() else { return nil }
        let tokens = first.split(separator: 0x20)
        // Shoutcast servers respond with "ICY 200 OK".
        guard tokens.count >= 2, tokens[0].starts(with: Array("HTTP/".utf8)) || tokens[0].elementsEqual("ICY".utf8),
            tokens[1].count == 3, let status = Int(String(decoding: tokens[1], as: UTF8.self)),
            (100...599).contains(status)
        else { return nil }
        self.status = status
        isHTTP11 = tokens[0].elementsEqual("HTTP/1.1".utf8)
        isCut = lines.count > Self.maxFields
        for line in lines.prefix(Self.maxFields) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == 0x20 || $0 == 0x09 }
            fields.append(
                (
                    String(decoding: line[..<colon], as: UTF8.self).lowercased(),
                    String(decoding: value.prefix(value.count), as: UTF8.self)
                ))
        }
    }

    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    func all(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    var length: Int64? { self["content-length"].flatMap { Int64(boundedBytes: Self.trimmed($0)) } }

    var isChunked: Bool { self["transfer-encoding"]?.lowercased().contains("chunked") ?? false }

    /// Whether another request may follow on the connection (RFC 9112, 9.3). Only for a body whose length is stated
    /// once: its end is unambiguous.
    var isPersistent: Bool {
        isHTTP11 && !isCut && !isChunked && length != nil && all("content-length").count == 1
            && !all("connection").contains { $0.lowercased().contains("close") }
    }

    /// The value of `Content-Range`, such as `bytes 0-99/1000` (RFC 9110, 14.4): first byte of the body, and total
    /// size.
    var range: (first: Int64, total: Int64?)? {
        guard let text = self["content-range"], text.lowercased().hasPrefix("bytes ") else { return nil }
        let components = text.dropFirst(6).split(separator: "/")
        guard
            let first = components.first?.split(separator: "-").first.flatMap({
                Int64(boundedBytes: Self.trimmed(String($0)))
            })
        else { return nil }
        return (first, components.count > 1 ? Int64(boundedBytes: Self.trimmed(String(components[1]))) : nil)
    }

    /// The validator for `If-Range` (RFC 9110, 13.1.5); weak ones are not allowed.
    var validator: String? {
        if let tag = self["etag"], !tag.hasPrefix("W/"), tag.utf8.count < 1024 { return tag }
        return nil
    }

    private static func trimmed(_ text: String) -> String {
        String(text.filter { $0 != " " && $0 != "\t" && $0 != "\r" })
    }
}

/// The remaining body of a response and its framing (RFC 9112, 6).
struct WebBody: Sendable {
    private enum Framing { case length(Int64), chunk(left: Int64, isFirst: Bool), untilClosed }
    private var framing: Framing
    private(set) var isComplete = false

    enum Failure: Error { case malformed }

    init(_ answer: HTTPResponse) {
        if answer.isChunked {
            framing = .chunk(left: 0, isFirst: true)
        } else if let length = answer.length {
            framing = .length(length)
            isComplete = length == 0
        } else {
            framing = .untilClosed
        }
    }

    /// Whether the body ends when the connection is closed.
    var endsWithConnection: Bool {
        if case .untilClosed = framing { return true }
        return false
    }

    /// The number of bytes that can be read directly from the connection; nil at a chunk header.
    var plain: Int64? {
        switch framing {
        case .length(let left): left
        case .untilClosed: .max
        case .chunk(let left, _): left > 0 ? left : nil
        }
    }

    /// Counts bytes of `plain` that were read from the connection.
    mutating func passed(_ count: Int) {
        switch framing {
        case .length(let left):
            framing = .length(left - Int64(count))
            isComplete = left == Int64(count)
        case .chunk(let left, _): framing = .chunk(left: left - Int64(count), isFirst: false)
        case .untilClosed: break
        }
    }

    /// Moves body bytes from `bytes` to `target`.
    ///
    /// - Returns: The number of bytes stored in `target`; 0 if more input is needed or the body is complete.
    /// - Throws: `malformed` for an invalid chunk header.
    mutating func moveBody(
        from bytes: inout ArraySlice<UInt8>, into target: UnsafeMutableBufferPointer<UInt8>
    ) throws(Failure) -> Int {
        switch framing {
        case .untilClosed: return Self.move(&bytes, target, .max)
        case .length(let left):
            let count = Self.move(&bytes, target, left)
            framing = .length(left - Int64(count))
            isComplete = left == Int64(count)
            return count
        case .chunk(var left, var isFirst):
            while left == 0 {
                guard let end = bytes.firstIndex(of: 0x0A) else {
                    if bytes.count > 1024 { throw .malformed }
                    framing = .chunk(left: 0, isFirst: isFirst)
                    return 0
                }
                let line = bytes[..<end].filter { $0 != 0x0D }
                bytes = bytes[bytes.index(after: end)...]
                // An empty line precedes the size of every chunk but the first.
                if line.isEmpty, !isFirst {
                    isFirst = true
                    continue
                }
                let digits = String(decoding: line.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 }, as: UTF8.self)
                guard let size = Int64(digits, radix: 16)?.boundedBytes else { throw .malformed }
                if size == 0 {
                    isComplete = true
                    return 0
                }
                left = size
            }
            let count = Self.move(&bytes, target, left)
            framing = .chunk(left: left - Int64(count), isFirst: false)
            return count
        }
    }

    private static func move(
        _ bytes: inout ArraySlice<UInt8>, _ target: UnsafeMutableBufferPointer<UInt8>, _ maxBytes: Int64
    ) -> Int {
        let count = min(bytes.count, target.count, Int(clamping: maxBytes))
        _ = target.update(fromContentsOf: bytes.prefix(count))
        bytes = bytes.dropFirst(count)
        return count
    }
}
