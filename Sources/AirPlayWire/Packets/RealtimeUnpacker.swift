package import MediaCore

/// Parses the packets of a realtime stream, for software receivers.
package struct RealtimeUnpacker: Sendable {
    /// A decrypted packet.
    package struct Packet: Hashable, Sendable {
        package let sequence: UInt16
        package let timestamp: RTPTimestamp
        /// RTP's marker bit: the first packet after a start or a flush.
        let hasMarker: Bool
        package let audio: [UInt8]
    }

    private let key: SecretBytes?

    /// - Parameter key: Nil: packets are not encrypted, as in classic AirPlay.
    package init(key: SecretBytes?) { self.key = key }

    private func clear(_ datagram: ArraySlice<UInt8>) -> Packet? {
        var reader = ByteReader(datagram)
        guard datagram.count > 12, reader.integer(UInt8.self) == 0x80, let type = reader.integer(UInt8.self),
            type & 0x7F == 96, let sequence = reader.integer(UInt16.self), let time = reader.integer(UInt32.self),
            reader.skip(4)
        else { return nil }
        return Packet(
            sequence: sequence, timestamp: RTPTimestamp(rawValue: time), hasMarker: type & 0x80 != 0,
            audio: Array(reader.readRemaining()))
    }

    /// Returns the packet in a datagram; nil if it is malformed or not authentic.
    package func open(_ datagram: ArraySlice<UInt8>) -> Packet? {
        guard let key else { return clear(datagram) }
        var reader = ByteReader(datagram)
        // Header 12, tag 16, nonce 8, at least one byte of payload.
        guard datagram.count > 36, reader.integer(UInt8.self) == 0x80, let type = reader.integer(UInt8.self),
            type & 0x7F == 96, let sequence = reader.integer(UInt16.self), let time = reader.integer(UInt32.self),
            reader.skip(4), let sealed = reader.readBytes(datagram.count - 20),
            let nonce = ChaChaPoly.NonceTail(reader.readRemaining())
        else { return nil }
        let header = Array(datagram[(datagram.startIndex + 4)..<(datagram.startIndex + 12)])
        var audio: [UInt8] = []
        let authentic = Array(sealed).withUnsafeBufferPointer { sealed in
            header.withUnsafeBufferPointer { header in
                ChaChaPoly.open(sealed, additionalData: header, nonce: nonce, key: key, into: &audio)
            }
        }
        guard authentic else { return nil }
        return Packet(
            sequence: sequence, timestamp: RTPTimestamp(rawValue: time), hasMarker: type & 0x80 != 0, audio: audio)
    }
}

/// A packet on the control port of a realtime receiver.
package enum RealtimeControl: Hashable, Sendable {
    /// Frame `position` is audible at `instant`, according to the protocol alone. The instant is on the grandmaster's
    /// timeline (PTP timing), or on the sender's NTP clock, in nanoseconds since its origin.
    case sync(position: RTPTimestamp, instant: PTPInstant, clock: UInt64?, isFirst: Bool)
    /// A retransmitted packet with its RTP header.
    case resent([UInt8])

    /// Frames from the position in an NTP sync packet back to the frame audible at its time: 0.25 s at 44.1 kHz.
    package static let networkTimePrecedence: Int64 = 11025

    /// Parses a datagram; nil for anything else.
    package init?(_ datagram: ArraySlice<UInt8>) {
        var reader = ByteReader(datagram)
        guard let first = reader.integer(UInt8.self), first & 0xEF == 0x80, let type = reader.integer(UInt8.self),
            reader.skip(2)
        else { return nil }
        switch type {
        case 0xD7:
            guard let position = reader.integer(UInt32.self), let time = reader.integer(Int64.self), reader.skip(4),
                let clock = reader.integer(UInt64.self)
            else { return nil }
            let audible = RTPTimestamp(rawValue: position).advanced(byFrames: -SyncPacket.precedence)
            self = .sync(
                position: audible, instant: PTPInstant(nanoseconds: time), clock: clock, isFirst: first & 0x10 != 0)
        case 0xD4:
            guard let position = reader.integer(UInt32.self), let time = reader.integer(UInt64.self) else {
                return nil
            }
            let audible = RTPTimestamp(rawValue: position).advanced(byFrames: -Self.networkTimePrecedence)
            self = .sync(
                position: audible, instant: PTPInstant(networkTime: time), clock: nil, isFirst: first & 0x10 != 0)
        case 0xD6: self = .resent(Array(reader.readRemaining()))
        default: return nil
        }
    }
}

extension PTPInstant {
    /// Creates an instant from an NTP 32.32 fixed-point time, rounded down to nanoseconds.
    package init(networkTime time: UInt64) {
        let seconds = Int64(time >> 32)
        let fraction = Int64(((time & 0xFFFF_FFFF) * 1_000_000_000) >> 32)
        self.init(nanoseconds: seconds * 1_000_000_000 + fraction)
    }

    /// The instant as an NTP 32.32 fixed-point time; seconds wrap after 136 years.
    package var networkTime: UInt64 {
        let magnitude = UInt64(bitPattern: max(0, nanoseconds))
        let (seconds, rest) = magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
        // Rounded up, so that the conversion back yields the same nanosecond.
        return seconds << 32 | ((rest << 32) + 999_999_999) / 1_000_000_000
    }
}

extension ResendRequest {
    /// Returns a serialized request, 8 bytes.
    package static func bytes(sequence: UInt16, firstMissing: UInt16, count: UInt16) -> [UInt8] {
        var out: [UInt8] = [0x80, 0xD5]
        out.append(bigEndian: sequence)
        out.append(bigEndian: firstMissing)
        out.append(bigEndian: count)
        return out
    }
}

/// The receiver's side of NTP timing (32 bytes in each direction).
package enum TimingExchange {
    /// Returns a request with its departure on the receiver's clock.
    package static func request(sent: UInt64) -> [UInt8] {
        var out: [UInt8] = [0x80, 0xD2, 0x00, 0x07]
        out.append(bigEndian: UInt32(0))
        out.append(bigEndian: UInt64(0))
        out.append(bigEndian: UInt64(0))
        out.append(bigEndian: sent)
        return out
    }

    /// Parses a response: departure of the request (receiver's clock), its arrival and the departure of the response
    /// (sender's clock).
    package static func answer(_ bytes: ArraySlice<UInt8>) -> (origin: UInt64, received: UInt64, sent: UInt64)? {
        var reader = ByteReader(bytes)
        guard bytes.count >= 32, reader.integer(UInt16.self) == 0x80D3, reader.skip(6),
            let origin = reader.integer(UInt64.self), let received = reader.integer(UInt64.self),
            let sent = reader.integer(UInt64.self)
        else { return nil }
        return (origin, received, sent)
    }
}
