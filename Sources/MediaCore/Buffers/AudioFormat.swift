/// The speaker position of each channel: one bit per position, channels in ascending bit order.
///
/// The bits are those of `dwChannelMask` in WAVEFORMATEXTENSIBLE: front left 0x1, front right 0x2, front centre 0x4,
/// low frequency 0x8, back left 0x10, back right 0x20, …, side left 0x200, side right 0x400.
public struct ChannelLayout: Hashable, Sendable, BitwiseCopyable {
    /// Position bits; zero if the media does not specify the order of channels.
    public var mask: UInt64
    /// The number of channels, at least 1.
    public var count: Int

    /// Creates a layout; a `count` below 1 becomes 1.
    public init(mask: UInt64, count: Int) {
        self.mask = mask
        self.count = max(1, count)
    }

    /// Front centre.
    public static let mono = ChannelLayout(mask: 0x4, count: 1)
    /// Front left and right.
    public static let stereo = ChannelLayout(mask: 0x3, count: 2)
    /// 5.1 with side channels: front left, right and centre, low frequency, side left and right.
    public static let surround51 = ChannelLayout(mask: 0x60F, count: 6)
    /// 7.1: `surround51` plus back left and right.
    public static let surround71 = ChannelLayout(mask: 0x63F, count: 8)

    /// The layout for the user: `mono`, `stereo`, `5.1`, `7.1`, `4 channels`.
    package var displayName: String {
        switch (count, self) {
        case (1, _): "mono"
        case (2, _): "stereo"
        case (_, .surround51): "5.1"
        case (_, .surround71): "7.1"
        default: "\(count) channels"
        }
    }
    /// Whether one of several channels is the front centre, which carries dialogue.
    package var hasCentre: Bool { count > 1 && mask & ChannelLayout.mono.mask != 0 }
}

/// The decoder configuration of compressed samples, independent of the container.
public struct CodecParameters: Hashable, Sendable {
    /// The codec's name in libavcodec: `h264`, `aac`, `pcm_s16le`, …
    public var codec: String
    /// The container's four-character code, or 0.
    public var tag: UInt32
    /// Out-of-band configuration (AudioSpecificConfig, avcC, ALAC cookie, …), in the format of libavcodec's extradata.
    public var configuration: [UInt8]
    /// libavcodec's profile number; −99 (unknown) if the container does not specify it.
    public var profile: Int32
    /// libavcodec's level number; −99 if unknown.
    public var level: Int32
    /// Bits per second, or 0 if unknown.
    public var bitRate: Int64
    /// Bytes per block of codecs with a fixed block size, or 0.
    public var blockAlign: Int32
    /// Bits per sample in the encoded stream, or 0.
    public var bitsPerCodedSample: Int32
    /// Significant bits per decoded sample, or 0.
    public var bitsPerRawSample: Int32
    /// Frames per packet if constant (1024 for AAC-LC), otherwise 0.
    public var framesPerPacket: Int32
    /// Frames that must be decoded before a seek target for correct output at the target.
    public var seekPreroll: Int32
    /// Maximum number of video frames that the decoder reorders, according to the container; 0 if unknown.
    public var reorderDepth: Int32

    /// Creates parameters; the defaults mean unknown.
    public init(
        codec: String, tag: UInt32 = 0, configuration: [UInt8] = [], profile: Int32 = -99, level: Int32 = -99,
        bitRate: Int64 = 0, blockAlign: Int32 = 0, bitsPerCodedSample: Int32 = 0, bitsPerRawSample: Int32 = 0,
        framesPerPacket: Int32 = 0, seekPreroll: Int32 = 0, reorderDepth: Int32 = 0
    ) {
        self.codec = codec
        self.tag = tag
        self.configuration = configuration
        self.profile = profile
        self.level = level
        self.bitRate = bitRate
        self.blockAlign = blockAlign
        self.bitsPerCodedSample = bitsPerCodedSample
        self.bitsPerRawSample = bitsPerRawSample
        self.framesPerPacket = framesPerPacket
        self.seekPreroll = seekPreroll
        self.reorderDepth = reorderDepth
    }
}

/// The format of encoded or raw audio samples. Immutable; all buffers of a track share one instance.
public final class AudioFormat: Sendable, Equatable {
    /// The decoder configuration.
    public let parameters: CodecParameters
    /// Frames per second of the decoded audio.
    public let sampleRate: Int
    /// The channels of the decoded audio.
    public let layout: ChannelLayout

    /// Creates a format; a `sampleRate` below 1 becomes 1.
    public init(parameters: CodecParameters, sampleRate: Int, layout: ChannelLayout) {
        self.parameters = parameters
        self.sampleRate = max(1, sampleRate)
        self.layout = layout
    }

    /// Compares all members.
    public static func == (left: AudioFormat, right: AudioFormat) -> Bool {
        left === right
            || (left.parameters == right.parameters && left.sampleRate == right.sampleRate
                && left.layout == right.layout)
    }
}

/// The format of decoded audio between renderers: interleaved 32-bit floats, full scale ±1.
public struct PCMFormat: Hashable, Sendable, BitwiseCopyable {
    /// Frames per second.
    public var sampleRate: Int
    /// The channels, in the order of their samples.
    public var layout: ChannelLayout
    /// The number of channels.
    public var channels: Int { layout.count }

    /// Creates a format; a `sampleRate` below 1 becomes 1.
    public init(sampleRate: Int, layout: ChannelLayout) {
        self.sampleRate = max(1, sampleRate)
        self.layout = layout
    }
}
