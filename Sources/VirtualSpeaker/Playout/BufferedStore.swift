internal import AirPlayWire
internal import MediaCore

/// The stored packets of a buffered stream, and its pending flushes.
///
/// The semantics are those of shairport-sync. An immediate flush drops everything up to its end and
/// cancels deferred ones. A deferred flush begins when the packet with exactly its first number is due; if
/// that has passed, it has no effect.
struct BufferedStore: Sendable {
    /// Maximum number of pending deferred flushes; further ones are ignored.
    static let deferredLimit = 10

    private struct Deferred {
        let from: UInt32
        let until: UInt32
        var isActive = false
    }

    private var packets = Queue<StoredPacket>()
    private var immediateUntil: UInt32?
    private var deferred: [Deferred] = []
    /// Size of the stored packets in bytes on the wire.
    private(set) var bytes = 0

    var count: Int { packets.count }

    mutating func append(_ packet: StoredPacket) {
        packets.append(packet)
        bytes += packet.wireBytes
        dropFlushed()
    }

    mutating func flush(until sequence: UInt32) {
        immediateUntil = sequence
        dropFlushed()
    }

    mutating func flush(from: UInt32, until: UInt32) {
        guard deferred.count < Self.deferredLimit, from != until else { return }
        deferred.append(Deferred(from: from, until: until))
        dropFlushed()
    }

    /// The next packet to decode.
    var first: StoredPacket? { packets.first }

    mutating func popFirst() -> StoredPacket? {
        let packet = drop()
        dropFlushed()
        return packet
    }

    private mutating func drop() -> StoredPacket? {
        guard let packet = packets.popFirst() else { return nil }
        bytes -= packet.wireBytes
        return packet
    }

    private mutating func dropFlushed() {
        while let next = packets.first, isFlushed(next.sequence) { _ = drop() }
    }

    private mutating func isFlushed(_ sequence: UInt32) -> Bool {
        var flushed = false
        if let until = immediateUntil {
            if SequenceCircle.buffered.distance(from: until, to: sequence) >= 0 {
                immediateUntil = nil
                deferred = []
            } else {
                flushed = true
            }
        }
        for index in deferred.indices {
            if deferred[index].from == sequence { deferred[index].isActive = true }
        }
        deferred.removeAll { SequenceCircle.buffered.distance(from: $0.until, to: sequence) >= 0 }
        return flushed || deferred.contains { $0.isActive }
    }
}
