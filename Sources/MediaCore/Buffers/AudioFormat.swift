/// Which loudspeaker position each channel feeds: one bit per position, channels in ascending bit order.
///
/// The bits are those of WAVEFORMATEXTENSIBLE's `dwChannelMask` (front left 0x1, front right 0x2, front centre 0x4,
/// low frequency 0x8, back left 0x10, back right 0x20, …, side left 0x200, side right 0x400).
public struct ChannelLayout: Hashable, Sendable, BitwiseCopyable {
    /// Position bits; zero when the film does not say which channel is which.
    public var mask: UInt64
    /// Channels, at least 1.
    public var count: Int

    public init(mask: UInt64, count: Int) {
        self.mask = mask
        self.count = max(1, count)
    }

    public static let mono = ChannelLayout(mask: 0x4, count: 1)
    public static let stereo = ChannelLayout(mask: 0x3, count: 2)
    public static let surround51 = ChannelLayout(mask: 0x60F, count: 6)
    public static let surround71 = ChannelLayout(mask: 0x63F, count: 8)
}

/// What a decoder must know about compressed samples, whichever container or network they came from.
public struct CodecParameters: Hashable, Sendable {
    /// The codec's name as libavcodec spells it: `h264`, `aac`, `pcm_s16le`, …
    public var codec: String
    /// The container's own four-character tag, or 0.
    public var tag: UInt32
    /// Out-of-band configuration: AudioSpecificConfig, avcC, ALAC cookie, … as libavcodec's extradata.
    public var configuration: [UInt8]
    /// libavcodec's profile and level numbers; −99 (unknown) when the container does not say.
    public var profile: Int32
    public var level: Int32
    /// Bits per second, or 0.
    public var bitRate: Int64
    /// Bytes per block of fixed-size codecs, or 0.
    public var blockAlign: Int32
    public var bitsPerCodedSample: Int32
    public var bitsPerRawSample: Int32
    /// Frames per packet where that is constant (1024 for AAC-LC), or 0.
    public var framesPerPacket: Int32
    /// Frames that a decoder needs to be fed before a seek target for the target to come out right.
    public var seekPreroll: Int32
    /// Pictures that a decoder must hold back to put them in order, as far as the container says; 0 when it does not.
    public var reorderDepth: Int32

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

/// The format of encoded or raw audio samples. Immutable and shared by every buffer of a track.
public final class AudioFormat: Sendable, Equatable {
    public let parameters: CodecParameters
    /// Frames per second of the decoded sound.
    public let sampleRate: Int
    public let layout: ChannelLayout

    public init(parameters: CodecParameters, sampleRate: Int, layout: ChannelLayout) {
        self.parameters = parameters
        self.sampleRate = max(1, sampleRate)
        self.layout = layout
    }

    public static func == (left: AudioFormat, right: AudioFormat) -> Bool {
        left === right
            || (left.parameters == right.parameters && left.sampleRate == right.sampleRate
                && left.layout == right.layout)
    }
}

/// Decoded sound as the renderers exchange it: interleaved 32-bit floats, full scale ±1.
public struct PCMFormat: Hashable, Sendable, BitwiseCopyable {
    /// Frames per second.
    public var sampleRate: Int
    public var layout: ChannelLayout
    public var channels: Int { layout.count }

    public init(sampleRate: Int, layout: ChannelLayout) {
        self.sampleRate = max(1, sampleRate)
        self.layout = layout
    }
}
