/// A fuzzer's bytes as choices, first to last. At the end every number is 0 and every piece is empty.
package struct FuzzInput: Sendable {
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
        rest = Array(UnsafeBufferPointer(start: start, count: count))[...]
    }

    package var isEmpty: Bool { rest.isEmpty }

    package mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// Two bytes, the high one first.
    package mutating func short() -> UInt16 { UInt16(byte()) << 8 | UInt16(byte()) }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// As many bytes as the next one says.
    package mutating func piece() -> [UInt8] { bytes(Int(byte())) }

    /// The same of up to 65,535.
    package mutating func longPiece() -> [UInt8] { bytes(Int(short())) }

    package mutating func remainder() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }
}
