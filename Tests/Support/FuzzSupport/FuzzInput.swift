/// Reads choices from a fuzzer's bytes in order. At the end of the input every number is 0 and every byte string is
/// empty.
package struct FuzzInput: Sendable {
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ start: UnsafePointer<UInt8>?, _ count: Int) {
        rest = Array(UnsafeBufferPointer(start: start, count: count))[...]
    }

    package var isEmpty: Bool { rest.isEmpty }

    package mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// Returns a big-endian 16-bit number.
    package mutating func short() -> UInt16 { UInt16(byte()) << 8 | UInt16(byte()) }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Returns a byte string with an 8-bit length prefix.
    package mutating func piece() -> [UInt8] { bytes(Int(byte())) }

    /// Returns a byte string with a 16-bit length prefix (up to 65,535 bytes).
    package mutating func longPiece() -> [UInt8] { bytes(Int(short())) }

    package mutating func remainder() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }
}
