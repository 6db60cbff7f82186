internal import MediaCore

/// Fetched bytes of one address, in blocks at fixed positions. Adding to a full store drops the oldest block that is
/// not needed.
struct ByteBlocks {
    static let blockSize: Int64 = 64 << 10

    private struct Block {
        var bytes: [UInt8]
        /// The filled part of `bytes`.
        var filled: Range<Int>
    }

    private var blocks: [Int64: Block] = [:]
    /// The keys of `blocks` in order of insertion.
    private var order: [Int64] = []
    /// The stored bytes: sorted, neither overlapping nor adjacent.
    private(set) var ranges: [Range<Int64>] = []
    private let maxBlocks: Int

    /// Creates an empty store of at most `maxBytes`, but at least one block.
    init(maxBytes: Int64) { maxBlocks = max(1, Int(clamping: maxBytes / Self.blockSize)) }

    /// The memory of the store in bytes.
    var byteCount: Int64 { Int64(blocks.count) * Self.blockSize }

    /// Returns how many bytes fit into the block of a position, from that position on.
    static func space(from position: Int64) -> Int { Int(clamping: blockSize - position % blockSize) }

    func contains(_ position: Int64) -> Bool { end(from: position) > position }

    /// Returns the first position from `position` on that is not stored.
    func end(from position: Int64) -> Int64 { ranges.first { $0.contains(position) }?.upperBound ?? position }

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
    ///
    /// - Parameter needed: Bytes that are dropped only if the store contains nothing else.
    mutating func add(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int64, keeping needed: [Range<Int64>] = []) {
        guard !bytes.isEmpty else { return }
        let key = position / Self.blockSize
        let start = Int(clamping: position % Self.blockSize)
        let range = start..<start + bytes.count
        if blocks[key] == nil {
            var space = blocks.count >= maxBlocks ? dropOldest(keeping: needed) : []
            if space.isEmpty { space = [UInt8](repeating: 0, count: Int(clamping: Self.blockSize)) }
            order.append(key)
            blocks[key] = Block(bytes: space, filled: range)
        }
        blocks[key]?.bytes.withUnsafeMutableBufferPointer { target in
            _ = UnsafeMutableBufferPointer(rebasing: target[range]).update(fromContentsOf: bytes)
        }
        guard let filled = blocks[key]?.filled else { return }
        // Bytes that are not adjacent to the stored ones replace them.
        let joins = range.lowerBound <= filled.upperBound && filled.lowerBound <= range.upperBound
        let union =
            joins
            ? min(range.lowerBound, filled.lowerBound)..<max(range.upperBound, filled.upperBound) : range
        if !joins { remove(Self.positions(filled, of: key)) }
        blocks[key]?.filled = union
        insert(Self.positions(union, of: key))
    }

    /// Drops the oldest block without needed bytes, or else the oldest one, and returns its memory.
    private mutating func dropOldest(keeping needed: [Range<Int64>]) -> [UInt8] {
        let index = order.firstIndex { key in
            let block = key * Self.blockSize..<(key + 1) * Self.blockSize
            return !needed.contains { $0.overlaps(block) }
        }
        guard let block = blocks.removeValue(forKey: order[index ?? 0]) else { return [] }
        remove(Self.positions(block.filled, of: order.remove(at: index ?? 0)))
        return block.bytes
    }

    private static func positions(_ filled: Range<Int>, of key: Int64) -> Range<Int64> {
        key * blockSize + Int64(filled.lowerBound)..<key * blockSize + Int64(filled.upperBound)
    }

    private mutating func insert(_ range: Range<Int64>) {
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.count
        let last = ranges[first...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.count
        let lower = ranges[first..<last].first?.lowerBound ?? range.lowerBound
        let upper = ranges[first..<last].last?.upperBound ?? range.upperBound
        ranges.replaceSubrange(
            first..<last, with: [min(lower, range.lowerBound)..<max(upper, range.upperBound)])
    }

    private mutating func remove(_ range: Range<Int64>) {
        guard let index = ranges.firstIndex(where: { $0.overlaps(range) }) else { return }
        let found = ranges[index]
        // A block's bytes are contiguous, so they are within one range.
        let rest = [found.lowerBound..<range.lowerBound, range.upperBound..<found.upperBound].filter { !$0.isEmpty }
        ranges.replaceSubrange(index...index, with: rest)
    }
}
