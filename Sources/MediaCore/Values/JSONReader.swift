/// A parser of JSON texts (RFC 8259) with limits; untrusted input never traps. Reusable: keeps its memory.
///
/// Strict: names in quotes, valid escapes and UTF-8, finite numbers. Of members with equal names the last counts.
package struct JSONReader {
    /// The reason why a text was refused.
    package enum Failure: Equatable, Sendable {
        /// No value was found, or another character than expected, at this offset in bytes.
        case malformed(at: Int)
        /// Arrays and objects are nested more than `maxDepth` times.
        case tooDeep
        /// The text has more than `maxElements` elements.
        case tooLarge
    }

    /// A value or the name of a member.
    struct Element {
        var value: Value
        /// The index after the value and, in an array or object, all its elements.
        var end: Int32
    }

    enum Value: Equatable {
        case integer(Int64)
        case real(Double)
        /// The offsets of the text between its quotes; it is valid.
        case text(start: UInt32, end: UInt32)
        case object
        case array
        case flag(Bool)
        case null
    }

    /// Maximum nesting of arrays and objects.
    package static let maxDepth = 32

    /// Values and names in the order of the text; a name precedes its value.
    private var elements: [Element] = []
    private let maxElements: Int
    /// The reason of the last `read` that returned nil.
    package private(set) var failure: Failure?

    /// Creates a reader.
    ///
    /// - Parameter maxElements: The maximum number of values and names, which take 16 bytes each.
    package init(maxElements: Int = 1024) {
        self.maxElements = maxElements
        elements.reserveCapacity(min(maxElements, 64))
    }

    /// Parses a text and returns its value, which is valid as long as `bytes`; nil if it is refused.
    package mutating func read(_ bytes: UnsafeRawBufferPointer) -> JSONNode? {
        elements.removeAll(keepingCapacity: true)
        failure = nil
        guard bytes.count <= Int32.max else {
            failure = .tooLarge
            return nil
        }
        var scanner = JSONScanner(bytes: bytes)
        scanner.skipSpace()
        guard add(&scanner, depth: 0) else {
            failure = failure ?? .malformed(at: scanner.position)
            return nil
        }
        scanner.skipSpace()
        guard scanner.isAtEnd else {
            failure = .malformed(at: scanner.position)
            return nil
        }
        return JSONNode(bytes: bytes, elements: elements, index: 0)
    }

    /// Adds the next value with all its elements.
    private mutating func add(_ scanner: inout JSONScanner, depth: Int) -> Bool {
        switch scanner.next {
        case UInt8(ascii: "{"): return addNested(.object, &scanner, depth)
        case UInt8(ascii: "["): return addNested(.array, &scanner, depth)
        default: return scanner.scalar().map { append($0) } ?? false
        }
    }

    private mutating func addNested(_ value: Value, _ scanner: inout JSONScanner, _ depth: Int) -> Bool {
        guard depth < Self.maxDepth else {
            failure = .tooDeep
            return false
        }
        let index = elements.count
        guard append(value) else { return false }
        let close = UInt8(ascii: value == .object ? "}" : "]")
        scanner.position += 1
        scanner.skipSpace()
        if !scanner.consume(close) {
            repeat {
                scanner.skipSpace()
                if value == .object {
                    guard let name = scanner.text(), append(name) else { return false }
                    scanner.skipSpace()
                    guard scanner.consume(UInt8(ascii: ":")) else { return false }
                    scanner.skipSpace()
                }
                guard add(&scanner, depth: depth + 1) else { return false }
                scanner.skipSpace()
            } while scanner.consume(UInt8(ascii: ","))
            guard scanner.consume(close) else { return false }
        }
        elements[index].end = Int32(elements.count)
        return true
    }

    private mutating func append(_ value: Value) -> Bool {
        guard elements.count < maxElements else {
            failure = .tooLarge
            return false
        }
        elements.append(Element(value: value, end: Int32(elements.count + 1)))
        return true
    }
}

/// The lexical elements of JSON: strings, numbers, literal names.
struct JSONScanner {
    let bytes: UnsafeRawBufferPointer
    var position = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { position >= bytes.count }
    var next: UInt8? { isAtEnd ? nil : bytes[position] }

    mutating func consume(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A { position += 1 }
    }

    /// Consumes a value that is neither an array nor an object; nil if there is none.
    mutating func scalar() -> JSONReader.Value? {
        switch next {
        case UInt8(ascii: "\""): text()
        case UInt8(ascii: "t"): consume("true") ? .flag(true) : nil
        case UInt8(ascii: "f"): consume("false") ? .flag(false) : nil
        case UInt8(ascii: "n"): consume("null") ? .null : nil
        default: number()
        }
    }

    private mutating func consume(_ word: StaticString) -> Bool {
        let count = word.utf8CodeUnitCount
        guard bytes.count - position >= count,
            word.withUTF8Buffer({ bytes[position..<(position + count)].elementsEqual($0) })
        else { return false }
        position += count
        return true
    }

