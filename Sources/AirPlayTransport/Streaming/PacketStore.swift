internal import AirPlayWire
package import MediaCore

/// The encoded packets of one stream: unsent ones, and sent ones that may be needed again.
///
/// A paused receiver discards what it has decoded, a lost one everything; `rewind` sends again from an earlier packet.
///
/// Memory is reserved once and becomes resident as it fills. Any thread; nothing blocks. After `init` only the methods
/// that drop packets allocate memory.
package final class PacketStore: Sendable {
    /// The sequence number and timestamp of the next packet, as used in requests.
    package struct Position: Equatable, Sendable {
        package var sequence: UInt32
        package var timestamp: RTPTimestamp
    }

    private let contents: Lock<PacketStoreContents>

    /// Reserves memory.
    ///
    /// - Parameters:
    ///   - bytes: Capacity in bytes.
    ///   - packets: Maximum number of packets.
    package init(bytes: Int, packets: Int) { contents = Lock(PacketStoreContents(bytes: bytes, packets: packets)) }

    deinit { contents.withLock { $0.deallocate() } }

    /// Appends a copy of a packet. Returns false without space, which `shouldSignalWritable` reports later.
    package func append(_ packet: UnsafeRawBufferPointer, timestamp: RTPTimestamp) -> Bool {
        contents.withLock { $0.append(packet, timestamp: timestamp) }
    }

    /// Replaces the contents of `out` by the next packet to send. Returns its timestamp on the wire, or nil if there is
    /// none.
    package func removeNext(into out: inout [UInt8]) -> RTPTimestamp? {
        contents.withLock { $0.removeNext(into: &out) }
    }

    /// The timestamp on the wire of the next packet; nil if there is none.
    package var nextTimestamp: RTPTimestamp? { contents.withLock { $0.nextTimestamp } }

    /// Returns true once after a failed append, when half of the capacity is free.
    package func shouldSignalWritable() -> Bool { contents.withLock { $0.shouldSignalWritable() } }

    /// Sets the timestamp before which sent packets may be discarded.
    package func setFloor(_ timestamp: RTPTimestamp?) { contents.withLock { $0.floor = timestamp } }

    /// The number of unsent packets.
    package var waiting: Int { contents.withLock { $0.end - $0.cursor } }

    /// Sets the sequence number of the next packet, for a new connection.
    package func beginNumbering(at sequence: UInt32) { contents.withLock { $0.nextSequence = sequence } }

    /// The sequence number of the next packet.
    package var nextSequence: UInt32 { contents.withLock { $0.nextSequence } }

    /// Discards all packets. Returns the position of the next one, given its timestamp `next`.
    package func removeAll(next: RTPTimestamp) -> Position {
        contents.withLock { contents in
            contents.removeAll()
            return Position(sequence: contents.nextSequence, timestamp: contents.onWire(next))
        }
    }

    /// Moves the read position to the packet before the one that contains `timestamp`, because receivers mute the first
    /// packet.
    ///
    /// Timestamps on the wire still increase, by at least `gap` frames. Returns nil if the store is empty.
    package func rewind(to timestamp: RTPTimestamp, gap: Int64) -> Position? {
        contents.withLock { $0.rewind(to: timestamp, gap: gap) }
    }

    /// Returns what a cut at a timestamp would affect, without changes.
    ///
    /// - Parameter frames: Frames per packet.
    package func cut(at timestamp: RTPTimestamp, frames: Int) -> PacketCut {
        contents.withLock { $0.cut(at: timestamp, frames) }
    }

    /// Discards a packet and all later ones if none of them has been sent. Returns nil otherwise.
    package func dropUnsent(from timestamp: RTPTimestamp, frames: Int) -> PacketStore.DroppedPacket? {
        contents.withLock { contents in
            switch contents.cut(at: timestamp, frames) {
            case .nothing: DroppedPacket(timestamp: timestamp, packet: [])
            case .unsent(let index): contents.drop(from: index)
            case .sent: nil
            }
        }
    }

    /// Discards the packet of a cut and all later ones.
    package func drop(_ cut: PacketCut) -> PacketStore.DroppedPacket? {
        contents.withLock { contents in
            switch cut {
            case .nothing: nil
            case .unsent(let index): contents.drop(from: index)
            case .sent(let sent): contents.drop(from: sent.index)
            }
        }
    }

    /// Sets whether `removeNext` returns no packets.
    package func setHeld(_ isHeld: Bool) { contents.withLock { $0.isHeld = isHeld } }

    /// Returns the timestamp on the wire of a stream timestamp.
    package func onWire(_ timestamp: RTPTimestamp) -> RTPTimestamp { contents.withLock { $0.onWire(timestamp) } }
}

