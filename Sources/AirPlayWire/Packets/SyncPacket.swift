package import MediaCore

/// Tells a realtime receiver which sound belongs to which moment; sent at the start and once a second.
package enum SyncPacket {
    /// Frames between the position a PTP sync packet names and the one that is heard at its time (measured on
    /// shairport-sync; 0.25 s of 44.1 kHz plus ten frames).
    package static let precedence: Int64 = 11035
    /// Distance of the second position in a PTP sync packet, as iOS sends it.
    static let lead: Int64 = 77175

    /// For PTP timing, 28 bytes: the frame `position` is heard at `instant` on the grandmaster's timeline.
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

    /// For NTP timing, 20 bytes: `next` is the packet to be sent at `time`, heard `latency` + 11025 frames later.
    package static func ntp(next: RTPTimestamp, latency: Int64, time: UInt64, isFirst: Bool) -> [UInt8] {
        var out: [UInt8] = [isFirst ? 0x90 : 0x80, 0xD4, 0x00, 0x07]
        out.append(bigEndian: next.advanced(byFrames: -latency).rawValue)
        out.append(bigEndian: time)
        out.append(bigEndian: next.rawValue)
        return out
    }
}

/// The question a receiver asks when timing is NTP, and the answer (32 bytes each).
package struct TimingRequest: Hashable, Sendable {
    private let marks: ArraySlice<UInt8>
    private let origin: ArraySlice<UInt8>

    /// Reads `80 D2`; nil for anything else.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= 32, bytes[0] == 0x80, bytes[1] == 0xD2 else { return nil }
        marks = bytes[2..<4]
        origin = bytes[24..<32]
    }

    /// - Parameters:
    ///   - received: when the question came, as an NTP 32.32 fixed-point time.
    ///   - sent: when the answer leaves.
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
