internal import MediaCore

/// An element of an XML 1.0 document: names without prefixes, attributes, children, and direct text. Document types are
/// rejected; only XML's five entities and character references are decoded. Nothing expands or is fetched.
struct MarkupElement: Sendable {
    let name: String
    private(set) var attributes: [String: String] = [:]
    private(set) var children: [MarkupElement] = []
    private(set) var text = ""

    static let maxElements = 200_000
    private static let deepest = 32
    private static let maxAttributes = 64
    private static let longestText = 64 << 10

    func all(_ name: String) -> [MarkupElement] { children.filter { $0.name == name } }
    func first(_ name: String) -> MarkupElement? { children.first { $0.name == name } }

    private init(_ name: String) { self.name = name }

    /// Parses a document and returns its root; nil if it is malformed or exceeds the limits.
    init?(_ bytes: [UInt8]) {
        var open: [MarkupElement] = []
        var (count, position) = (0, 0)
        func find(_ words: String) -> Int? {
            let words = Array(words.utf8)
            var index = position
            while index + words.count <= bytes.count {
                if bytes[index] == words[0], bytes[index..<index + words.count].elementsEqual(words) { return index }
                index += 1
            }
            return nil
        }
        func begins(_ words: String) -> Bool { bytes[position...].starts(with: words.utf8) }
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "<") else {
                let end = bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
                if let last = open.indices.last, open[last].text.utf8.count + end - position <= Self.longestText {
                    open[last].text += Self.decoded(bytes[position..<end])
                }
                position = end
                continue
            }
            if begins("<!--") || begins("<?") {
                let mark = begins("<?") ? "?>" : "-->"
                guard let end = find(mark) else { return nil }
                position = end + mark.utf8.count
            } else if begins("<!") {
                return nil
            } else {
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
                guard end < bytes.count else { return nil }
                var tag = bytes[position + 1..<end]
                position = end + 1
                if tag.first == UInt8(ascii: "/") {
                    guard let done = open.popLast() else { return nil }
                    if open.isEmpty {
                        self = done
                        return
                    }
                    open[open.count - 1].children.append(done)
                    continue
                }
                let isEmpty = tag.last == UInt8(ascii: "/")
                if isEmpty { tag = tag.dropLast() }
                count += 1
                guard let element = Self.element(tag), count <= Self.maxElements, open.count < Self.deepest else {
                    return nil
                }
                if !isEmpty {
                    open.append(element)
                } else if open.isEmpty {
                    self = element
                    return
                } else {
                    open[open.count - 1].children.append(element)
                }
            }
        }
        return nil
    }

    private static func element(_ tag: ArraySlice<UInt8>) -> MarkupElement? {
        var rest = tag
        func local(_ name: ArraySlice<UInt8>) -> String {
            String(
                decoding: name.lastIndex(of: UInt8(ascii: ":")).map { name[name.index(after: $0)...] } ?? name,
                as: UTF8.self)
        }
        let name = rest.prefix { !isSpace($0) }
        guard !name.isEmpty else { return nil }
        var element = MarkupElement(local(name))
        rest = rest[name.endIndex...]
        while true {
            rest = rest.drop(while: isSpace)
            guard !rest.isEmpty else { return element }
            let key = rest.prefix { $0 != UInt8(ascii: "=") && !isSpace($0) }
            rest = rest[key.endIndex...].drop(while: isSpace)
            guard !key.isEmpty, rest.popFirst() == UInt8(ascii: "=") else { return nil }
            rest = rest.drop(while: isSpace)
            guard let quote = rest.popFirst(), quote == 0x22 || quote == 0x27, let end = rest.firstIndex(of: quote)
            else { return nil }
            guard element.attributes.count < maxAttributes else { return nil }
            element.attributes[local(key)] = decoded(rest[..<end])
            rest = rest[rest.index(after: end)...]
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.contains(UInt8(ascii: "&")) else { return String(decoding: bytes, as: UTF8.self) }
        var (text, rest) = ("", bytes)
        while let ampersand = rest.firstIndex(of: UInt8(ascii: "&")) {
            text += String(decoding: rest[..<ampersand], as: UTF8.self)
            rest = rest[ampersand...]
            guard let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")) else { break }
            let word = String(decoding: rest[rest.index(after: rest.startIndex)..<end], as: UTF8.self)
            let named: [String: Character] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
            let number =
                word.hasPrefix("#x")
                ? UInt32(word.dropFirst(2), radix: 16) : word.hasPrefix("#") ? UInt32(word.dropFirst()) : nil
            if let letter = named[word] ?? number.flatMap(Unicode.Scalar.init).map(Character.init) {
                text.append(letter)
            }
            rest = rest[rest.index(after: end)...]
        }
        return text + String(decoding: rest, as: UTF8.self)
    }
}
