internal import MediaCore

extension PropertyList {
    /// Limits of decoding a binary property list; exceeding any is an error.
    package struct Limits: Sendable {
        /// Maximum nesting of containers.
        var depth = 32
        /// Maximum number of visited values; an object counts once per reference.
        var nodes = 100_000
        /// Maximum number of bytes of text and data; shared objects count once per reference.
        var payload = 16 << 20

        init() {}
    }

    /// Decodes a binary property list ("bplist00", as documented in Apple's open-source CFBinaryPList.c).
    ///
    /// Input is untrusted: every offset is checked, sets are rejected, and `limits` bounds the work for any reference
    /// graph.
    package init(binary bytes: [UInt8], limits: Limits = Limits()) throws(WireError) {
        var decoder = try BinaryPlistDecoder(bytes, limits: limits)
        self = try decoder.root()
    }
}

private struct BinaryPlistDecoder {
    private let bytes: [UInt8]
    private let limits: PropertyList.Limits
    private let offsetSize: Int
    private let referenceSize: Int
    private let objectCount: Int
    private let rootIndex: Int
    private let tableStart: Int
    /// Values visited, and bytes copied so far.
    private var visited = 0
    private var copied = 0

    /// The header without the minor version, and the size of the trailer in bytes.
    private static let magic = Array("bplist0".utf8)
    private static let trailerSize = 32

