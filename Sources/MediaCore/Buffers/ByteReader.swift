/// A cursor over untrusted bytes. Every read reports whether enough bytes were left.
package struct ByteReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    package init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// The number of unread bytes.
    var remaining: Int { bytes.endIndex - position }

    /// Reads a big-endian integer. Returns nil and consumes nothing if too few bytes are left.
    package mutating func integer<Integer: FixedWidthInteger>(_ type: Integer.Type = Integer.self) -> Integer? {
        let width = Integer.bitWidth / 8
        guard remaining >= width else { return nil }
        var value: Integer = 0
        for index in position..<(position + width) {
            value = value &<< 8 | Integer(truncatingIfNeeded: bytes[index])
        }
        position += width
        return value
    }

    /// Reads `count` bytes. Returns nil and consumes nothing if too few bytes are left.
    package mutating func readBytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, remaining >= count else { return nil }
        defer { position += count }
        return bytes[position..<(position + count)]
    }

    /// Reads all remaining bytes.
    package mutating func readRemaining() -> ArraySlice<UInt8> {
        defer { position = bytes.endIndex }
        return bytes[position...]
    }

    /// Skips `count` bytes. Returns false and consumes nothing if too few bytes are left.
    package mutating func skip(_ count: Int) -> Bool { readBytes(count) != nil }
}

extension Array where Element == UInt8 {
    /// Appends an integer in big-endian byte order.
    package mutating func append<Integer: FixedWidthInteger>(bigEndian value: Integer) {
        var shift = Integer.bitWidth
        while shift > 0 {
            shift -= 8
            append(UInt8(truncatingIfNeeded: value >> Integer(truncatingIfNeeded: shift)))
        }
    }

    /// Appends an integer in little-endian byte order.
    package mutating func append<Integer: FixedWidthInteger>(littleEndian value: Integer) {
        append(bigEndian: value.byteSwapped)
    }
}
