internal import MediaCore

/// An element of an XML 1.0 document (`MarkupScanner`): names without prefixes, attributes, children, and direct text.
/// Document types are rejected.
struct MarkupElement: Sendable {
    let name: String
    private(set) var attributes: [String: String] = [:]
    private(set) var children: [MarkupElement] = []
    private(set) var text = ""

    static let maxElements = 200_000
    private static let deepest = 32
    private static let maxAttributes = 64
    private static let longestText = 64 << 10

    /// Returns the children with a name.
    ///
    /// - Parameter budget: Charged for each child that is compared.
    func all(_ name: String, _ budget: inout WorkBudget) throws(WorkBudget.Exceeded) -> [MarkupElement] {
        try budget.spend(children.count)
        return children.filter { $0.name == name }
    }

    /// Returns the first child with a name; nil if there is none.
    func first(_ name: String, _ budget: inout WorkBudget) throws(WorkBudget.Exceeded) -> MarkupElement? {
        try budget.spend(children.count)
        return children.first { $0.name == name }
    }

    /// Parses a document and returns its root; nil if it is malformed or exceeds the limits.
    ///
    /// - Parameter budget: Charged for each byte and element.
    init?(_ bytes: [UInt8], _ budget: inout WorkBudget) throws(WorkBudget.Exceeded) {
        var scanner = MarkupScanner(bytes)
        var open: [MarkupElement] = []
        var count = 0
        var read = 0
        while let piece = scanner.next() {
            try budget.spend(scanner.position - read + 16)
            read = scanner.position
            switch piece {
            case .text(let bytes):
                if let last = open.indices.last, open[last].text.utf8.count + bytes.count <= Self.longestText {
                    open[last].text += String(decoding: bytes, as: UTF8.self)
                }
            case .open(let name, let attributes):
                count += 1
                guard let element = MarkupElement(name, attributes), count <= Self.maxElements,
                    open.count < Self.deepest
                else { return nil }
                open.append(element)
            case .close:
                guard let done = open.popLast() else { return nil }
                if open.isEmpty {
                    self = done
                    return
                }
                open[open.count - 1].children.append(done)
            case .documentType, .malformed: return nil
            }
        }
        return nil
    }

    private init?(_ name: String, _ attributes: ArraySlice<UInt8>) {
        self.name = name
        var rest = attributes
        while true {
            rest = rest.drop(while: MarkupScanner.isSpace)
            guard !rest.isEmpty else { return }
            let key = rest.prefix { $0 != UInt8(ascii: "=") && !MarkupScanner.isSpace($0) }
            rest = rest[key.endIndex...].drop(while: MarkupScanner.isSpace)
            guard !key.isEmpty, rest.popFirst() == UInt8(ascii: "=") else { return nil }
            rest = rest.drop(while: MarkupScanner.isSpace)
            guard let quote = rest.popFirst(), quote == 0x22 || quote == 0x27, let end = rest.firstIndex(of: quote),
                self.attributes.count < Self.maxAttributes, end - rest.startIndex <= Self.longestText
            else { return nil }
            let value = MarkupScanner.decoded(rest[..<end])
            self.attributes[MarkupScanner.localName(key)] = String(decoding: value, as: UTF8.self)
            rest = rest[rest.index(after: end)...]
        }
    }
}
