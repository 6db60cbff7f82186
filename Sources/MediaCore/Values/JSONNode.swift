/// A value of a parsed JSON text, with access to its members. Valid as long as the text's bytes.
package struct JSONNode {
    let bytes: UnsafeRawBufferPointer
    let elements: [JSONReader.Element]
    let index: Int

    /// Parses a text whose value is an object; nil for others.
    ///
    /// - Parameter maxElements: The maximum number of values and names.
    package init?(object bytes: UnsafeRawBufferPointer, maxElements: Int = 1024) {
        var reader = JSONReader(maxElements: maxElements)
        guard let node = reader.read(bytes), node.isObject else { return nil }
        self = node
    }

    init(bytes: UnsafeRawBufferPointer, elements: [JSONReader.Element], index: Int) {
        (self.bytes, self.elements, self.index) = (bytes, elements, index)
    }

    private var value: JSONReader.Value { elements[index].value }
    var end: Int { Int(elements[index].end) }

    private func node(_ index: Int) -> JSONNode { JSONNode(bytes: bytes, elements: elements, index: index) }

    /// Whether the value is an object.
    package var isObject: Bool { value == .object }

    // MARK: Members

    /// Returns the index of a member's value; nil if there is none.
    private func member(_ name: StaticString) -> Int? {
        guard value == .object else { return nil }
        var found: Int?
        var index = index + 1
        // The last of equal names counts, as in most parsers.
        while index < end {
            if case .text(let start, let end) = elements[index].value,
                name.withUTF8Buffer({ bytes[Int(start)..<Int(end)].elementsEqual($0) })
            {
                found = index + 1
            }
            index = Int(elements[index + 1].end)
        }
        return found
    }

    private func value(_ name: StaticString) -> JSONReader.Value? { member(name).map { elements[$0].value } }

    /// Returns a member's value; nil if there is none.
    package subscript(name: StaticString) -> JSONNode? { member(name).map(node) }

    /// Returns a member that is an object; nil for others.
    package func object(_ name: StaticString) -> JSONNode? { self[name].flatMap { $0.isObject ? $0 : nil } }

    /// Returns the objects among the first `maxCount` elements of a member that is an array; nil for others.
    package func objects(_ name: StaticString, maxCount: Int) -> [JSONNode]? {
        self[name]?.array(maxCount: maxCount)?.filter(\.isObject)
    }

    /// Returns a member that is an integer; nil for others.
    package func integer(_ name: StaticString) -> Int64? {
        if case .integer(let number)? = value(name) { return number }
        return nil
    }

    /// Returns a member that is a number; nil for others.
    package func real(_ name: StaticString) -> Double? {
        switch value(name) {
        case .integer(let number): return Double(number)
        case .real(let number): return number
        default: return nil
        }
    }

    /// Returns a member that is a string with its escapes, to compare it with an ASCII literal without allocation.
    package func rawString(_ name: StaticString) -> JSONRawString? {
        guard case .text(let start, let end)? = value(name) else { return nil }
        return JSONRawString(bytes: UnsafeRawBufferPointer(rebasing: bytes[Int(start)..<Int(end)]))
    }

    /// Returns a member that is a string, with control characters replaced; nil for others.
    package func text(_ name: StaticString) -> String? { self[name]?.text.map(PrintableText.of) }

    /// Returns the string members of a nested object in order, at most `maxCount` of its members.
    package func members(of name: StaticString, maxCount: Int) -> [(name: String, value: String)] {
        guard let inner = object(name) else { return [] }
        return inner.members(maxCount: maxCount).compactMap { name, node in
            node.text.map { (PrintableText.of(name), PrintableText.of($0)) }
        }
    }

    private func members(maxCount: Int) -> [(String, JSONNode)] {
        var members: [(String, JSONNode)] = []
        var index = index + 1
        while index < end, members.count < maxCount {
            members.append((node(index).text ?? "", node(index + 1)))
            index = Int(elements[index + 1].end)
        }
        return members
    }

    // MARK: Values

    /// Returns the first `maxCount` elements of an array; nil for other values.
    package func array(maxCount: Int) -> [JSONNode]? {
        guard value == .array else { return nil }
        var nodes: [JSONNode] = []
        var index = index + 1
        while index < end, nodes.count < maxCount {
            nodes.append(node(index))
            index = Int(elements[index].end)
        }
        return nodes
    }

    /// The string, with surrogates that have no pair replaced by U+FFFD; nil for other values.
    package var text: String? {
        guard case .text(let start, let end) = value else { return nil }
        let source = bytes[Int(start)..<Int(end)]
        guard source.contains(UInt8(ascii: "\\")) else { return String(decoding: source, as: UTF8.self) }
        var text = ""
        var units: [UInt16] = []
        var index = source.startIndex
        while index < source.endIndex {
            if source[index] == UInt8(ascii: "\\") {
                units.append(Self.unit(source[index...], &index))
                continue
            }
            text += String(decoding: units, as: UTF16.self)
            units.removeAll()
            let plain = source[index...].prefix { $0 != UInt8(ascii: "\\") }
            text += String(decoding: plain, as: UTF8.self)
            index = plain.endIndex
        }
        return text + String(decoding: units, as: UTF16.self)
    }

    /// Returns the UTF-16 unit of an escape, which is valid, and moves `index` after it.
    private static func unit(_ escape: Slice<UnsafeRawBufferPointer>, _ index: inout Int) -> UInt16 {
        index += 2
        switch escape[escape.startIndex + 1] {
        case UInt8(ascii: "b"): return 8
        case UInt8(ascii: "f"): return 12
        case UInt8(ascii: "n"): return 10
        case UInt8(ascii: "r"): return 13
        case UInt8(ascii: "t"): return 9
        case UInt8(ascii: "u"):
            index += 4
            return UInt16(String(decoding: escape.dropFirst(2).prefix(4), as: UTF8.self), radix: 16) ?? 0xFFFD
        case let character: return UInt16(character)
        }
    }
}

extension JSONValue {
    /// The decimals of parsed numbers when they are written again.
    private static let parsedDecimals = 9

    /// Creates a copy of a parsed value. Of members with equal names the last is copied.
    package init(_ node: JSONNode) {
        switch node.elements[node.index].value {
        case .integer(let number): self = .integer(Int(number))
        case .real(let number): self = .real(number, decimals: Self.parsedDecimals)
        case .text: self = .text(node.text ?? "")
        case .flag(let flag): self = .flag(flag)
        case .null: self = .null
        case .array: self = .array((node.array(maxCount: .max) ?? []).map(JSONValue.init))
        case .object:
            let all = node.members
            let last = Dictionary(all.enumerated().map { ($1.0, $0) }) { max($0, $1) }
            self = .object(
                all.enumerated().compactMap { index, member in
                    last[member.0] == index ? (member.0, JSONValue(member.1)) : nil
                })
        }
    }
}

extension JSONNode {
    /// The members of an object in order, with equal names; empty for other values.
    package var members: [(String, JSONNode)] { isObject ? members(maxCount: .max) : [] }
}

/// A string with its escapes, compared without allocation. Valid as long as the text's bytes.
package struct JSONRawString {
    let bytes: UnsafeRawBufferPointer

    package static func == (word: JSONRawString, text: StaticString) -> Bool {
        text.withUTF8Buffer { word.bytes.elementsEqual($0) }
    }

    package static func ~= (text: StaticString, word: JSONRawString) -> Bool { word == text }
}
