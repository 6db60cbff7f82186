/// How the samples of plain, uncompressed sound lie in memory.
public struct LinearPCM: Hashable, Sendable {
    public enum Sample: String, Sendable, CaseIterable {
        /// Unsigned with 128 for silence, as WAV has 8 bits.
        case uint8 = "u8"
        case int8 = "s8"
        case int16 = "s16"
        /// Three bytes each.
        case int24 = "s24"
        case int32 = "s32"
        case float32 = "f32"
        case float64 = "f64"

        /// Bytes of one sample.
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

    public var sample: Sample
    public var isBigEndian: Bool
    /// One channel after the other in each packet, instead of one frame after the other.
    public var isPlanar: Bool

    public init(_ sample: Sample, isBigEndian: Bool = false, isPlanar: Bool = false) {
        self.sample = sample
        self.isBigEndian = isBigEndian
        self.isPlanar = isPlanar
    }

    /// The codec's name as libavcodec spells it, where it knows the codec, and as it would where it does not.
    public var codec: String {
        let order = sample.bytes == 1 ? "" : isBigEndian ? "be" : "le"
        return "pcm_\(sample.rawValue)\(order)\(isPlanar ? "_planar" : "")"
    }
}

extension AudioFormat {
    /// The format of plain sound. A packet of it holds any whole number of frames.
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
