internal import MediaCore

/// Encoded packets waiting to be sent, in memory that is reserved once.
struct PacketQueue {
    private struct Entry {
        var offset: Int
        var count: Int
        var timestamp: RTPTimestamp
    }

    private let capacity: Int
    private var bytes: [UInt8]
    private var entries: [Entry]
    private var head = 0
    private(set) var count = 0
    private var writeOffset = 0
    /// Bytes queued.
    private(set) var byteCount = 0

    init(bytes capacity: Int, packets: Int) {
        self.capacity = capacity
        bytes = [UInt8](repeating: 0, count: capacity)
        entries = Array(repeating: Entry(offset: 0, count: 0, timestamp: RTPTimestamp(rawValue: 0)), count: packets)
    }

    /// Copies a packet to the end; false when it does not fit.
    mutating func append(_ packet: UnsafeRawBufferPointer, timestamp: RTPTimestamp) -> Bool {
        guard count < entries.count, byteCount + packet.count <= capacity else { return false }
        let first = min(packet.count, capacity - writeOffset)
        let start = writeOffset
        bytes.withUnsafeMutableBytes { target in
            target[start..<(start + first)].copyBytes(from: packet.prefix(first))
            if first < packet.count { target[..<(packet.count - first)].copyBytes(from: packet.dropFirst(first)) }
        }
        entries[(head + count) % entries.count] = Entry(offset: start, count: packet.count, timestamp: timestamp)
        writeOffset = (writeOffset + packet.count) % capacity
        byteCount += packet.count
        count += 1
        return true
    }

    /// Moves the oldest packet into `out`, replacing what is there; its timestamp, or nil when there is none.
    mutating func take(into out: inout [UInt8]) -> RTPTimestamp? {
        guard count > 0 else { return nil }
        let entry = entries[head]
        head = (head + 1) % entries.count
        count -= 1
        byteCount -= entry.count
        out.removeAll(keepingCapacity: true)
        let first = min(entry.count, capacity - entry.offset)
        out.append(contentsOf: bytes[entry.offset..<(entry.offset + first)])
        out.append(contentsOf: bytes[..<(entry.count - first)])
        return entry.timestamp
    }

    mutating func removeAll() {
        head = 0
        count = 0
        byteCount = 0
        writeOffset = 0
    }
}
