/// Encoded samples of one track: the bytes of one or more packets, one after the other, and where each lies.
///
/// Audio packets are small, so several travel together; a picture is one packet. A batch is filled by one thread,
/// published inside a `SampleBuffer`, and from then on only read. Its storage is kept for the next filling
/// (`RecyclingPool`), so that the steady state allocates nothing.
///
/// `@unchecked Sendable`: mutation (`removeAll`, `append`) is for the sole owner before publication, which
/// `RecyclingPool` guarantees by handing out only uniquely referenced batches.
public final class PacketBatch: @unchecked Sendable {
    /// One packet inside a batch.
    public struct Packet: Sendable, BitwiseCopyable {
        /// Byte offset and length inside the batch.
        public var offset: Int
        public var count: Int
        /// When its first decoded sample is due, before trimming. Nil when the source did not say: then it follows
        /// on from the packet before.
        public var presentationTime: MediaTime?
        /// When a decoder that reorders pictures wants it; nil when the source did not say.
        public var decodeTime: MediaTime?
        public var duration: MediaTime
        /// Decoded frames to discard from its start and its end: encoder delay, padding, edit lists.
        public var trimStart: Int
        public var trimEnd: Int

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

    public private(set) var packets: [Packet] = []
    public private(set) var byteCount = 0
    private var storage: UnsafeMutableRawPointer
    private var capacity: Int
    /// The batch whose bytes these are; nil when they are its own.
    private var lender: PacketBatch?

    public init(reservingBytes bytes: Int = 16 * 1024, packets count: Int = 64) {
        capacity = max(256, bytes)
        storage = .allocate(byteCount: capacity, alignment: 64)
        packets.reserveCapacity(count)
    }

    /// The bytes of a published batch with other descriptions: nothing is copied.
    ///
    /// - Parameter packets: some of the other batch's packets, their times or trims changed.
    public init(sharing other: PacketBatch, packets: [Packet]) {
        self.packets = packets
        (byteCount, storage, capacity) = (other.byteCount, other.storage, other.capacity)
        lender = other
    }

    deinit { if lender == nil { storage.deallocate() } }

    /// Empties the batch and keeps its storage.
    public func removeAll() {
        packets.removeAll(keepingCapacity: true)
        byteCount = 0
    }

    /// Copies one packet to the end; `offset` and `count` of `packet` are filled in.
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

    /// Lends the bytes of one packet for the length of the call.
    public func withBytes<Result>(of packet: Packet, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(start: storage + packet.offset, count: packet.count))
    }
}