    // MARK: Strings

    /// Consumes a string with valid escapes and UTF-8; nil if there is none.
    mutating func text() -> JSONReader.Value? {
        guard consume(UInt8(ascii: "\"")) else { return nil }
        let start = position
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return .text(start: UInt32(start), end: UInt32(position - 1))
            case UInt8(ascii: "\\"):
                position += 1
                guard escape() else { return nil }
            case 0..<0x20: return nil
            case 0x20..<0x80: position += 1
            default: guard scalarOfSeveralBytes() else { return nil }
            }
        }
        return nil
    }

    /// Consumes an escape after its backslash (RFC 8259, section 7).
    private mutating func escape() -> Bool {
        guard let kind = next else { return false }
        position += 1
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return true
        case UInt8(ascii: "u"):
            for _ in 0..<4 {
                guard let digit = next, Self.isHexadecimal(digit) else { return false }
                position += 1
            }
            return true
        default: return false
        }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
            UInt8(ascii: "a")...UInt8(ascii: "f"):
            true
        default: false
        }
    }

    /// Consumes a scalar beyond ASCII, in its shortest form and no surrogate (RFC 3629, section 4).
    private mutating func scalarOfSeveralBytes() -> Bool {
        let (count, second): (Int, ClosedRange<UInt8>)
        switch bytes[position] {
        case 0xC2...0xDF: (count, second) = (2, 0x80...0xBF)
        case 0xE0: (count, second) = (3, 0xA0...0xBF)
        case 0xED: (count, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (count, second) = (3, 0x80...0xBF)
        case 0xF0: (count, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (count, second) = (4, 0x80...0xBF)
        case 0xF4: (count, second) = (4, 0x80...0x8F)
        default: return false
        }
        guard bytes.count - position >= count, second.contains(bytes[position + 1]) else { return false }
        for index in 2..<max(2, count) where bytes[position + index] & 0xC0 != 0x80 { return false }
        position += count
        return true
    }

    // MARK: Numbers

    /// Maximum value of an exponent; larger ones saturate. Greater than the length of any mantissa.
    private static let maxExponent = 1 << 40

    /// Consumes a number: an integer in the range of `Int64.max` exactly, otherwise a finite `Double`, accurate to
    /// about 18 digits; nil if there is none.
    private mutating func number() -> JSONReader.Value? {
        let isNegative = consume(UInt8(ascii: "-"))
        var mantissa: Int64 = 0
        var exponent = 0
        var isInteger = true
        let start = position
        while let digit { isInteger = add(digit, to: &mantissa, &exponent, isInFraction: false) && isInteger }
        // No digit, or a leading zero.
        guard position > start, position == start + 1 || bytes[start] != UInt8(ascii: "0") else { return nil }
        if consume(UInt8(ascii: ".")) {
            isInteger = false
            let start = position
            while let digit { _ = add(digit, to: &mantissa, &exponent, isInFraction: true) }
            guard position > start else { return nil }
        }
        if consume(UInt8(ascii: "e")) || consume(UInt8(ascii: "E")) {
            isInteger = false
            let isSmall = consume(UInt8(ascii: "-"))
            if !isSmall { _ = consume(UInt8(ascii: "+")) }
            var power = 0
            let start = position
            while let digit {
                power = min(Self.maxExponent, power * 10 + Int(digit))
                position += 1
            }
            guard position > start else { return nil }
            exponent += isSmall ? -power : power
        }
        if isInteger { return .integer(isNegative ? -mantissa : mantissa) }
        let value = Self.scaled(Double(mantissa), by: exponent)
        guard value.isFinite else { return nil }
        return .real(isNegative ? -value : value)
    }

    private var digit: UInt8? {
        guard let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        return byte - UInt8(ascii: "0")
    }

    /// Consumes a digit. Returns false if it is beyond the precision; only the magnitude matters then.
    private mutating func add(
        _ digit: UInt8, to mantissa: inout Int64, _ exponent: inout Int, isInFraction: Bool
    ) -> Bool {
        position += 1
        let (tens, overflow) = mantissa.multipliedReportingOverflow(by: 10)
        let (sum, carry) = tens.addingReportingOverflow(Int64(digit))
        guard !overflow, !carry else {
            if !isInFraction { exponent += 1 }
            return false
        }
        mantissa = sum
        if isInFraction { exponent -= 1 }
        return true
    }

    private static func scaled(_ mantissa: Double, by exponent: Int) -> Double {
        // Powers of ten up to 22 are exact in a double.
        var value = mantissa
        var rest = min(700, exponent.magnitude)
        while rest > 0 {
            let step = min(22, rest)
            var power = 1.0
            for _ in 0..<step { power *= 10 }
            value = exponent < 0 ? value / power : value * power
            rest -= step
        }
        return value
    }
}