extension PacketStore {
    /// A discarded packet and its stream timestamp.
    package struct DroppedPacket: Equatable, Sendable {
        package var timestamp: RTPTimestamp
        package var packet: [UInt8]
    }
}

/// The effect of a cut.
package enum PacketCut: Equatable, Sendable {
    /// No packet is affected.
    case nothing
    /// The first affected packet is unsent.
    case unsent(Int)
    /// The first affected packet was sent.
    case sent(Sent)

    package struct Sent: Equatable, Sendable {
        package var index: Int
        /// The stream timestamp of the packet.
        package var timestamp: RTPTimestamp
        /// The packet as sent.
        package var from: PacketStore.Position
        /// The next packet on the wire, which will have the same timestamp.
        package var until: PacketStore.Position
    }
}

/// The contents of `PacketStore`, guarded by its lock: two ring buffers with counters that never wrap.
private struct PacketStoreContents {
    struct Entry {
        var offset: Int
        var count: Int
        var timestamp: RTPTimestamp
        /// The sequence number with which it was last sent.
        var sequence: UInt32 = 0
    }

    private let byteCapacity: Int
    private let entryCapacity: Int
    private let bytes: UnsafeMutablePointer<UInt8>
    private let entries: UnsafeMutablePointer<Entry>
    /// Indices of the oldest packet, of the next packet to send, and after the newest packet.
    private(set) var first = 0
    private(set) var cursor = 0
    private(set) var end = 0
    private var writeOffset = 0
    private var wasFull = false
    /// Whether `removeNext` returns nothing.
    var isHeld = false
    var floor: RTPTimestamp?
    var nextSequence: UInt32 = 0
    /// Frames added to timestamps on the wire; grows with each rewind.
    private var shift: Int64 = 0
    /// The highest timestamp sent.
    private var highestSentTimestamp: RTPTimestamp?

    init(bytes: Int, packets: Int) {
        byteCapacity = max(1, bytes)
        entryCapacity = max(1, packets)
        self.bytes = .allocate(capacity: byteCapacity)
        entries = .allocate(capacity: entryCapacity)
    }

    func deallocate() {
        bytes.deallocate()
        entries.deallocate()
    }

    private func entry(_ index: Int) -> Entry { entries[index % entryCapacity] }

    private var usedBytes: Int { first == end ? 0 : writeOffset - entry(first).offset }

    private func fits(_ count: Int) -> Bool {
        end - first < entryCapacity && usedBytes + count <= byteCapacity
    }

    func onWire(_ timestamp: RTPTimestamp) -> RTPTimestamp { timestamp.advanced(byFrames: shift) }

    private func mayDrop(_ entry: Entry) -> Bool {
        guard let floor else { return true }
        return entry.timestamp.distance(to: floor) > 0
    }

    mutating func append(_ packet: UnsafeRawBufferPointer, timestamp: RTPTimestamp) -> Bool {
        while !fits(packet.count), first < cursor, mayDrop(entry(first)) { first += 1 }
        guard fits(packet.count) else {
            wasFull = true
            return false
        }
        let start = writeOffset % byteCapacity
        let head = min(packet.count, byteCapacity - start)
        if let base = packet.baseAddress {
            UnsafeMutableRawPointer(bytes + start).copyMemory(from: base, byteCount: head)
            UnsafeMutableRawPointer(bytes).copyMemory(from: base + head, byteCount: packet.count - head)
        }
        entries[end % entryCapacity] = Entry(offset: writeOffset, count: packet.count, timestamp: timestamp)
        writeOffset += packet.count
        end += 1
        return true
    }

