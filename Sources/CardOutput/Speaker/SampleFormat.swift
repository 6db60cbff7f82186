internal import CALSA

/// A sample format of a device, with conversion from and to Float. Values beyond full scale are clipped.
enum SampleFormat: CaseIterable {
    // In order of preference: no conversion first, then by precision.
    case float32, int32, int24in32, int24packed, int16

    var alsa: snd_pcm_format_t {
        switch self {
        case .float32: return SND_PCM_FORMAT_FLOAT_LE
        case .int32: return SND_PCM_FORMAT_S32_LE
        case .int24in32: return SND_PCM_FORMAT_S24_LE
        case .int24packed: return SND_PCM_FORMAT_S24_3LE
        case .int16: return SND_PCM_FORMAT_S16_LE
        }
    }

    var bytesPerSample: Int {
        switch self {
        case .float32, .int32, .int24in32: return 4
        case .int24packed: return 3
        case .int16: return 2
        }
    }

    /// Converts interleaved frames and reorders their channels; −1 in `sources` writes silence.
    func convert(
        _ input: UnsafePointer<Float>, frames: Int, channels: Int, sources: UnsafePointer<Int>, count: Int,
        to output: UnsafeMutableRawPointer
    ) {
        switch self {
        case .float32:
            let target = output.assumingMemoryBound(to: Float.self)
            Self.each(input, frames: frames, channels: channels, sources: sources, count: count) {
                target[$0] = min(1, max(-1, $1))
            }
        case .int32:
            let target = output.assumingMemoryBound(to: Int32.self)
            // 2³¹ exceeds Int32: the Double is clipped to the largest value below.
            Self.each(input, frames: frames, channels: channels, sources: sources, count: count) {
                target[$0] = Int32(min(2_147_483_647, max(-2_147_483_648, Double($1) * 2_147_483_648)))
            }
        case .int24in32:
            let target = output.assumingMemoryBound(to: Int32.self)
            Self.each(input, frames: frames, channels: channels, sources: sources, count: count) {
                target[$0] = Self.int24($1)
            }
        case .int24packed:
            let target = output.assumingMemoryBound(to: UInt8.self)
            Self.each(input, frames: frames, channels: channels, sources: sources, count: count) {
                let value = UInt32(bitPattern: Self.int24($1))
                target[$0 * 3] = UInt8(truncatingIfNeeded: value)
                target[$0 * 3 + 1] = UInt8(truncatingIfNeeded: value >> 8)
                target[$0 * 3 + 2] = UInt8(truncatingIfNeeded: value >> 16)
            }
        case .int16:
            let target = output.assumingMemoryBound(to: Int16.self)
            Self.each(input, frames: frames, channels: channels, sources: sources, count: count) {
                target[$0] = Int16(min(32767, max(-32768, ($1 * 32768).rounded())))
            }
        }
    }

    /// Returns the sample at an index of captured data; full scale is 1. NaN and infinity become 0.
    func value(_ input: UnsafeRawPointer, at index: Int) -> Float {
        switch self {
        case .float32:
            let value = input.loadUnaligned(fromByteOffset: index * 4, as: Float.self)
            return value.isFinite ? value : 0
        case .int32: return Float(input.loadUnaligned(fromByteOffset: index * 4, as: Int32.self)) / 2_147_483_648
        case .int24in32:
            // The highest byte is undefined.
            let raw = input.loadUnaligned(fromByteOffset: index * 4, as: Int32.self)
            return Float((raw << 8) >> 8) / 8_388_608
        case .int24packed:
            let bytes = input.assumingMemoryBound(to: UInt8.self) + index * 3
            let raw = UInt32(bytes[0]) << 8 | UInt32(bytes[1]) << 16 | UInt32(bytes[2]) << 24
            return Float(Int32(bitPattern: raw) >> 8) / 8_388_608
        case .int16: return Float(input.loadUnaligned(fromByteOffset: index * 2, as: Int16.self)) / 32768
        }
    }

    private static func int24(_ value: Float) -> Int32 {
        Int32(min(8_388_607, max(-8_388_608, (value * 8_388_608).rounded())))
    }

    /// Calls `body` with the output index and the value of every sample. NaN, which a corrupt stream can decode to,
    /// becomes silence.
    @inline(__always)
    private static func each(
        _ input: UnsafePointer<Float>, frames: Int, channels: Int, sources: UnsafePointer<Int>, count: Int,
        _ body: (Int, Float) -> Void
    ) {
        for frame in 0..<frames {
            for channel in 0..<count {
                let source = sources[channel]
                let value = source < 0 ? 0 : input[frame * channels + source]
                body(frame * count + channel, value == value ? value : 0)
            }
        }
    }
}
