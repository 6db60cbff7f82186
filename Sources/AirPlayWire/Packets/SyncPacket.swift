package import MediaCore

/// Serializes the sync packets of a realtime stream, which map RTP timestamps to time. Sent at the start and once per
/// second.
package enum SyncPacket {
    /// Frames from the position in a PTP sync packet back to the frame audible at its time (measured on shairport-sync:
    /// 0.25 s at 44.1 kHz plus ten frames).
    static let precedence: Int64 = 11035
    /// Frames from the first to the second position in a PTP sync packet, as sent by iOS.
    static let lead: Int64 = 77175

    /// Returns a packet for PTP timing, 28 bytes: frame `position` is audible at `instant` on the grandmaster's
    /// timeline.
    package static func ptp(
        position: RTPTimestamp, instant: PTPInstant, clock: UInt64, isFirst: Bool
    ) -> [UInt8] {
        let first = position.advanced(byFrames: precedence)
        var out: [UInt8] = [isFirst ? 0x90 : 0x80, 0xD7, 0x00, 0x06]
        out.append(bigEndian: first.rawValue)
        out.append(bigEndian: instant.nanoseconds)
        out.append(bigEndian: first.advanced(byFrames: lead).rawValue)
        out.append(bigEndian: clock)
        return out
    }

    /// Returns a packet for NTP timing, 20 bytes: packet `next` is sent at `time` and audible `latency` + 11025 frames
    /// later.
    package static func ntp(next: RTPTimestamp, latency: Int64, time: UInt64, isFirst: Bool) -> [UInt8] {
        var out: [UInt8] = [isFirst ? 0x90 : 0x80, 0xD4, 0x00, 0x07]
        out.append(bigEndian: next.advanced(byFrames: -latency).rawValue)
        out.append(bigEndian: time)
        out.append(bigEndian: next.rawValue)
        return out
    }
}

/// A receiver's request for NTP timing, and the response (32 bytes each).
package struct TimingRequest: Hashable, Sendable {
    private let marks: ArraySlice<UInt8>
    private let origin: ArraySlice<UInt8>

    /// Parses `80 D2`; nil for anything else.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= 32, bytes[0] == 0x80, bytes[1] == 0xD2 else { return nil }
        marks = bytes[2..<4]
        origin = bytes[24..<32]
    }

    /// Returns the response.
    ///
    /// - Parameters:
    ///   - received: arrival of the request, as an NTP 32.32 fixed-point time.
    ///   - sent: departure of the response.
    package func answer(received: UInt64, sent: UInt64) -> [UInt8] {
        var out: [UInt8] = [0x80, 0xD3]
        out.append(contentsOf: marks)
        out.append(bigEndian: UInt32(0))
        out.append(contentsOf: origin)
        out.append(bigEndian: received)
        out.append(bigEndian: sent)
        return out
    }
}
