package import MediaCore

/// The type of a property or of a command's argument, with its range and unit.
///
/// Values are JSON values. Each type also accepts text in mpv's notation, so that the words of a key binding and the
/// values of a JSON client are checked alike.
package enum ControlType: Sendable, Hashable {
    /// The unit of a number.
    package enum Unit: String, Sendable {
        case none = ""
        case seconds = "s"
        case percent = "%"
        case decibels = "dB"

        fileprivate var suffix: String {
            switch self {
            case .none: ""
            case .seconds: " of seconds"
            case .percent: " of percent"
            case .decibels: " of decibels"
            }
        }
    }

    /// `true` or `false`; as text `yes` or `no`.
    case flag
    /// An integer.
    case integer(ClosedRange<Int>)
    /// A number.
    case number(ClosedRange<Double>, Unit = .none)
    /// One of these words, or an integer. `no` and `yes` are `false` and `true`, as in mpv's JSON interface.
    case choice([String], or: ClosedRange<Int>? = nil)
    /// Some of these words, joined by `+`.
    case flags([String])
    /// Text of at most `maxTextBytes`.
    case text
    /// An array or an object; never written.
    case node
    /// The name of a property.
    case property
    /// A value of the property that the preceding argument names.
    case value

    /// The maximum length of text in bytes; paths have at most 4096 (PATH_MAX).
    package static let maxTextBytes = 8192
    /// The maximum absolute value of a position: ten years, as of all media times (`BoundedInput`).
    package static let maxSeconds = 315_576_000.0

    /// Returns a value in the form in which properties report it.
    ///
    /// - Throws: `wrongType` or `outOfRange` with a sentence that names the type.
    package func checked(_ value: JSONValue) throws(ControlError) -> JSONValue {
        switch self {
        case .flag:
            if let flag = value.flag ?? ["yes": true, "no": false][value.text ?? ""] { return .flag(flag) }
        case .integer(let range):
            if let number = Self.integer(value) { return .integer(try Self.bounded(number, range, expected)) }
        case .number(let range, let unit):
            if let number = Self.number(value, isTime: unit == .seconds) {
                return .real(try Self.bounded(number, range, expected), decimals: Self.decimals)
            }
        case .choice(let choices, let range):
            if let range, let number = Self.integer(value) {
                return .integer(try Self.bounded(number, range, expected))
            }
            let choice = value.flag.map { $0 ? "yes" : "no" } ?? value.text
            if let choice, choices.contains(choice) { return Self.choiceValue(choice) }
        case .flags(let choices):
            if let text = value.text, text.split(separator: "+").allSatisfy({ choices.contains(String($0)) }) {
                return value
            }
        case .text, .property:
            let text = value.text ?? value.number.map { _ in value.mpvText }
            if let text, !text.utf8.contains(0) {
                _ = try Self.bounded(text.utf8.count, 0...Self.maxTextBytes, expected)
                return .text(text)
            }
        case .value: return value
        case .node: break
        }
        throw ControlError(.wrongType, "expected \(expected), not '\(Self.shown(value))'")
    }

    /// The decimals of numbers: microseconds.
    package static let decimals = 6

    /// Returns a word in the form in which properties report it.
    package static func choiceValue(_ choice: String) -> JSONValue {
        choice == "no" ? .flag(false) : choice == "yes" ? .flag(true) : .text(choice)
    }

    /// A description of the accepted values: "a number from 0 to 130".
    package var expected: String {
        switch self {
        case .flag: "yes or no"
        case .integer(let range): "an integer\(Self.limits(range))"
        case .number(let range, let unit): "a number\(unit.suffix)\(Self.limits(range))"
        case .choice(let choices, let range):
            Self.list(choices + (range.map { ["an integer\(Self.limits($0))"] } ?? []), "or")
        case .flags(let choices): Self.list(choices, "and") + ", joined by +"
        case .text: "text of at most \(Self.maxTextBytes) bytes"
        case .node: "an array or an object"
        case .property: "the name of a property"
        case .value: "a value"
        }
    }

    /// Returns the words of a range; limits that no value reaches are omitted.
    private static func limits<Number: Comparable & CustomStringConvertible>(_ range: ClosedRange<Number>) -> String {
        func text(_ number: Number) -> String? {
            let value = (number as? Double) ?? (number as? Int).map(Double.init) ?? 0
            return abs(value) < 1e8 ? Decimals.short(value, atMost: decimals) : nil
        }
        return (text(range.lowerBound).map { " from \($0)" } ?? "") + (text(range.upperBound).map { " to \($0)" } ?? "")
    }

    private static func list(_ choices: [String], _ conjunction: String) -> String {
        guard choices.count > 1 else { return choices.first ?? "" }
        return choices.dropLast().joined(separator: ", ") + " \(conjunction) " + choices[choices.count - 1]
    }

    private static func integer(_ value: JSONValue) -> Int? {
        if let number = value.integer { return number }
        if let real = value.real { return Int(exactly: real) }
        guard let text = value.text, text.utf8.count <= 20 else { return nil }
        return text.hasPrefix("-") ? DecimalNumber.integer(text.dropFirst()).map { -$0 } : DecimalNumber.integer(text)
    }

    /// - Parameter isTime: Whether `1:30` is accepted; otherwise fractions such as `1/1.1` are.
    private static func number(_ value: JSONValue, isTime: Bool) -> Double? {
        if let number = value.number { return number.isFinite ? number : nil }
        guard let text = value.text, text.utf8.count <= 64 else { return nil }
        if let billionths = DecimalNumber.signedBillionths(text) { return Double(billionths) / 1e9 }
        if isTime {
            // ignored: the error that is thrown instead says what is expected.
            switch try? FilmPosition(parsing: text) {
            case .fromStart(let time): return time.seconds
            case .fromEnd(let time): return -time.seconds
            case .fraction, nil: return nil
            }
        }
        let terms = text.split(separator: "/", omittingEmptySubsequences: false).map { DecimalNumber.parse(String($0)) }
        guard terms.count == 2, let first = terms[0], let second = terms[1], second > 0 else { return nil }
        return first / second
    }

    private static func bounded<Number: Comparable>(
        _ number: Number, _ range: ClosedRange<Number>, _ expected: String
    ) throws(ControlError) -> Number {
        guard range.contains(number) else { throw ControlError(.outOfRange, "expected \(expected)") }
        return number
    }

    private static func shown(_ value: JSONValue) -> String { PrintableText.truncated(value.mpvText, to: 40) }
}

extension Duration {
    /// Returns seconds rounded to nanoseconds, so that sums of decimal fractions are exact.
    package static func rounded(seconds: Double) -> Duration {
        .nanoseconds(Int64(clamping: seconds * 1e9, in: -InputLimit.maxTicks...InputLimit.maxTicks))
    }
}

extension JSONValue {
    /// The value in mpv's text notation: `yes`, `12`, `0.5`; JSON for arrays and objects.
    package var mpvText: String {
        switch self {
        case .flag(let flag): flag ? "yes" : "no"
        case .text(let text): text
        case .real(let real, let decimals): Decimals.short(real, atMost: decimals)
        case .integer, .null, .array, .object: compact
        }
    }
}
