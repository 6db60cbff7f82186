package import AirPlayWire
package import MediaCore

/// Packets that contain silence.
package enum SilentUnit {
    /// AAC-LC access units of two, six and eight channels.
    package static let stereo = advancedAudio(pairs: 1, hasCentre: false)
    package static let surround51 = advancedAudio(pairs: 2, hasCentre: true)
    package static let surround71 = advancedAudio(pairs: 3, hasCentre: true)

    /// Returns an access unit of AAC-LC without spectral data: its elements in the order of the channel configuration,
    /// each without scale factor bands, and the end element (ISO/IEC 14496-3, table 1.19 and section 4.4.2).
    ///
    /// - Parameters:
    ///   - pairs: The number of channel pairs.
    ///   - hasCentre: Whether a centre precedes the pairs, and a low frequency channel follows.
    private static func advancedAudio(pairs: Int, hasCentre: Bool) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ value: Int, _ width: Int) {
            for bit in (0..<width).reversed() { bits.append(value >> bit & 1 == 1) }
        }
        // Reserved bit, long window with Kaiser-Bessel shape, no bands, no prediction.
        func windows() { append(0b000_1_000000_0, 11) }
        // Global gain; no pulse data, noise shaping and gain control.
        func gain() { append(140, 8) }
        func tools() { append(0, 3) }
        func single(_ element: Int) {
            append(element, 3)
            append(0, 4)
            gain()
            windows()
            tools()
        }
        if hasCentre { single(0) }
        for tag in 0..<pairs {
            append(1, 3)
            append(tag, 4)
            append(1, 1)
            windows()
            append(0, 2)
            for _ in 0..<2 {
                gain()
                tools()
            }
        }
        if hasCentre { single(3) }
        append(7, 3)
        return stride(from: 0, to: bits.count, by: 8).map { start in
            (0..<8).reduce(UInt8(0)) { byte, bit in
                byte << 1 | (start + bit < bits.count && bits[start + bit] ? 1 : 0)
            }
        }
    }

    static func advancedAudio(channels: Int) -> [UInt8] {
        switch channels {
        case 6: surround51
        case 8: surround71
        default: stereo
        }
    }

    package static let lossless44100 = LosslessEscape.silence(of: .lossless44100)
    package static let lossless48000 = LosslessEscape.silence(of: .lossless48000)
}

extension PacketStore {
    /// Appends a silent packet. Returns false without space.
    package func appendSilence(_ format: StreamFormat, timestamp: RTPTimestamp) -> Bool {
        let packet =
            format.coding == .aacLC
            ? SilentUnit.advancedAudio(channels: format.channels)
            : format.bitsPerSample == 16 ? SilentUnit.lossless44100 : SilentUnit.lossless48000
        return packet.withUnsafeBytes { append($0, timestamp: timestamp) }
    }
}
