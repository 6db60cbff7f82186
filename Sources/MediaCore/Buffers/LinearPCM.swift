/// The memory layout of uncompressed (linear PCM) samples.
public struct LinearPCM: Hashable, Sendable {
    /// The type of one sample.
    public enum Sample: String, Sendable, CaseIterable {
        /// Unsigned; 128 is silence, as in WAV files with 8 bits.
        case uint8 = "u8"
        /// Signed, 8 bits.
        case int8 = "s8"
        /// Signed, 16 bits.
        case int16 = "s16"
        /// Packed in three bytes.
        case int24 = "s24"
        /// Signed, 32 bits.
        case int32 = "s32"
        /// Floating point, 32 bits (IEEE 754); full scale is ±1.
        case float32 = "f32"
        /// Floating point, 64 bits (IEEE 754); full scale is ±1.
        case float64 = "f64"

        /// Bytes per sample.
        public var bytes: Int {
            switch self {
            case .uint8, .int8: 1
            case .int16: 2
            case .int24: 3
            case .int32, .float32: 4
            case .float64: 8
            }
        }
    }

    /// The type of each sample.
    public var sample: Sample
    /// The byte order; irrelevant for one-byte samples.
    package var isBigEndian: Bool
    /// True if each packet contains one channel after the other, false for interleaved frames.
    package var isPlanar: Bool

    /// Creates a layout, by default interleaved and little-endian.
    public init(_ sample: Sample, isBigEndian: Bool = false, isPlanar: Bool = false) {
        self.sample = sample
        self.isBigEndian = isBigEndian
        self.isPlanar = isPlanar
    }

    /// The codec name in libavcodec's scheme; libavcodec does not implement every combination.
    public var codec: String {
        let order = sample.bytes == 1 ? "" : isBigEndian ? "be" : "le"
        return "pcm_\(sample.rawValue)\(order)\(isPlanar ? "_planar" : "")"
    }
}

extension AudioFormat {
    /// Creates the format of linear PCM; a packet contains any whole number of frames.
    ///
    /// - Parameter sampleRate: frames per second.
    public convenience init(_ linear: LinearPCM, sampleRate: Int, layout: ChannelLayout) {
        let bits = Int32(linear.sample.bytes * 8)
        self.init(
            parameters: CodecParameters(
                codec: linear.codec, blockAlign: Int32(linear.sample.bytes * layout.count), bitsPerCodedSample: bits,
                bitsPerRawSample: bits),
            sampleRate: sampleRate, layout: layout)
    }
}
