/// A parser of one level of a JSON object (RFC 8259). Nested arrays and objects are validated and recorded as byte
/// ranges, for forward compatibility; `FlatObject` parses them. Members and nesting are limited; untrusted input never
/// traps.
package struct FlatJSON {
    /// A member's value; ranges are offsets in the parsed bytes.
    enum Value: Equatable {
        case whole(Int64)
        case real(Double)
        /// The range between the quotes, with escapes.
        case text(Range<Int>)
        /// The range of a nested value, including its brackets.
        case object(Range<Int>)
        case array(Range<Int>)
        /// true, false or null.
        case other
    }

    /// Default maximum number of members; no event has more.
    static let maxMembers = 64
    private static let deepestNesting = 32

    private(set) var members: [(key: Range<Int>, value: Value)] = []

    private let memberLimit: Int

    package init(maxMembers: Int = FlatJSON.maxMembers) {
        memberLimit = maxMembers
        members.reserveCapacity(min(maxMembers, Self.maxMembers))
    }

    /// Parses bytes; returns false if they are not one such object. `members` is undefined then.
    package mutating func parse(_ bytes: UnsafeRawBufferPointer) -> Bool {
        members.removeAll(keepingCapacity: true)
        var scanner = Scanner(bytes: bytes)
        scanner.skipSpace()
        guard scanner.consume(UInt8(ascii: "{")) else { return false }
        scanner.skipSpace()
        if !scanner.consume(UInt8(ascii: "}")) {
            repeat {
                scanner.skipSpace()
                guard members.count < memberLimit, let key = scanner.text() else { return false }
                scanner.skipSpace()
                guard scanner.consume(UInt8(ascii: ":")) else { return false }
                scanner.skipSpace()
                guard let value = scanner.value(depth: Self.deepestNesting) else { return false }
                members.append((key, value))
                scanner.skipSpace()
            } while scanner.consume(UInt8(ascii: ","))
            guard scanner.consume(UInt8(ascii: "}")) else { return false }
        }
        scanner.skipSpace()
        return scanner.isAtEnd
    }

    /// Calls `body` with each element of a validated array, at most `maxCount`; ranges are offsets in `bytes`.
    static func elements(
        of bytes: UnsafeRawBufferPointer, in range: Range<Int>, maxCount: Int, _ body: (Value) -> Void
    ) {
        var scanner = Scanner(bytes: UnsafeRawBufferPointer(rebasing: bytes[..<range.upperBound]))
        scanner.position = range.lowerBound + 1
        scanner.skipSpace()
        if scanner.consume(UInt8(ascii: "]")) { return }
        var count = 0
        repeat {
            scanner.skipSpace()
            guard count < maxCount, let value = scanner.value(depth: deepestNesting) else { return }
            count += 1
            body(value)
            scanner.skipSpace()
        } while scanner.consume(UInt8(ascii: ","))
    }

    private struct Scanner {
        let bytes: UnsafeRawBufferPointer
        var position = 0

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

        mutating func text() -> Range<Int>? {
            guard consume(UInt8(ascii: "\"")) else { return nil }
            let start = position
            while let byte = next {
                if byte == UInt8(ascii: "\"") {
                    position += 1
                    return start..<(position - 1)
                }
                guard byte >= 0x20 else { return nil }
                position += byte == UInt8(ascii: "\\") ? 2 : 1
            }
            return nil
        }

        mutating func value(depth: Int) -> Value? {
            switch next {
            case UInt8(ascii: "\""): return text().map(Value.text)
            case UInt8(ascii: "{"): return nested(close: UInt8(ascii: "}"), depth: depth, isObject: true)
            case UInt8(ascii: "["): return nested(close: UInt8(ascii: "]"), depth: depth, isObject: false)
            case UInt8(ascii: "t"): return word("true")
            case UInt8(ascii: "f"): return word("false")
            case UInt8(ascii: "n"): return word("null")
            default: return number()
            }
        }

        private mutating func word(_ word: StaticString) -> Value? {
            let count = word.utf8CodeUnitCount
            guard bytes.count - position >= count,
                word.withUTF8Buffer({ bytes[position..<(position + count)].elementsEqual($0) })
            else { return nil }
            position += count
            return .other
        }

        private mutating func nested(close: UInt8, depth: Int, isObject: Bool) -> Value? {
            guard depth > 0 else { return nil }
            let start = position
            position += 1
            skipSpace()
            if consume(close) { return isObject ? .object(start..<position) : .array(start..<position) }
            repeat {
                skipSpace()
                if isObject {
                    guard text() != nil else { return nil }
                    skipSpace()
                    guard consume(UInt8(ascii: ":")) else { return nil }
                    skipSpace()
                }
                guard value(depth: depth - 1) != nil else { return nil }
                skipSpace()
            } while consume(UInt8(ascii: ","))
            guard consume(close) else { return nil }
            return isObject ? .object(start..<position) : .array(start..<position)
        }

        /// Parses a number: integers in the range of `Int64.max` exactly, others as `Double`, accurate to about 18
        /// digits.
        private mutating func number() -> Value? {
            let isNegative = consume(UInt8(ascii: "-"))
            var mantissa: Int64 = 0
            var exponent = 0
            var digits = 0
            var isWhole = true
            var isInFraction = false
            while let byte = next {
                if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                    digits += 1
                    let (tens, overflow) = mantissa.multipliedReportingOverflow(by: 10)
                    let (sum, carry) = tens.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
                    if overflow || carry {
                        // Beyond the precision; only the magnitude matters.
                        isWhole = false
                        if !isInFraction { exponent += 1 }
                    } else {
                        mantissa = sum
                        if isInFraction { exponent -= 1 }
                    }
                } else if byte == UInt8(ascii: "."), !isInFraction, digits > 0 {
                    isInFraction = true
                    isWhole = false
                } else {
                    break
                }
                position += 1
            }
            guard digits > 0 else { return nil }
            if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
                position += 1
                isWhole = false
                let isSmall = consume(UInt8(ascii: "-"))
                if !isSmall { _ = consume(UInt8(ascii: "+")) }
                var power = 0
                var powerDigits = 0
                while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                    power = min(9999, power * 10 + Int(byte - UInt8(ascii: "0")))
                    powerDigits += 1
                    position += 1
                }
                guard powerDigits > 0 else { return nil }
                exponent += isSmall ? -power : power
            }
            if isWhole { return .whole(isNegative ? -mantissa : mantissa) }
            let value = scaled(Double(mantissa), by: exponent)
            guard value.isFinite else { return nil }
            return .real(isNegative ? -value : value)
        }

        private func scaled(_ mantissa: Double, by exponent: Int) -> Double {
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
}

