/// Writes a JSON object (RFC 8259), members in the order they are added; what is not known is `null`.
struct JSONObject {
    private var members: [String] = []

    mutating func add(_ name: String, _ value: String?) { add(name, raw: value.map { Self.quoted($0) }) }
    mutating func add(_ name: String, _ value: Int?) { add(name, raw: value.map { String($0) }) }
    /// To the microsecond of milliseconds; what is no finite number is `null`.
    mutating func add(_ name: String, thousandths value: Double?) {
        let whole = value.flatMap { $0.isFinite && $0.magnitude < 1e12 ? Int(($0 * 1000).rounded()) : nil }
        add(
            name,
            raw: whole.map { whole in
                let digits = String(whole.magnitude)
                let padded = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
                return (whole < 0 ? "-" : "") + padded.dropLast(3) + "." + padded.suffix(3)
            })
    }
    mutating func add(_ name: String, _ value: Bool) { add(name, raw: value ? "true" : "false") }
    mutating func add(_ name: String, _ values: [String]) {
        add(name, raw: "[" + values.map { Self.quoted($0) }.joined(separator: ",") + "]")
    }
    mutating func add(_ name: String, objects: [JSONObject]) {
        add(name, raw: "[" + objects.map(\.text).joined(separator: ",") + "]")
    }

    private mutating func add(_ name: String, raw: String?) {
        members.append("\(Self.quoted(name)):\(raw ?? "null")")
    }

    var text: String { "{" + members.joined(separator: ",") + "}" }

    static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": out += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}
