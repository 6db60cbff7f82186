/// A cursor over bytes that nobody vouches for: every read says whether the bytes were there.
package struct ByteReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    package init(_ bytes: [UInt8]) { self.init(bytes[...]) }

    /// Bytes not yet read.
    package var remaining: Int { bytes.endIndex - position }

    /// The next big-endian integer, or nil when the bytes end before it does.
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

    /// The next `count` bytes, or nil when there are fewer.
    package mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, remaining >= count else { return nil }
        defer { position += count }
        return bytes[position..<(position + count)]
    }

    /// Everything not yet read.
    package mutating func takeRest() -> ArraySlice<UInt8> {
        defer { position = bytes.endIndex }
        return bytes[position...]
    }

    /// Steps over `count` bytes; false when there are fewer.
    package mutating func skip(_ count: Int) -> Bool { take(count) != nil }
}

extension Array where Element == UInt8 {
    /// Appends an integer, most significant byte first.
    package mutating func append<Integer: FixedWidthInteger>(bigEndian value: Integer) {
        var shift = Integer.bitWidth
        while shift > 0 {
            shift -= 8
            append(UInt8(truncatingIfNeeded: value >> Integer(truncatingIfNeeded: shift)))
        }
    }

    /// Appends an integer, least significant byte first.
    package mutating func append<Integer: FixedWidthInteger>(littleEndian value: Integer) {
        append(bigEndian: value.byteSwapped)
    }
}
