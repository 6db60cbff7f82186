/// Reads the tags and texts of an XML 1.0 document in order.
///
/// Document types are skipped; only XML's five entities and character references are decoded. Nothing expands or is
/// fetched.
package struct MarkupScanner {
    package enum Piece {
        /// The start of an element: its name without prefix, and the bytes of its attributes. An empty element is
        /// followed by its end.
        case open(String, attributes: ArraySlice<UInt8>)
        case close(String)
        case text([UInt8])
        case documentType
        /// A tag without a name, or the end of the document in a tag, comment or section.
        case malformed
    }

    private let bytes: [UInt8]
    /// The number of bytes that were read.
    package private(set) var position = 0
    /// The name of an empty element whose end is still to be returned.
    private var owedClose: String?

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the next piece; nil at the end.
    package mutating func next() -> Piece? {
        if let name = owedClose.take() { return .close(name) }
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "<") else {
                let start = position
                position = bytes[start...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
                return .text(Self.decoded(bytes[start..<position]))
            }
            if begins("<!--") || begins("<?") {
                guard skip(past: begins("<?") ? "?>" : "-->") != nil else { return .malformed }
            } else if begins("<![CDATA[") {
                guard let section = skip(past: "]]>") else { return .malformed }
                return .text(Array(section.dropFirst(9)))
            } else if begins("<!") {
                return skip(past: ">") == nil ? .malformed : .documentType
            } else {
                return tag()
            }
        }
        return nil
    }

    private func begins(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[position...].starts(with: $0) }
    }

    /// Moves past the next occurrence of a text, and returns the bytes before it; nil at the end without one.
    private mutating func skip(past text: StaticString) -> ArraySlice<UInt8>? {
        let (start, count) = (position, text.utf8CodeUnitCount)
        return text.withUTF8Buffer { wanted in
            while position + count <= bytes.count,
                let found = bytes[position...(bytes.count - count)].firstIndex(of: wanted[0])
            {
                position = found + 1
                if bytes[found..<found + count].elementsEqual(wanted) {
                    position = found + count
                    return bytes[start..<found]
                }
            }
            position = bytes.count
            return nil
        }
    }

    private mutating func tag() -> Piece {
        // A quoted ">" does not end a tag.
        var (end, quote) = (position + 1, UInt8(0))
        while end < bytes.count, quote != 0 || bytes[end] != UInt8(ascii: ">") {
            if quote != 0 {
                if bytes[end] == quote { quote = 0 }
            } else if bytes[end] == 0x22 || bytes[end] == 0x27 {
                quote = bytes[end]
            }
            end += 1
        }
        var tag = bytes[position + 1..<end]
        position = min(end + 1, bytes.count)
        guard end < bytes.count else { return .malformed }
        let isClose = tag.first == UInt8(ascii: "/")
        let isEmpty = !isClose && tag.last == UInt8(ascii: "/")
        tag = isClose ? tag.dropFirst() : isEmpty ? tag.dropLast() : tag
        let name = tag.prefix { !Self.isSpace($0) }
        if isClose { return .close(Self.localName(name)) }
        guard !name.isEmpty else { return .malformed }
        if isEmpty { owedClose = Self.localName(name) }
        return .open(Self.localName(name), attributes: tag[name.endIndex...])
    }

    package static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Returns a name without its prefix: "xspf:track" is a track.
    package static func localName(_ name: ArraySlice<UInt8>) -> String {
        String(decoding: name.split(separator: UInt8(ascii: ":")).last ?? [], as: UTF8.self)
    }

    /// Replaces entities; unknown ones stay as they are.
    package static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var (result, rest) = ([UInt8](), bytes)
        while let ampersand = rest.firstIndex(of: UInt8(ascii: "&")) {
            result += rest[..<ampersand]
            rest = rest[ampersand...]
            if let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")), let character = entity(rest[..<end]) {
                result += String(character).utf8
                rest = rest[(end + 1)...]
            } else {
                result.append(rest.removeFirst())
            }
        }
        return result + rest
    }

    private static let named: [String: Unicode.Scalar] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

    /// Returns the character of an entity, which begins with an ampersand: XML 1.0, 4.1 and 4.6.
    private static func entity(_ bytes: ArraySlice<UInt8>) -> Unicode.Scalar? {
        let name = String(decoding: bytes.dropFirst(), as: UTF8.self)
        if let character = named[name] { return character }
        guard name.hasPrefix("#") else { return nil }
        let isHex = name.hasPrefix("#x")
        return UInt32(name.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10).flatMap(Unicode.Scalar.init)
    }
}
