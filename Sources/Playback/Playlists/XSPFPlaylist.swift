internal import Storage

/// XSPF version 1 (xspf.org): the first `location` of each `track`, and its `title`.
///
/// A dedicated scanner instead of an XML parser. It supports no document types, and only character references and the
/// five entities of XML 1.0. A file can therefore neither expand nor fetch anything.
enum XSPFPlaylist {
    static func entries(in text: [UInt8], limit: Int) -> [PlaylistEntry] {
        var scanner = Scanner(bytes: text)
        var entries: [PlaylistEntry] = []
        var isInTrack = false
        var location: String?
        var title: String?
        var content: [UInt8] = []
        while let piece = scanner.next() {
            switch piece {
            case .text(let bytes):
                // Titles and locations are shorter; longer content is neither.
                if content.count + bytes.count <= 65536 { content.append(contentsOf: bytes) }
            case .open(let name):
                content.removeAll(keepingCapacity: true)
                if name == "track" {
                    isInTrack = true
                    location = nil
                    title = nil
                }
            case .close(let name):
                let value = PlaylistText.decoded(PlaylistText.trimmed(content[...].filter { $0 >= 0x20 }[...]))
                content.removeAll(keepingCapacity: true)
                if name == "location", isInTrack, location == nil, !value.isEmpty { location = value }
                if name == "title", isInTrack, title == nil, !value.isEmpty { title = value }
                guard name == "track", isInTrack else { continue }
                isInTrack = false
                guard let location else { continue }
                entries.append(PlaylistEntry(location: Self.path(of: location), title: title))
                if entries.count >= limit { return entries }
            }
        }
        return entries
    }

    /// Returns the path of a location. Locations are URIs: without a scheme, a percent-encoded path.
    private static func path(of location: String) -> String {
        InputCheck.isAddress(location) ? location : PlaylistText.removingPercentEncoding(location)
    }

    private enum Piece {
        case open(String)
        case close(String)
        case text([UInt8])
    }

    private struct Scanner {
        let bytes: [UInt8]
        var position = 0
        /// The name of a self-closing element whose end is still to be returned.
        var owedClose: String?

        mutating func next() -> Piece? {
            if let name = owedClose {
                owedClose = nil
                return .close(name)
            }
            while position < bytes.count {
                guard bytes[position] == UInt8(ascii: "<") else {
                    let end = bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
                    defer { position = end }
                    return .text(Self.replacingEntities(bytes[position..<end]))
                }
                if starts(with: "<!--") {
                    skip(past: "-->")
                } else if starts(with: "<![CDATA[") {
                    let start = position + 9
                    skip(past: "]]>")
                    return .text(Array(bytes[min(start, bytes.count)..<max(min(start, bytes.count), position - 3)]))
                } else if starts(with: "<?") {
                    skip(past: "?>")
                } else if starts(with: "<!") {
                    skip(past: ">")
                } else {
                    let start = position + 1
                    skip(past: ">")
                    if let piece = tag(bytes[min(start, bytes.count)..<max(min(start, bytes.count), position - 1)]) {
                        return piece
                    }
                }
            }
            return nil
        }

        private func starts(with text: StaticString) -> Bool {
            text.withUTF8Buffer { bytes[position...].starts(with: $0) }
        }

        /// Moves past the next occurrence; to the end if there is none.
        private mutating func skip(past text: StaticString) {
            let count = text.utf8CodeUnitCount
            text.withUTF8Buffer { wanted in
                while position + count <= bytes.count {
                    if bytes[position..<(position + count)].elementsEqual(wanted) {
                        position += count
                        return
                    }
                    position += 1
                }
                position = bytes.count
            }
        }

        private mutating func tag(_ inside: ArraySlice<UInt8>) -> Piece? {
            let isClose = inside.first == UInt8(ascii: "/")
            let isEmpty = inside.last == UInt8(ascii: "/")
            let name = (isClose ? inside.dropFirst() : inside).prefix { $0 > 0x20 && $0 != UInt8(ascii: "/") }
            // Only the local name counts: "xspf:track" is a track.
            let local = name.split(separator: UInt8(ascii: ":")).last ?? name
            guard !local.isEmpty, local.count <= 64 else { return nil }
            let text = PlaylistText.decoded(local)
            if isClose { return .close(text) }
            if isEmpty { owedClose = text }
            return .open(text)
        }

        private static func replacingEntities(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            guard bytes.contains(UInt8(ascii: "&")) else { return Array(bytes) }
            var result: [UInt8] = []
            var index = bytes.startIndex
            while index < bytes.endIndex {
                if bytes[index] == UInt8(ascii: "&"),
                    let end = bytes[index...].prefix(12).firstIndex(of: UInt8(ascii: ";")),
                    let character = entity(bytes[(index + 1)..<end])
                {
                    result.append(contentsOf: String(character).utf8)
                    index = end + 1
                } else {
                    result.append(bytes[index])
                    index += 1
                }
            }
            return result
        }

        /// Returns the character of an entity: XML 1.0, 4.1 and 4.6.
        private static func entity(_ name: ArraySlice<UInt8>) -> Unicode.Scalar? {
            let name = String(decoding: name, as: UTF8.self)
            switch name {
            case "amp": return "&"
            case "lt": return "<"
            case "gt": return ">"
            case "quot": return "\""
            case "apos": return "'"
            default: break
            }
            guard name.hasPrefix("#") else { return nil }
            let isHex = name.hasPrefix("#x")
            return UInt32(name.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10).flatMap(Unicode.Scalar.init)
        }
    }
}
