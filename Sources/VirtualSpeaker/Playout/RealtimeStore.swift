internal import AirPlayWire
internal import MediaCore

/// The packets of a realtime stream in order of sequence number, and the missing ones.
struct RealtimeStore: Sendable {
    /// The capacity in packets: 8.2 s at 44.1 kHz, as in shairport-sync.
    static let capacity = 1024
    /// Maximum number of requests per missing packet, and the interval between them.
    static let asksPerPacket = 6
    static let askInterval: Duration = .milliseconds(60)

    private struct Missing {
        var asks = 0
        var next: HostInstant
    }

    private var slots = [StoredPacket?](repeating: nil, count: capacity)
    /// The next packet to play; nil before the first packet.
    private var cursor: UInt16?
    /// The sequence number after the newest packet.
    private var end: UInt16 = 0
    private var missing: [UInt16: Missing] = [:]
    private var hasPlayed = false

    private static func slot(_ sequence: UInt16) -> Int { Int(sequence) % capacity }

    private static func distance(_ left: UInt16, from right: UInt16) -> Int {
        Int(SequenceCircle.realtime.distance(from: UInt32(right), to: UInt32(left)))
    }

    enum Outcome { case kept, late, repeated }

    mutating func insert(_ packet: StoredPacket, at now: HostInstant) -> Outcome {
        let sequence = UInt16(truncatingIfNeeded: packet.sequence)
        guard let cursor else {
            self.cursor = sequence
            end = sequence &+ 1
            slots[Self.slot(sequence)] = packet
            return .kept
        }
        let ahead = Self.distance(sequence, from: cursor)
        if ahead < 0 {
            // Packets may be reordered before playback begins.
            guard !hasPlayed, ahead > -32, Self.distance(end, from: sequence) < Self.capacity else { return .late }
            var gap = sequence &+ 1
            while gap != cursor {
                missing[gap] = Missing(next: now)
                gap &+= 1
            }
            self.cursor = sequence
        } else if ahead >= Self.capacity {
            // The stream jumped beyond the capacity: restart here.
            self = RealtimeStore()
            return insert(packet, at: now)
        }
        let slot = Self.slot(sequence)
        if slots[slot]?.sequence == packet.sequence { return .repeated }
        slots[slot] = packet
        missing[sequence] = nil
        while Self.distance(sequence, from: end) >= 0 {
            if end != sequence { missing[end] = Missing(next: now) }
            end &+= 1
        }
        return .kept
    }

    /// Returns the runs of missing packets to request now, and counts the requests.
    mutating func requests(at now: HostInstant) -> [(first: UInt16, count: UInt16)] {
        guard let cursor else { return [] }
        missing = missing.filter { Self.distance($0.key, from: cursor) >= 0 && $0.value.asks < Self.asksPerPacket }
        let due = missing.filter { $0.value.next <= now }.keys
            .sorted { Self.distance($0, from: cursor) < Self.distance($1, from: cursor) }
        var runs: [(first: UInt16, count: UInt16)] = []
        for sequence in due {
            missing[sequence]?.asks += 1
            missing[sequence]?.next = now.advanced(by: Self.askInterval)
            if let last = runs.last, last.first &+ last.count == sequence {
                runs[runs.count - 1].count += 1
            } else {
                runs.append((sequence, 1))
            }
        }
        return runs
    }

    var hasMissing: Bool { !missing.isEmpty }

    /// The next available packet, and the number of missing ones before it.
    var first: (packet: StoredPacket, gap: Int)? {
        guard let cursor else { return nil }
        var sequence = cursor
        while sequence != end {
            if let packet = slots[Self.slot(sequence)] { return (packet, Self.distance(sequence, from: cursor)) }
            sequence &+= 1
        }
        return nil
    }

    mutating func popFirst() -> (packet: StoredPacket, gap: Int)? {
        guard let first else { return nil }
        let sequence = UInt16(truncatingIfNeeded: first.packet.sequence)
        slots[Self.slot(sequence)] = nil
        cursor = sequence &+ 1
        hasPlayed = true
        return first
    }

    /// Discards all packets before a position; the stream continues there.
    mutating func flush(until position: RTPTimestamp, at now: HostInstant) {
        var kept: [StoredPacket] = []
        while let next = popFirst() {
            if position.distance(to: next.packet.timestamp) >= 0 { kept.append(next.packet) }
        }
        self = RealtimeStore()
        for packet in kept { _ = insert(packet, at: now) }
    }
}
