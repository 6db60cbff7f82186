/// The attribute list of a playlist tag: names and values (RFC 8216, 4.2).
struct AttributeList: Sendable {
    /// The values by name, without quotation marks.
    private(set) var values: [String: String] = [:]

    /// The maximum number of attributes.
    private static let maxAttributes = 128

    /// Parses a list. The first value of a name counts; malformed parts are skipped.
    ///
    /// - Parameter wanted: The names to store; nil: all.
    init(_ bytes: ArraySlice<UInt8>, only wanted: [String]? = nil) {
        var rest = bytes
        while !rest.isEmpty, values.count < Self.maxAttributes {
            rest = rest.drop { $0 == UInt8(ascii: ",") || $0 == 0x20 || $0 == 0x09 }
            let name = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ",") }
            rest = rest[name.endIndex...]
            guard rest.popFirst() == UInt8(ascii: "=") else { continue }
            let value: ArraySlice<UInt8>
            if rest.first == UInt8(ascii: "\"") {
                rest = rest.dropFirst()
                value = rest.prefix { $0 != UInt8(ascii: "\"") }
                rest = rest[value.endIndex...].dropFirst()
            } else {
                value = rest.prefix { $0 != UInt8(ascii: ",") }
                rest = rest[value.endIndex...]
            }
            if let wanted, !wanted.contains(where: { name.elementsEqual($0.utf8) }) { continue }
            let key = String(decoding: name, as: UTF8.self)
            if values[key] == nil { values[key] = String(decoding: value, as: UTF8.self) }
        }
    }

    subscript(name: String) -> String? { values[name] }
}
