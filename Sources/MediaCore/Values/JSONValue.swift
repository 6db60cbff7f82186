/// A JSON value (RFC 8259) that preserves the order of members.
package enum JSONValue: Sendable {
    /// An object; its members in the order of output.
    case object([(String, JSONValue)])
    /// An array.
    case array([JSONValue])
    /// A string, unescaped.
    case text(String)
    /// An integer.
    case integer(Int)
    /// Rounded to a number of decimals unless it is too large for `Decimals`; NaN and infinity become null.
    case real(Double, decimals: Int)
    /// A boolean.
    case flag(Bool)
    /// The null value.
    case null

    /// Returns a number; null for nil.
    package static func optional(_ value: Double?, decimals: Int) -> JSONValue {
        value.map { .real($0, decimals: decimals) } ?? .null
    }

    /// Returns a string; null for nil.
    package static func optional(_ value: String?) -> JSONValue { value.map(JSONValue.text) ?? .null }
    /// Returns an integer; null for nil.
    package static func optional(_ value: Int?) -> JSONValue { value.map(JSONValue.integer) ?? .null }

    /// The boolean; nil for other values.
    package var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    /// The integer; nil for other values.
    package var integer: Int? { if case .integer(let integer) = self { integer } else { nil } }
    /// The number that is not an integer; nil for other values.
    package var real: Double? { if case .real(let real, _) = self { real } else { nil } }
    /// The number; nil for other values.
    package var number: Double? { real ?? integer.map(Double.init) }
    /// The string; nil for other values.
    package var text: String? { if case .text(let text) = self { text } else { nil } }

    /// Returns a member of an object; nil for other values.
    package subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members.first { $0.0 == name }?.1 } else { nil }
    }

    /// The serialized value with indentation by two spaces per level and a trailing newline.
    package var formatted: String { written(indent: "\n") + "\n" }

    /// The serialized value on one line, without spaces and newline.
    package var compact: String { written(indent: nil) }

    private func written(indent: String?) -> String {
        var bytes: [UInt8] = []
        write(to: &bytes, indent: indent)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Parameter indent: newline and indentation of this level; nil writes everything on one line.
    private func write(to bytes: inout [UInt8], indent: String?) {
        switch self {
        case .object(let members):
            Self.writeList(members, between: ("{", "}"), to: &bytes, indent: indent) { member, bytes, indent in
                JSONText.append(member.0, to: &bytes)
                bytes += (indent == nil ? ":" : ": ").utf8
                member.1.write(to: &bytes, indent: indent)
            }
        case .array(let values):
            Self.writeList(values, between: ("[", "]"), to: &bytes, indent: indent) { value, bytes, indent in
                value.write(to: &bytes, indent: indent)
            }
        case .text(let value): JSONText.append(value, to: &bytes)
        case .integer(let value): bytes += String(value).utf8
        case .real(let value, let decimals): bytes += Self.text(of: value, decimals).utf8
        case .flag(let value): bytes += (value ? "true" : "false").utf8
        case .null: bytes += "null".utf8
        }
    }

    private static func text(of value: Double, _ decimals: Int) -> String {
        guard value.isFinite else { return "null" }
        // Another number than a client has sent would not identify its request.
        return Decimals.isSaturated(value, decimals) ? value.description : Decimals.text(value, decimals)
    }

    private static func writeList<Element>(
        _ elements: [Element], between brackets: (String, String), to bytes: inout [UInt8], indent: String?,
        _ body: (Element, inout [UInt8], String?) -> Void
    ) {
        bytes += brackets.0.utf8
        let inner = indent.map { $0 + "  " }
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            if let inner { bytes += inner.utf8 }
            body(element, &bytes, inner)
        }
        if !elements.isEmpty, let indent { bytes += indent.utf8 }
        bytes += brackets.1.utf8
    }
}

extension JSONValue: Equatable {
    /// Compares the values; objects must have the same order of members.
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.object(let left), .object(let right)): left.elementsEqual(right) { $0.0 == $1.0 && $0.1 == $1.1 }
        case (.array(let left), .array(let right)): left == right
        case (.text(let left), .text(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left, let decimals), .real(let right, let others)): left == right && decimals == others
        case (.flag(let left), .flag(let right)): left == right
        case (.null, .null): true
        default: false
        }
    }
}
