internal import AirPlayWire
internal import MediaCore

/// The encoded packets of one stream: those waiting to be sent, and behind them those sent that may be wanted again.
///
/// A receiver that is paused forgets what it has decoded, and one that was lost has forgotten everything; `rewind`
/// sends from an earlier packet on. Memory is reserved once and becomes resident as it fills. Any thread; nothing
/// here waits or, after `init`, allocates.
final class PacketStore: Sendable {
    /// Where the packet that is sent next lies, as requests name it.
    struct Position: Equatable, Sendable {
        var sequence: UInt32
        var timestamp: RTPTimestamp
    }

    private let contents: Lock<PacketStoreContents>

    /// - Parameters:
    ///   - bytes: memory for packets.
    ///   - packets: how many at most.
    init(bytes: Int, packets: Int) { contents = Lock(PacketStoreContents(bytes: bytes, packets: packets)) }

    deinit { contents.withLock { $0.deallocate() } }

    /// Copies a packet to the end; false when there is no room, which is remembered for `takesRoomNotice`.
    func append(_ packet: UnsafeRawBufferPointer, timestamp: RTPTimestamp) -> Bool {
        contents.withLock { $0.append(packet, timestamp: timestamp) }
    }

    /// Moves the next packet to be sent into `out`, replacing what is there; its timestamp on the wire, or nil when
    /// none waits.
    func take(into out: inout [UInt8]) -> RTPTimestamp? { contents.withLock { $0.take(into: &out) } }

    /// The timestamp on the wire of the packet that `take` would give; nil when none waits.
    var nextTimestamp: RTPTimestamp? { contents.withLock { $0.nextTimestamp } }

    /// Whether an appender was turned away and there is room for many packets now; says so once.
    func takesRoomNotice() -> Bool { contents.withLock { $0.takesRoomNotice() } }

    /// Packets before this one, once sent, are not wanted again.
    func setFloor(_ timestamp: RTPTimestamp?) { contents.withLock { $0.floor = timestamp } }

    /// Packets waiting to be sent.
    var waiting: Int { contents.withLock { $0.end - $0.cursor } }

    /// The number of the first packet of a new connection.
    func beginNumbering(at sequence: UInt32) { contents.withLock { $0.nextSequence = sequence } }

    /// The number that the next packet will carry.
    var nextSequence: UInt32 { contents.withLock { $0.nextSequence } }

    /// Drops every packet; where the next one will lie if it carries `next`.
    func removeAll(next: RTPTimestamp) -> Position {
        contents.withLock { contents in
            contents.removeAll()
            return Position(sequence: contents.nextSequence, timestamp: contents.onWire(next))
        }
    }

    /// Sends again from the packet before the one that holds `timestamp`: the one before, because receivers mute a
    /// first packet. On the wire timestamps still go upward. Nil when nothing is kept.
    func rewind(to timestamp: RTPTimestamp, gap: Int64) -> Position? {
        contents.withLock { $0.rewind(to: timestamp, gap: gap) }
    }

    /// What a cut at a timestamp of the line would mean; nothing is changed.
    ///
    /// - Parameter frames: how many each packet holds.
    func cut(at timestamp: RTPTimestamp, frames: Int) -> PacketCut {
        contents.withLock { $0.cut(at: timestamp, frames) }
    }

    /// Drops a packet and all behind it when none of them has been taken yet; nil when one has.
    func dropUnsent(from timestamp: RTPTimestamp, frames: Int) -> PacketStore.Severed? {
        contents.withLock { contents in
            switch contents.cut(at: timestamp, frames) {
            case .nothing: Severed(timestamp: timestamp, packet: [])
            case .unsent(let index): contents.drop(from: index)
            case .sent: nil
            }
        }
    }

    /// Drops the packet that a cut names, and all behind it.
    func drop(_ cut: PacketCut) -> PacketStore.Severed? {
        contents.withLock { contents in
            switch cut {
            case .nothing: nil
            case .unsent(let index): contents.drop(from: index)
            case .sent(let sent): contents.drop(from: sent.index)
            }
        }
    }

    /// While true nothing is given out to be sent.
    func setHeld(_ isHeld: Bool) { contents.withLock { $0.isHeld = isHeld } }

    /// The timestamp that the wire carries for one of the line.
    func onWire(_ timestamp: RTPTimestamp) -> RTPTimestamp { contents.withLock { $0.onWire(timestamp) } }
}

extension PacketStore {
    /// A packet that was dropped, and where it lay on the line.
    struct Severed: Equatable, Sendable {
        var timestamp: RTPTimestamp
        var packet: [UInt8]
    }
}

/// Where a stream would be cut.
enum PacketCut: Equatable, Sendable {
    /// Behind the last packet.
    case nothing
    /// At a packet that has not been sent.
    case unsent(Int)
    case sent(Sent)

    struct Sent: Equatable, Sendable {
        var index: Int
        /// Where the packet lies on the line.
        var timestamp: RTPTimestamp
        /// The packet as the wire knows it, …
        var from: PacketStore.Position
        /// … and the one that comes next on the wire, which will lie there, too.
        var until: PacketStore.Position
    }
}

/// What the lock of `PacketStore` guards: two rings addressed by counters that never wrap.
private struct PacketStoreContents {
    struct Entry {
        var offset: Int
        var count: Int
        var timestamp: RTPTimestamp
        /// The number it was sent with last.
        var sequence: UInt32 = 0
    }

    private let byteCapacity: Int
    private let entryCapacity: Int
    private let bytes: UnsafeMutablePointer<UInt8>
    private let entries: UnsafeMutablePointer<Entry>
    /// Oldest packet kept, next packet to be sent, and just behind the newest.
    private(set) var first = 0
    private(set) var cursor = 0
    private(set) var end = 0
    private var writeOffset = 0
    private var wasFull = false
    /// Nothing is given out.
    var isHeld = false
    var floor: RTPTimestamp?
    var nextSequence: UInt32 = 0
    /// Frames added on the wire, grown by each rewind.
    private var shift: Int64 = 0
    /// The furthest timestamp that was on the wire.
    private var furthest: RTPTimestamp?

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

    mutating func take(into out: inout [UInt8]) -> RTPTimestamp? {
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
        if (furthest ?? timestamp).distance(to: timestamp) >= 0 { furthest = timestamp }
        return timestamp
    }

    var nextTimestamp: RTPTimestamp? { cursor < end && !isHeld ? onWire(entry(cursor).timestamp) : nil }

    mutating func takesRoomNotice() -> Bool {
        // Well below full, so that the appender comes back seldom and with much.
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
        // Timestamps only grow: the first packet that ends behind the cut.
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

    /// Drops a packet and all behind it; where it lay and what it held.
    mutating func drop(from index: Int) -> PacketStore.Severed? {
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
        return PacketStore.Severed(timestamp: entry.timestamp, packet: packet)
    }

    mutating func rewind(to timestamp: RTPTimestamp, gap: Int64) -> PacketStore.Position? {
        guard first < end else { return nil }
        var index = end - 1
        while index > first, entry(index).timestamp.distance(to: timestamp) < 0 { index -= 1 }
        cursor = max(first, index - 1)
        let start = entry(cursor).timestamp
        if let furthest {
            let wanted = furthest.advanced(byFrames: gap)
            shift += Int64(max(0, onWire(start).distance(to: wanted)))
        }
        return PacketStore.Position(sequence: nextSequence, timestamp: onWire(start))
    }
}
