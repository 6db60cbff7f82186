package import MediaCore

/// Serializes the packets of a buffered stream (type 103) in the layout of Apple's senders.
///
/// Layout: packet length (two bytes), `0x80`, marker bit and 23-bit sequence number, RTP timestamp, SSRC, ciphertext,
/// tag, eight nonce bytes. Timestamp and SSRC are authenticated.
package struct BufferedPacketizer: Sendable {
    /// Bytes per packet in addition to the payload.
    package static let overhead = 14 + 16 + 8
    /// Maximum payload of a packet in bytes.
    package static let payloadLimit = Int(UInt16.max) - overhead
    /// The number of sequence numbers, after which they wrap.
    package static let sequenceModulus = SequenceCircle.buffered.count

    private let key: SecretBytes
    private let source: UInt32
    /// The next nonce.
    private var counter: UInt64
    /// Sequence number of the next packet.
    package private(set) var nextSequence: UInt32

    /// - Parameters:
    ///   - key: `shk` of the stream's SETUP, 32 bytes.
    ///   - firstSequence: any number; taken modulo 2²³.
    package init(key: SecretBytes, format: StreamFormat, firstSequence: UInt32, firstNonce: UInt64 = 0) {
        self.key = key
        source = format.synchronizationSource
        counter = firstNonce
        nextSequence = SequenceCircle.buffered.number(UInt64(firstSequence))
    }

    /// Appends one packet. Allocates only if `out` must grow.
    ///
    /// - Returns: false if the payload is larger than `payloadLimit`; nothing is appended then.
    package mutating func append(_ audio: [UInt8], timestamp: RTPTimestamp, to out: inout [UInt8]) -> Bool {
        audio.withUnsafeBufferPointer { append($0, timestamp: timestamp, to: &out) }
    }

    /// Appends one packet with a payload in unowned memory.
    package mutating func append(
        _ audio: UnsafeBufferPointer<UInt8>, timestamp: RTPTimestamp, to out: inout [UInt8]
    ) -> Bool {
        guard audio.count <= Self.payloadLimit else { return false }
        out.append(bigEndian: UInt16(audio.count + Self.overhead))
        out.append(bigEndian: UInt32(0x8080_0000) | nextSequence)
        let authenticated: [8 of UInt8] = Self.header(timestamp: timestamp, source: source)
        for index in 0..<8 { out.append(authenticated[index]) }
        withUnsafeBytes(of: authenticated) { header in
            ChaChaPoly.seal(
                audio, additionalData: header.bindMemory(to: UInt8.self), nonce: .init(counter: counter),
                key: key, into: &out)
        }
        out.append(littleEndian: counter)
        counter &+= 1
        nextSequence = SequenceCircle.buffered.advanced(nextSequence)
        return true
    }

    /// Returns timestamp and SSRC in network byte order, the authenticated data.
    private static func header(timestamp: RTPTimestamp, source: UInt32) -> [8 of UInt8] {
        let time = timestamp.rawValue
        return [
            UInt8(truncatingIfNeeded: time >> 24), UInt8(truncatingIfNeeded: time >> 16),
            UInt8(truncatingIfNeeded: time >> 8), UInt8(truncatingIfNeeded: time),
            UInt8(truncatingIfNeeded: source >> 24), UInt8(truncatingIfNeeded: source >> 16),
            UInt8(truncatingIfNeeded: source >> 8), UInt8(truncatingIfNeeded: source),
        ]
    }
}

/// Parses a buffered stream, for software receivers; chunk boundaries are arbitrary.
package struct BufferedUnpacker: Sendable {
    /// A decrypted packet.
    package struct Packet: Hashable, Sendable {
        /// 23 bits.
        package let sequence: UInt32
        package let timestamp: RTPTimestamp
        package let synchronizationSource: UInt32
        package let audio: [UInt8]
    }

    private let key: SecretBytes
    private var partial: [UInt8] = []

    package init(key: SecretBytes) { self.key = key }

    /// Returns every packet that is now complete. Buffers at most one incomplete packet (64 KiB).
    package mutating func open(_ bytes: some Collection<UInt8>) throws(WireError) -> [Packet] {
        partial.append(contentsOf: bytes)
        var packets: [Packet] = []
        var start = 0
        defer { partial.removeSubrange(..<start) }
        while partial.count - start >= 2 {
            let length = Int(partial[start]) << 8 | Int(partial[start + 1])
            guard length >= BufferedPacketizer.overhead else {
                throw .malformed("The sender sent an audio packet of \(length) bytes.")
            }
            guard partial.count - start >= length else { break }
            packets.append(try packet(partial[start..<(start + length)]))
            start += length
        }
        return packets
    }

    private func packet(_ bytes: ArraySlice<UInt8>) throws(WireError) -> Packet {
        var reader = ByteReader(bytes)
        guard reader.skip(2), let head = reader.integer(UInt32.self), let time = reader.integer(UInt32.self),
            let source = reader.integer(UInt32.self), let sealed = reader.readBytes(bytes.count - 22),
            let nonce = ChaChaPoly.NonceTail(reader.readRemaining())
        else { throw .malformed("The sender sent a truncated audio packet.") }
        let header = Array(bytes[(bytes.startIndex + 6)..<(bytes.startIndex + 14)])
        var audio: [UInt8] = []
        let authentic = Array(sealed).withUnsafeBufferPointer { sealed in
            header.withUnsafeBufferPointer { header in
                ChaChaPoly.open(sealed, additionalData: header, nonce: nonce, key: key, into: &audio)
            }
        }
        guard authentic else { throw WireError(.notAuthentic, "An audio packet failed authentication.") }
        return Packet(
            sequence: SequenceCircle.buffered.number(UInt64(head)), timestamp: RTPTimestamp(rawValue: time),
            synchronizationSource: source, audio: audio)
    }
}