    mutating func removeNext(into out: inout [UInt8]) -> RTPTimestamp? {
        guard cursor < end, !isHeld else { return nil }
        entries[cursor % entryCapacity].sequence = nextSequence
        let entry = entry(cursor)
        out.removeAll(keepingCapacity: true)
        let start = entry.offset % byteCapacity
        let head = min(entry.count, byteCapacity - start)
        out.append(contentsOf: UnsafeBufferPointer(start: bytes + start, count: head))
        out.append(contentsOf: UnsafeBufferPointer(start: bytes, count: entry.count - head))
        cursor += 1
        nextSequence = SequenceCircle.buffered.advanced(nextSequence)
        let timestamp = onWire(entry.timestamp)
        if (highestSentTimestamp ?? timestamp).distance(to: timestamp) >= 0 { highestSentTimestamp = timestamp }
        return timestamp
    }

    var nextTimestamp: RTPTimestamp? { cursor < end && !isHeld ? onWire(entry(cursor).timestamp) : nil }

    mutating func shouldSignalWritable() -> Bool {
        // Half empty, so that the appender is woken rarely and for many packets.
        guard wasFull, end - cursor <= entryCapacity / 2, waitingBytes <= byteCapacity / 2 else { return false }
        wasFull = false
        return true
    }

    private var waitingBytes: Int { cursor == end ? 0 : writeOffset - entry(cursor).offset }

    mutating func removeAll() {
        first = end
        cursor = end
        floor = nil
    }

    func cut(at timestamp: RTPTimestamp, _ frames: Int) -> PacketCut {
        // Binary search, since timestamps only grow: the first packet that ends after the cut.
        var (low, high) = (first, end)
        while low < high {
            let middle = (low + high) / 2
            let behind = entry(middle).timestamp.advanced(byFrames: Int64(frames))
            if timestamp.distance(to: behind) > 0 { high = middle } else { low = middle + 1 }
        }
        guard low < end else { return .nothing }
        guard low < cursor else { return .unsent(low) }
        let entry = entry(low)
        let onWire = onWire(entry.timestamp)
        return .sent(
            PacketCut.Sent(
                index: low, timestamp: entry.timestamp, from: .init(sequence: entry.sequence, timestamp: onWire),
                until: .init(sequence: nextSequence, timestamp: onWire)))
    }

    /// Discards a packet and all later ones. Returns the first discarded packet.
    mutating func drop(from index: Int) -> PacketStore.DroppedPacket? {
        guard index >= first, index < end else { return nil }
        let entry = entry(index)
        var packet: [UInt8] = []
        let start = entry.offset % byteCapacity
        let head = min(entry.count, byteCapacity - start)
        packet.append(contentsOf: UnsafeBufferPointer(start: bytes + start, count: head))
        packet.append(contentsOf: UnsafeBufferPointer(start: bytes, count: entry.count - head))
        writeOffset = entry.offset
        end = index
        cursor = min(cursor, index)
        return PacketStore.DroppedPacket(timestamp: entry.timestamp, packet: packet)
    }

    mutating func rewind(to timestamp: RTPTimestamp, gap: Int64) -> PacketStore.Position? {
        guard first < end else { return nil }
        var index = end - 1
        while index > first, entry(index).timestamp.distance(to: timestamp) < 0 { index -= 1 }
        cursor = max(first, index - 1)
        let start = entry(cursor).timestamp
        if let highestSentTimestamp {
            let wanted = highestSentTimestamp.advanced(byFrames: gap)
            shift += Int64(max(0, onWire(start).distance(to: wanted)))
        }
        return PacketStore.Position(sequence: nextSequence, timestamp: onWire(start))
    }
}
