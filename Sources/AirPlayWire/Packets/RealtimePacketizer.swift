package import MediaCore

/// Serializes the packets of a realtime stream (type 96): RTP header, one encrypted ALAC frame, tag, nonce.
///
/// The nonce is a 64-bit counter, so it never repeats under one key. Receivers read it from the packet.
package struct RealtimePacketizer: Sendable {
    private let key: SecretBytes
    private let source: UInt32
    /// The next nonce.
    private var counter: UInt64
    package private(set) var nextSequence: UInt16

    /// - Parameter source: the SSRC, constant for the stream: 0 for PTP timing, `streamConnectionID` for NTP timing.
    package init(key: SecretBytes, source: UInt32, firstSequence: UInt16, firstNonce: UInt64 = 0) {
        self.key = key
        self.source = source
        counter = firstNonce
        nextSequence = firstSequence
    }

    /// Returns one packet, to be sent and stored for retransmission.
    ///
    /// - Parameter marked: sets RTP's marker bit; true for the first packet after a start or a flush.
    package mutating func packet(_ audio: [UInt8], timestamp: RTPTimestamp, marked: Bool) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(12 + audio.count + 24)
        audio.withUnsafeBufferPointer { append($0, timestamp: timestamp, marked: marked, to: &out) }
        return out
    }

    /// Appends one packet to a reused buffer.
    package mutating func append(
        _ audio: UnsafeBufferPointer<UInt8>, timestamp: RTPTimestamp, marked: Bool, to out: inout [UInt8]
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
                audio, additionalData: header.bindMemory(to: UInt8.self), nonce: .init(counter: counter), key: key,
                into: &out)
        }
        out.append(littleEndian: counter)
        counter &+= 1
        nextSequence &+= 1
    }
}

/// The most recent packets of a realtime stream, for retransmission.
package struct RetransmitBuffer: Sendable {
    /// Slot = sequence number modulo capacity. Unused slots are empty; their memory is reused.
    private var packets: [[UInt8]]
    private var newest: UInt16?

    /// - Parameter capacity: the minimum number of packets; 512 are 4.1 s at 44.1 kHz. Rounded up to a power of two, so
    ///   that slots stay consecutive when sequence numbers wrap.
    package init(capacity: Int = 512) {
        var slots = 1
        while slots < min(capacity, 1 << 15) { slots *= 2 }
        packets = Array(repeating: [], count: slots)
    }

    /// Stores a packet in place of the oldest one.
    package mutating func store(_ packet: [UInt8], sequence: UInt16) {
        let slot = Int(sequence) % packets.count
        packets[slot].removeAll(keepingCapacity: true)
        packets[slot].append(contentsOf: packet)
        newest = sequence
    }

    /// Returns the packet as it was sent; nil if it is no longer stored.
    package func packet(_ sequence: UInt16) -> [UInt8]? {
        guard let newest, Int(newest &- sequence) < packets.count else { return nil }
        let packet = packets[Int(sequence) % packets.count]
        return packet.isEmpty ? nil : packet
    }
}

/// A receiver's request for missing packets of a realtime stream.
package struct ResendRequest: Hashable, Sendable {
    /// Sequence number of the request, echoed in each response.
    let sequence: UInt16
    package let firstMissing: UInt16
    package let count: UInt16

    /// Parses `80 D5`, sequence number, first missing packet and count; nil for anything else.
    package init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard reader.integer(UInt16.self) == 0x80D5, let sequence = reader.integer(UInt16.self),
            let first = reader.integer(UInt16.self), let count = reader.integer(UInt16.self)
        else { return nil }
        (self.sequence, firstMissing, self.count) = (sequence, first, count)
    }

    /// Returns the response that contains one packet.
    package func answer(_ packet: [UInt8]) -> [UInt8] {
        var out: [UInt8] = [0x80, 0xD6]
        out.append(bigEndian: sequence)
        return out + packet
    }
}
