/// A result for other programs (RFC 8259), with its members in the order they were written.
public enum JSONValue: Sendable {
    case object([(String, JSONValue)])
    case array([JSONValue])
    case text(String)
    case whole(Int)
    /// Rounded to the given number of decimals; what is no finite number becomes null.
    case real(Double, decimals: Int)
    case flag(Bool)
    case null

    /// A number, or null when there is none.
    public static func optional(_ value: Double?, decimals: Int) -> JSONValue {
        value.map { .real($0, decimals: decimals) } ?? .null
    }

    public static func optional(_ value: String?) -> JSONValue { value.map(JSONValue.text) ?? .null }

    /// The text of the value, indented by two spaces a level, ending in a newline.
    public var formatted: String {
        var text = ""
        write(to: &text, indent: "")
        return text + "\n"
    }

    private func write(to text: inout String, indent: String) {
        switch self {
        case .object(let members):
            Self.writeList(members, between: ("{", "}"), to: &text, indent: indent) { member, text, indent in
                text += Self.quoted(member.0) + ": "
                member.1.write(to: &text, indent: indent)
            }
        case .array(let values):
            Self.writeList(values, between: ("[", "]"), to: &text, indent: indent) { value, text, indent in
                value.write(to: &text, indent: indent)
            }
        case .text(let value): text += Self.quoted(value)
        case .whole(let value): text += String(value)
        case .real(let value, let decimals): text += value.isFinite ? Decimals.text(value, decimals) : "null"
        case .flag(let value): text += value ? "true" : "false"
        case .null: text += "null"
        }
    }

    private static func writeList<Element>(
        _ elements: [Element], between brackets: (String, String), to text: inout String, indent: String,
        _ body: (Element, inout String, String) -> Void
    ) {
        text += brackets.0
        let inner = indent + "  "
        for (index, element) in elements.enumerated() {
            text += index == 0 ? "\n" + inner : ",\n" + inner
            body(element, &text, inner)
        }
        if !elements.isEmpty { text += "\n" + indent }
        text += brackets.1
    }

    private static func quoted(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\" + String(scalar)
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
