package import MediaCore

/// Makes the packets of a realtime stream (type 96): an RTP header, one ALAC frame encrypted, tag and nonce.
///
/// The nonce counts in 64 bits, so it never repeats under one key; receivers take it from the packet.
package struct RealtimePacketizer: Sendable {
    private let key: SecretBytes
    private let source: UInt32
    private var counter: UInt64
    package private(set) var nextSequence: UInt16

    /// - Parameter source: 0 when timing is PTP, `streamConnectionID` when it is NTP; constant for the stream.
    package init(key: SecretBytes, source: UInt32, firstSequence: UInt16, firstNonce: UInt64 = 0) {
        self.key = key
        self.source = source
        counter = firstNonce
        nextSequence = firstSequence
    }

    /// One packet, ready to be sent and to be kept for a resend.
    ///
    /// - Parameter marked: true for the first packet after a start or a flush.
    package mutating func packet(_ sound: [UInt8], timestamp: RTPTimestamp, marked: Bool) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(12 + sound.count + 24)
        sound.withUnsafeBufferPointer { append($0, timestamp: timestamp, marked: marked, to: &out) }
        return out
    }

    /// The same at the end of memory that is kept.
    package mutating func append(
        _ sound: UnsafeBufferPointer<UInt8>, timestamp: RTPTimestamp, marked: Bool, to out: inout [UInt8]
    ) {
        out.append(0x80)
        // Payload type 96 with RTP's marker bit (RFC 3550, section 5.1).
        out.append(marked ? 0xE0 : 0x60)
        out.append(bigEndian: nextSequence)
        out.append(bigEndian: timestamp.rawValue)
        out.append(bigEndian: source)
        let authenticated = (UInt64(timestamp.rawValue) << 32 | UInt64(source)).bigEndian
        withUnsafeBytes(of: authenticated) { header in
            ChaChaPoly.seal(
                sound, additionalData: header.bindMemory(to: UInt8.self), nonce: .init(counter: counter), key: key,
                into: &out)
        }
        out.append(littleEndian: counter)
        counter &+= 1
        nextSequence &+= 1
    }
}

/// The last packets sent on a realtime stream, for receivers that missed some.
package struct RetransmitBuffer: Sendable {
    /// Empty ones hold nothing; their memory is kept.
    private var packets: [[UInt8]]
    private var newest: UInt16?

    /// - Parameter capacity: packets kept at least; 512 are 4.1 s at 44.1 kHz. A power of two, so that places go on evenly
    ///   where the numbers go round.
    package init(capacity: Int = 512) {
        var places = 1
        while places < min(capacity, 1 << 15) { places *= 2 }
        packets = Array(repeating: [], count: places)
    }

    package mutating func keep(_ packet: [UInt8], sequence: UInt16) {
        let slot = Int(sequence) % packets.count
        packets[slot].removeAll(keepingCapacity: true)
        packets[slot].append(contentsOf: packet)
        newest = sequence
    }

    /// The packet as it was sent, or nil when it is no longer kept.
    package func packet(_ sequence: UInt16) -> [UInt8]? {
        guard let newest, Int(newest &- sequence) < packets.count else { return nil }
        let packet = packets[Int(sequence) % packets.count]
        return packet.isEmpty ? nil : packet
    }
}

/// What a receiver says when packets are missing, and how they are sent again.
package struct ResendRequest: Hashable, Sendable {
    /// The request's own number, echoed in each answer.
    package let sequence: UInt16
    package let firstMissing: UInt16
    package let count: UInt16

    /// Reads `80 D5`, a number, the first missing packet and how many; nil for anything else.
    package init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard reader.integer(UInt16.self) == 0x80D5, let sequence = reader.integer(UInt16.self),
            let first = reader.integer(UInt16.self), let count = reader.integer(UInt16.self)
        else { return nil }
        (self.sequence, firstMissing, self.count) = (sequence, first, count)
    }

    /// The answer for one packet.
    package func answer(_ packet: [UInt8]) -> [UInt8] {
        var out: [UInt8] = [0x80, 0xD6]
        out.append(bigEndian: sequence)
        return out + packet
    }
}
