/// Encodes ALAC "escape" frames, which are valid but contain uncompressed 16-bit samples.
///
/// For silence, rehearsal and tests. Audio for real receivers should be compressed: some play silence for escape
/// frames.
package enum LosslessEscape {
    /// Returns one frame of interleaved stereo samples. The number of samples is not written; it is the packet's.
    package static func frame(_ samples: [Int16]) -> [UInt8] {
        frame(samples.lazy.map { UInt32(UInt16(bitPattern: $0)) }, bits: 16)
    }

    /// Returns one packet of a lossless format with silence.
    package static func silence(of format: StreamFormat) -> [UInt8] {
        frame(
            repeatElement(0, count: format.framesPerPacket * format.channels), bits: format.bitsPerSample)
    }

    private static func frame(_ samples: some Collection<UInt32>, bits: Int) -> [UInt8] {
        var writer = BitWriter(capacity: samples.count * bits / 8 + 8)
        writer.write(1, bits: 3)  // element: channel pair
        writer.write(0, bits: 4)  // instance
        writer.write(0, bits: 12)
        writer.write(0, bits: 1)  // no explicit frame count
        writer.write(0, bits: 2)  // no bytes shifted
        writer.write(1, bits: 1)  // escape: not compressed
        for sample in samples { writer.write(sample, bits: bits) }
        writer.write(7, bits: 3)  // end tag
        return writer.aligned()
    }

    /// Returns the decoder configuration for SDP and file headers ("ALACSpecificConfig", 24 bytes).
    package static func configuration(
        framesPerPacket: UInt32 = 352, bitsPerSample: UInt8 = 16, sampleRate: UInt32 = 44100
    ) -> [UInt8] {
        func bytes(_ value: UInt32) -> [UInt8] {
            [UInt8(value >> 24), UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
        }
        // Rice history 40, initial 10, limit 14; two channels; maximum run 255; frame size and bit rate unspecified.
        return bytes(framesPerPacket) + [0, bitsPerSample, 40, 10, 14, 2, 0, 255] + bytes(0) + bytes(0)
            + bytes(sampleRate)
    }

    private struct BitWriter {
        private var bytes: [UInt8] = []
        private var accumulator: UInt64 = 0
        private var pending = 0

        init(capacity: Int) { bytes.reserveCapacity(capacity) }

        mutating func write(_ value: UInt32, bits: Int) {
            accumulator = accumulator << UInt64(bits) | UInt64(value)
            pending += bits
            while pending >= 8 {
                pending -= 8
                bytes.append(UInt8(truncatingIfNeeded: accumulator >> UInt64(pending)))
            }
        }

        func aligned() -> [UInt8] {
            pending == 0 ? bytes : bytes + [UInt8(truncatingIfNeeded: accumulator << UInt64(8 - pending))]
        }
    }
}
