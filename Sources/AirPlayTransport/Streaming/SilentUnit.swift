package import AirPlayWire
package import MediaCore

/// Packets that contain silence.
package enum SilentUnit {
    /// An AAC-LC channel pair whose only window group uses code book 0 throughout, and the end element (ISO/IEC
    /// 14496-3, section 4.5.2).
    package static let stereo: [UInt8] = [0x21, 0x10, 0x04, 0x60, 0x8C, 0x1C]

    package static let lossless44100 = LosslessEscape.silence(of: .lossless44100)
    package static let lossless48000 = LosslessEscape.silence(of: .lossless48000)
}

extension PacketStore {
    /// Appends a silent packet. Returns false without space.
    package func appendSilence(_ format: StreamFormat, timestamp: RTPTimestamp) -> Bool {
        let packet =
            format.coding == .aacLC
            ? SilentUnit.stereo : format.bitsPerSample == 16 ? SilentUnit.lossless44100 : SilentUnit.lossless48000
        return packet.withUnsafeBytes { append($0, timestamp: timestamp) }
    }
}