/// A parsed object with its bytes: access to members by name.
package struct FlatObject {
    let bytes: UnsafeRawBufferPointer
    let json: FlatJSON

    private func value(_ name: StaticString) -> FlatJSON.Value? {
        // The last of equal names counts, as in most parsers.
        for member in json.members.reversed()
        where name.withUTF8Buffer({ bytes[member.key].elementsEqual($0) }) {
            return member.value
        }
        return nil
    }

    /// Parses a file or a line as one object; nil if it is not one.
    ///
    /// - Parameter maxMembers: maximum number of members, also for each nested object.
    package init?(_ bytes: UnsafeRawBufferPointer, maxMembers: Int = FlatJSON.maxMembers) {
        var json = FlatJSON(maxMembers: maxMembers)
        guard json.parse(bytes) else { return nil }
        (self.bytes, self.json, memberLimit) = (bytes, json, maxMembers)
    }

    /// Creates an object from bytes that `json` has parsed.
    package init(bytes: UnsafeRawBufferPointer, json: FlatJSON) {
        (self.bytes, self.json, memberLimit) = (bytes, json, FlatJSON.maxMembers)
    }

    private let memberLimit: Int

    /// Returns a nested object; nil if there is none or it is malformed.
    package func object(_ name: StaticString) -> FlatObject? {
        guard case .object(let range)? = value(name) else { return nil }
        return FlatObject(UnsafeRawBufferPointer(rebasing: bytes[range]), maxMembers: memberLimit)
    }

    /// Returns the objects in an array, at most `maxCount` elements; other elements are skipped. Nil if there is no
    /// such array.
    package func objects(_ name: StaticString, maxCount: Int) -> [FlatObject]? {
        guard case .array(let range)? = value(name) else { return nil }
        var found: [FlatObject] = []
        FlatJSON.elements(of: bytes, in: range, maxCount: maxCount) { value in
            guard case .object(let range) = value,
                let object = FlatObject(UnsafeRawBufferPointer(rebasing: bytes[range]), maxMembers: memberLimit)
            else { return }
            found.append(object)
        }
        return found
    }

    /// Returns an integer; nil if the member is missing or of another type.
    package func whole(_ name: StaticString) -> Int64? {
        if case .whole(let number)? = value(name) { return number }
        return nil
    }

    /// Returns a number; nil if the member is missing or of another type.
    package func real(_ name: StaticString) -> Double? {
        switch value(name) {
        case .whole(let number): return Double(number)
        case .real(let number): return number
        default: return nil
        }
    }

    /// Returns a string with its escapes, to compare it with an ASCII literal without allocation.
    package func word(_ name: StaticString) -> FlatWord? {
        guard case .text(let range)? = value(name) else { return nil }
        return FlatWord(bytes: UnsafeRawBufferPointer(rebasing: bytes[range]))
    }

    /// Returns an unescaped string with control characters replaced.
    package func text(_ name: StaticString) -> String? {
        guard case .text(let range)? = value(name) else { return nil }
        return text(in: range)
    }

    /// Returns the string members of a nested object in order, at most `maxCount` of its members.
    package func members(of name: StaticString, maxCount: Int) -> [(name: String, value: String)] {
        guard let inner = object(name) else { return [] }
        return inner.json.members.prefix(maxCount).compactMap { member in
            guard case .text(let range) = member.value else { return nil }
            return (inner.text(in: member.key), inner.text(in: range))
        }
    }

    private func text(in range: Range<Int>) -> String {
        var units: [UInt16] = []
        var text = ""
        var plain: [UInt8] = []
        func endUnits() {
            text += String(decoding: units, as: UTF16.self)
            units.removeAll()
        }
        func endPlain() {
            text += String(decoding: plain, as: UTF8.self)
            plain.removeAll()
        }
        var index = range.lowerBound
        while index < range.upperBound {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "\\"), index + 1 < range.upperBound else {
                endUnits()
                plain.append(byte)
                index += 1
                continue
            }
            endPlain()
            let escape = bytes[index + 1]
            index += 2
            switch escape {
            case UInt8(ascii: "b"): units.append(8)
            case UInt8(ascii: "f"): units.append(12)
            case UInt8(ascii: "n"): units.append(10)
            case UInt8(ascii: "r"): units.append(13)
            case UInt8(ascii: "t"): units.append(9)
            case UInt8(ascii: "u"):
                let digits = bytes[index..<min(index + 4, range.upperBound)]
                units.append(UInt16(String(decoding: digits, as: UTF8.self), radix: 16) ?? 0xFFFD)
                index = min(index + 4, range.upperBound)
            default: units.append(UInt16(escape))
            }
        }
        endUnits()
        endPlain()
        return PrintableText.of(text)
    }
}

/// A string in a line, compared without allocation. Valid as long as the line's bytes.
package struct FlatWord {
    let bytes: UnsafeRawBufferPointer

    package static func == (word: FlatWord, text: StaticString) -> Bool {
        text.withUTF8Buffer { word.bytes.elementsEqual($0) }
    }

    package static func ~= (text: StaticString, word: FlatWord) -> Bool { word == text }
}
