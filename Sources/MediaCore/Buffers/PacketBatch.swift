/// Encoded samples of one track: the bytes of one or more packets, and a table of their ranges.
///
/// Audio packets are small, so a batch contains several; a video frame is one packet. One thread fills a batch,
/// publishes it in a `SampleBuffer`, and after that it is read-only. `RecyclingPool` reuses its storage, so that the
/// steady state does not allocate.
///
/// `@unchecked Sendable`: only the sole owner mutates it (`removeAll`, `append`), before publication. `RecyclingPool`
/// guarantees this, because it returns uniquely referenced batches only.
public final class PacketBatch: @unchecked Sendable {
    /// The description of one packet in a batch.
    public struct Packet: Sendable, BitwiseCopyable {
        /// Byte offset in the batch.
        public var offset: Int
        /// Length in bytes.
        public var count: Int
        /// Presentation time of its first decoded sample, before trimming. Nil if unspecified: it follows the previous
        /// packet.
        public var presentationTime: MediaTime?
        /// Decode time for decoders that reorder frames; nil if unspecified.
        public var decodeTime: MediaTime?
        /// Duration in media time.
        public var duration: MediaTime
        /// Decoded frames to discard from its start: encoder delay, edit lists.
        public var trimStart: Int
        /// Decoded frames to discard from its end: padding, edit lists.
        public var trimEnd: Int
        /// Whether an edit list excludes its frames, which are decoded as references only (video).
        package var isDiscarded = false

        /// Creates a description; negative trims become 0.
        public init(
            offset: Int = 0, count: Int = 0, presentationTime: MediaTime?, decodeTime: MediaTime? = nil,
            duration: MediaTime, trimStart: Int = 0, trimEnd: Int = 0
        ) {
            self.offset = offset
            self.count = count
            self.presentationTime = presentationTime
            self.decodeTime = decodeTime
            self.duration = duration
            self.trimStart = max(0, trimStart)
            self.trimEnd = max(0, trimEnd)
        }
    }

    /// The packets in decode order.
    public private(set) var packets: [Packet] = []
    /// The total number of bytes.
    public private(set) var byteCount = 0
    private var storage: UnsafeMutableRawPointer
    private var capacity: Int
    /// The batch that owns the bytes; nil if this batch does.
    private var lender: PacketBatch?

    /// Creates an empty batch with reserved memory, in bytes and packets.
    public init(reservingBytes bytes: Int = 16 * 1024, packets count: Int = 64) {
        capacity = max(256, bytes)
        storage = .allocate(byteCount: capacity, alignment: 64)
        packets.reserveCapacity(count)
    }

    /// Creates a batch that shares the bytes of a published batch, without copying.
    ///
    /// - Parameter packets: packets of the other batch, possibly with changed timestamps or trims.
    public init(sharing other: PacketBatch, packets: [Packet]) {
        self.packets = packets
        (byteCount, storage, capacity) = (other.byteCount, other.storage, other.capacity)
        lender = other
    }

    deinit { if lender == nil { storage.deallocate() } }

    /// Removes all packets; keeps the storage.
    public func removeAll() {
        packets.removeAll(keepingCapacity: true)
        byteCount = 0
    }

    /// Appends a copy of one packet; sets its `offset` and `count`, which `packet` need not contain.
    public func append(_ bytes: UnsafeRawBufferPointer, as packet: Packet) {
        let needed = byteCount + bytes.count
        if needed > capacity || lender != nil {
            let grown = needed > capacity ? max(needed, capacity * 2) : capacity
            let fresh = UnsafeMutableRawPointer.allocate(byteCount: grown, alignment: 64)
            fresh.copyMemory(from: storage, byteCount: byteCount)
            if lender == nil { storage.deallocate() }
            (storage, capacity, lender) = (fresh, grown, nil)
        }
        if let base = bytes.baseAddress { (storage + byteCount).copyMemory(from: base, byteCount: bytes.count) }
        var entry = packet
        entry.offset = byteCount
        entry.count = bytes.count
        packets.append(entry)
        byteCount = needed
    }

    /// Calls `body` with the bytes of one packet; the pointer is valid during the call only.
    public func withBytes<Result>(of packet: Packet, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(start: storage + packet.offset, count: packet.count))
    }
}