    init(_ bytes: [UInt8], limits: PropertyList.Limits) throws(WireError) {
        guard bytes.count >= 8 + Self.trailerSize, bytes.starts(with: Self.magic) else {
            throw .malformed("The speaker sent a property list without a valid header.")
        }
        self.bytes = bytes
        self.limits = limits
        var trailer = ByteReader(bytes[(bytes.count - Self.trailerSize)...])
        // Five unused bytes and a sort version come first. The reads below cannot fail within 32 bytes.
        _ = trailer.skip(6)
        offsetSize = Int(trailer.integer(UInt8.self) ?? 0)
        referenceSize = Int(trailer.integer(UInt8.self) ?? 0)
        let count = trailer.integer(UInt64.self) ?? 0
        let top = trailer.integer(UInt64.self) ?? 0
        let table = trailer.integer(UInt64.self) ?? 0
        let body = UInt64(bytes.count - Self.trailerSize)
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), count >= 1, top < count, table >= 8,
            table <= body, count <= (body - table) / UInt64(offsetSize)
        else { throw .malformed("The speaker sent a property list whose trailer contradicts its size.") }
        (objectCount, rootIndex, tableStart) = (Int(count), Int(top), Int(table))
    }

    mutating func root() throws(WireError) -> PropertyList { try value(rootIndex, depth: 0) }

    private func number(at position: Int, size: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in position..<(position + size) { value = value << 8 | UInt64(bytes[index]) }
        return value
    }

    private func end(_ start: Int, _ count: Int) throws(WireError) -> Int {
        let (end, overflow) = start.addingReportingOverflow(count)
        guard !overflow, count >= 0, end <= tableStart else {
            throw .malformed("The speaker sent a property list with a value that reaches past its end.")
        }
        return end
    }

    /// Returns the length after a marker and the position of the contents. The length has four bits; all ones mean an
    /// integer object follows.
    private func length(after position: Int, low: UInt8) throws(WireError) -> (count: Int, start: Int) {
        if low != 0xF { return (Int(low), position + 1) }
        _ = try end(position, 2)
        let marker = bytes[position + 1]
        guard marker & 0xF0 == 0x10, marker & 0xF <= 3 else {
            throw .malformed("The speaker sent a property list with a length that is not a number.")
        }
        let size = 1 << Int(marker & 0xF)
        let start = try end(position + 2, size)
        guard let count = Int(exactly: number(at: position + 2, size: size)) else {
            throw .malformed("The speaker sent a property list with an implausible length.")
        }
        return (count, start)
    }

    /// Adds copied bytes and throws when `limits.payload` is exceeded.
    private mutating func account(_ count: Int) throws(WireError) {
        let (sum, overflow) = copied.addingReportingOverflow(count)
        copied = sum
        guard !overflow, sum <= limits.payload else {
            throw .tooMuch("The speaker sent a property list that expands to more than \(limits.payload) bytes.")
        }
    }

    private mutating func value(_ index: Int, depth: Int) throws(WireError) -> PropertyList {
        visited += 1
        guard visited <= limits.nodes else {
            throw .tooMuch("The speaker sent a property list with more than \(limits.nodes) values.")
        }
        guard depth <= limits.depth else {
            throw .tooMuch("The speaker sent a property list nested deeper than \(limits.depth).")
        }
        let offset = number(at: tableStart + index * offsetSize, size: offsetSize)
        guard offset >= 8, offset < UInt64(tableStart) else {
            throw .malformed("The speaker sent a property list with an offset outside of it.")
        }
        let position = Int(offset)
        let marker = bytes[position]
        let low = marker & 0xF
        switch marker >> 4 {
        case 0x0: return try constant(low)
        case 0x1: return try integer(at: position, low: low)
        case 0x2: return .real(try real(at: position, low: low))
        case 0x3:
            guard low == 3 else { throw .malformed("The speaker sent a property list with a date of invalid size.") }
            return .date(try real(at: position, low: low))
        case 0x8:
            _ = try end(position + 1, Int(low) + 1)
            guard low < 8 else { throw .malformed("The speaker sent a property list with an overlong reference.") }
            return .uid(number(at: position + 1, size: Int(low) + 1))
        case 0x4, 0x5, 0x6, 0x7: return try payload(at: position, kind: marker >> 4, low: low)
        case 0xA: return .array(try references(at: position, low: low, perItem: 1, depth: depth))
        case 0xD:
            let flat = try references(at: position, low: low, perItem: 2, depth: depth)
            var members: [String: PropertyList] = [:]
            for slot in 0..<(flat.count / 2) {
                guard case .string(let key) = flat[slot] else {
                    throw .malformed("The speaker sent a property list with a key that is not text.")
                }
                members[key] = flat[flat.count / 2 + slot]
            }
            return .dictionary(members)
        default:
            throw .malformed("The speaker sent a property list with a value of unknown kind \(marker).")
        }
    }

    private func constant(_ low: UInt8) throws(WireError) -> PropertyList {
        switch low {
        case 0x0: return .null
        case 0x8: return .boolean(false)
        case 0x9: return .boolean(true)
        default: throw .malformed("The speaker sent a property list with an unknown constant.")
        }
    }

    /// Integers of 1, 2 and 4 bytes are unsigned, of 8 bytes signed; 16 bytes hold what does not fit into 8.
    private func integer(at position: Int, low: UInt8) throws(WireError) -> PropertyList {
        guard low <= 4 else { throw .malformed("The speaker sent a property list with an overlong number.") }
        let size = 1 << Int(low)
        _ = try end(position + 1, size)
        guard size == 16 else {
            let bits = number(at: position + 1, size: size)
            return .integer(Int64(bitPattern: bits))
        }
        let high = number(at: position + 1, size: 8)
        let lowBits = number(at: position + 9, size: 8)
        if high == 0 { return PropertyList(lowBits) }
        guard high == .max, lowBits > UInt64(Int64.max) else {
            throw .malformed("The speaker sent a property list with a number beyond 64 bits.")
        }
        return .integer(Int64(bitPattern: lowBits))
    }

    private func real(at position: Int, low: UInt8) throws(WireError) -> Double {
        switch low {
        case 2:
            _ = try end(position + 1, 4)
            return Double(Float(bitPattern: UInt32(number(at: position + 1, size: 4))))
        case 3:
            _ = try end(position + 1, 8)
            return Double(bitPattern: number(at: position + 1, size: 8))
        default: throw .malformed("The speaker sent a property list with a floating-point number of invalid size.")
        }
    }

    private mutating func payload(at position: Int, kind: UInt8, low: UInt8) throws(WireError) -> PropertyList {
        let (count, start) = try length(after: position, low: low)
        if kind == 0x6 {
            guard count <= bytes.count / 2 else {
                throw .malformed("The speaker sent a property list with a value that reaches past its end.")
            }
            let finish = try end(start, count * 2)
            try account(count * 2)
            var units: [UInt16] = []
            units.reserveCapacity(count)
            for index in stride(from: start, to: finish, by: 2) {
                units.append(UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]))
            }
            return .string(String(decoding: units, as: UTF16.self))
        }
        let finish = try end(start, count)
        try account(count)
        if kind == 0x4 { return .data(Array(bytes[start..<finish])) }
        return .string(String(decoding: bytes[start..<finish], as: UTF8.self))
    }

    /// Returns the values that a container references; for a dictionary all keys, then all values.
    private mutating func references(
        at position: Int, low: UInt8, perItem: Int, depth: Int
    ) throws(WireError) -> [PropertyList] {
        let (items, start) = try length(after: position, low: low)
        guard items <= limits.nodes else {
            throw .tooMuch("The speaker sent a property list with more than \(limits.nodes) values.")
        }
        let count = items * perItem
        _ = try end(start, count * referenceSize)
        var values: [PropertyList] = []
        values.reserveCapacity(count)
        for slot in 0..<count {
            let index = number(at: start + slot * referenceSize, size: referenceSize)
            guard index < UInt64(objectCount) else {
                throw .malformed("The speaker sent a property list that refers to a missing value.")
            }
            values.append(try value(Int(index), depth: depth + 1))
        }
        return values
    }
}
