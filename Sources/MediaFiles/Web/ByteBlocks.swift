internal import MediaCore

/// The most recently fetched bytes of one address, in blocks at fixed positions. Adding to a full store drops the
/// oldest block.
struct ByteBlocks {
    static let blockSize: Int64 = 64 << 10
    static let maxBytes: Int64 = 32 << 20

    private struct Block {
        var bytes: [UInt8]
        /// The filled part of `bytes`.
        var filled: Range<Int>
    }

    private var blocks: [Int64: Block] = [:]
    /// The keys of `blocks` in order of insertion.
    private var order: [Int64] = []

    /// Returns how many bytes fit into the block of a position, from that position on.
    static func space(from position: Int64) -> Int { Int(clamping: blockSize - position % blockSize) }

    func contains(_ position: Int64) -> Bool {
        blocks[position / Self.blockSize]?.filled.contains(Int(clamping: position % Self.blockSize)) ?? false
    }

    /// Copies bytes from a position on.
    ///
    /// - Returns: The number of copied bytes; 0 if the first byte is not stored.
    func copy(from position: Int64, into target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let start = Int(clamping: position % Self.blockSize)
        guard let block = blocks[position / Self.blockSize], block.filled.contains(start) else { return 0 }
        let count = min(target.count, block.filled.upperBound - start)
        _ = target.update(fromContentsOf: block.bytes[start..<start + count])
        return count
    }

    /// Stores bytes at a position, at most `space(from:)`.
    mutating func add(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int64) {
        let key = position / Self.blockSize
        let start = Int(clamping: position % Self.blockSize)
        let range = start..<start + bytes.count
        if blocks[key] == nil {
            if order.count >= Int(clamping: Self.maxBytes / Self.blockSize) { blocks[order.removeFirst()] = nil }
            order.append(key)
            blocks[key] = Block(bytes: [UInt8](repeating: 0, count: Int(clamping: Self.blockSize)), filled: range)
        }
        blocks[key]?.bytes.withUnsafeMutableBufferPointer { target in
            _ = UnsafeMutableBufferPointer(rebasing: target[range]).update(fromContentsOf: bytes)
        }
        guard let filled = blocks[key]?.filled else { return }
        // Bytes that are not adjacent to the stored ones replace them.
        let joins = range.lowerBound <= filled.upperBound && filled.lowerBound <= range.upperBound
        blocks[key]?.filled =
            joins
            ? min(range.lowerBound, filled.lowerBound)..<max(range.upperBound, filled.upperBound) : range
    }
}
