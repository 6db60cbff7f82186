/// An audio format that a stream can carry, and its number in AirPlay (bit of `audioFormat`).
package struct StreamFormat: Hashable, Sendable {
    package enum Coding: Hashable, Sendable { case appleLossless, aacLC }

    /// The index in the `audioFormat` mask.
    package let bit: Int
    package let coding: Coding
    /// Frames per second; also the rate of the stream's RTP clock.
    package let sampleRate: Int
    package let channels: Int
    /// Bits per sample for lossless formats, otherwise 0.
    package let bitsPerSample: Int
    /// Frames per packet; the last packet may have fewer.
    package let framesPerPacket: Int
    /// SSRC of buffered packets, which identifies the format. Receivers select the decoder by it; one terminated on an
    /// unknown value.
    package let synchronizationSource: UInt32

    /// `audioFormat` in the stream's SETUP.
    package var mask: Int64 { 1 << Int64(bit) }

    /// `ct` in the stream's SETUP: 2 lossless, 4 AAC-LC.
    var compressionType: Int64 { coding == .appleLossless ? 2 : 4 }

    /// ALAC 44.1 kHz 16 bit. The SSRC is that of shairport-sync; Apple's is unknown.
    package static let lossless44100 = StreamFormat(
        bit: 18, coding: .appleLossless, sampleRate: 44100, channels: 2, bitsPerSample: 16, framesPerPacket: 352,
        synchronizationSource: 0x0000_FACE)
    /// ALAC 48 kHz 24 bit.
    package static let lossless48000 = StreamFormat(
        bit: 21, coding: .appleLossless, sampleRate: 48000, channels: 2, bitsPerSample: 24, framesPerPacket: 352,
        synchronizationSource: 0x1500_0000)
    /// AAC-LC 44.1 kHz.
    package static let aac44100 = StreamFormat(
        bit: 22, coding: .aacLC, sampleRate: 44100, channels: 2, bitsPerSample: 0, framesPerPacket: 1024,
        synchronizationSource: 0x1600_0000)
    /// AAC-LC 48 kHz.
    package static let aac48000 = StreamFormat(
        bit: 23, coding: .aacLC, sampleRate: 48000, channels: 2, bitsPerSample: 0, framesPerPacket: 1024,
        synchronizationSource: 0x1700_0000)
    /// AAC-LC 48 kHz 5.1, on buffered streams only.
    package static let aacSurround51 = StreamFormat(
        bit: 39, coding: .aacLC, sampleRate: 48000, channels: 6, bitsPerSample: 0, framesPerPacket: 1024,
        synchronizationSource: 0x2700_0000)
    /// AAC-LC 48 kHz 7.1, on buffered streams only. shairport-sync reads the number so; in Apple's tables it is 5.1.2.
    package static let aacSurround71 = StreamFormat(
        bit: 40, coding: .aacLC, sampleRate: 48000, channels: 8, bitsPerSample: 0, framesPerPacket: 1024,
        synchronizationSource: 0x2800_0000)

    /// Every format that can be sent.
    package static let all: [StreamFormat] = [
        lossless44100, lossless48000, aac44100, aac48000, aacSurround51, aacSurround71,
    ]

    /// The coding, kilohertz, bits and channels, such as `ALAC 44.1/16`.
    package var name: String {
        (coding == .aacLC ? "AAC-LC " : "ALAC ") + (sampleRate == 48000 ? "48" : "44.1")
            + (bitsPerSample > 0 ? "/\(bitsPerSample)" : "") + (channels > 2 ? " \(channels - 1).1" : "")
    }

    /// `channelConfiguration` of AAC (ISO/IEC 14496-3, table 1.19).
    package var channelConfiguration: Int { channels == 8 ? 7 : channels }
}
