/// A property list, the format of AirPlay's message bodies.
package enum PropertyList: Hashable, Sendable {
    case integer(Int64)
    /// Only for numbers above `Int64.max`, so that equal numbers have one representation.
    case unsigned(UInt64)
    case real(Double)
    case boolean(Bool)
    case string(String)
    case data([UInt8])
    /// Seconds since 2001-01-01 00:00 UTC.
    case date(Double)
    case array([PropertyList])
    case dictionary([String: PropertyList])
    /// A keyed archiver's reference, supported so that bodies with one can be decoded.
    case uid(UInt64)
    case null

    /// Creates `integer` if the number fits, otherwise `unsigned`.
    package init(_ number: UInt64) {
        if let signed = Int64(exactly: number) { self = .integer(signed) } else { self = .unsigned(number) }
    }
}

extension PropertyList: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
    package init(arrayLiteral elements: PropertyList...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, PropertyList)...) {
        self = .dictionary(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}

extension PropertyList {
    /// Returns a member of a dictionary; nil for other values.
    package subscript(key: String) -> PropertyList? {
        if case .dictionary(let members) = self { return members[key] }
        return nil
    }

    /// The value as a signed 64-bit integer; identifiers above `Int64.max` keep their bit pattern.
    package var int64: Int64? {
        switch self {
        case .integer(let value): value
        case .unsigned(let value): Int64(bitPattern: value)
        case .boolean(let value): value ? 1 : 0
        case .real(let value): Int64(exactly: value.rounded())
        default: nil
        }
    }

    /// The value as an unsigned 64-bit integer; negative ones keep their bit pattern.
    package var uint64: UInt64? { int64.map { UInt64(bitPattern: $0) } }

    /// Returns the value as a smaller integer type, such as a port; nil if it does not fit.
    package func integer<Integer: FixedWidthInteger>(_ type: Integer.Type = Integer.self) -> Integer? {
        switch self {
        case .unsigned(let value): Integer(exactly: value)
        default: int64.flatMap { Integer(exactly: $0) }
        }
    }

    var double: Double? {
        switch self {
        case .real(let value): value
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        default: nil
        }
    }

    package var string: String? {
        if case .string(let value) = self { return value }
        return nil
    }

    package var data: [UInt8]? {
        if case .data(let value) = self { return value }
        return nil
    }

    package var array: [PropertyList]? {
        if case .array(let value) = self { return value }
        return nil
    }

    package var dictionary: [String: PropertyList]? {
        if case .dictionary(let value) = self { return value }
        return nil
    }
}
