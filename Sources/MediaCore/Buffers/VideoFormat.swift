/// Width and height in pixels.
public struct PixelSize: Hashable, Sendable, BitwiseCopyable {
    /// Width in pixels.
    public var width: Int
    /// Height in pixels.
    public var height: Int
    /// Creates a size.
    public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
}

/// A ratio of two positive integers, used for pixel aspect ratios and frame rates.
public struct Ratio: Hashable, Sendable, BitwiseCopyable {
    /// The numerator, at least 1.
    public var numerator: Int
    /// The denominator, at least 1.
    public var denominator: Int

    /// Creates a ratio. Zero and negative parts, which occur in files, become 1.
    public init(_ numerator: Int, _ denominator: Int) {
        self.numerator = numerator > 0 ? numerator : 1
        self.denominator = denominator > 0 ? denominator : 1
    }

    /// The quotient.
    public var value: Double { Double(numerator) / Double(denominator) }
    /// 1:1.
    public static let one = Ratio(1, 1)
}

/// Colour code points of ITU-T H.273 (tables 2, 3 and 4); 2 means unspecified.
public struct ColorDescription: Hashable, Sendable, BitwiseCopyable {
    /// Colour primaries, table 2.
    public var primaries: UInt8
    /// Transfer characteristics, table 3.
    public var transfer: UInt8
    /// Matrix coefficients, table 4.
    public var matrix: UInt8
    /// True if luma 0…255 is black to white, false for 16…235.
    public var isFullRange: Bool

    /// Creates a description; the defaults mean unspecified, limited range.
    public init(primaries: UInt8 = 2, transfer: UInt8 = 2, matrix: UInt8 = 2, isFullRange: Bool = false) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    /// True for H.273 table 3 values 16, SMPTE ST 2084 (PQ), and 18, ARIB STD-B67 (HLG).
    public var isHighDynamicRange: Bool { transfer == 16 || transfer == 18 }

    /// Returns the matrix coefficients to use. If unspecified, BT.601 for standard definition and BT.709 otherwise, as
    /// encoders assume. The width decides too, because letterboxed HD such as 1280×544 is not standard definition; mpv
    /// 0.35 uses the same rule.
    ///
    /// - Parameter size: the coded size.
    public func matrix(for size: PixelSize) -> YCbCrMatrix {
        switch matrix {
        case 1: return .bt709
        case 5, 6: return .bt601
        case 9, 10: return .bt2020
        default: return size.width >= 1280 || size.height > 576 ? .bt709 : .bt601
        }
    }
}

/// The matrix coefficients that occur in video.
public enum YCbCrMatrix: Sendable, BitwiseCopyable { case bt601, bt709, bt2020 }

/// The format of encoded video. Immutable; all buffers of a track share one instance.
public final class VideoFormat: Sendable, Equatable {
    /// The decoder configuration.
    public let parameters: CodecParameters
    /// Coded size in pixels, before pixel aspect ratio and rotation.
    public let size: PixelSize
    /// Pixel width divided by pixel height.
    public let pixelAspect: Ratio
    /// Clockwise rotation to apply for display, in degrees: 0, 90, 180 or 270.
    public let rotation: Int
    /// Primaries, transfer function, matrix and range.
    public let color: ColorDescription
    /// Nominal frame rate of the container; nil if unspecified. A hint only: frames have timestamps.
    public let frameRate: Ratio?
    /// Peak luminance of HDR video in cd/m², from the container; nil if unspecified. Frames may have their own.
    public let peakLuminance: Double?

    /// Creates a format.
    public init(
        parameters: CodecParameters, size: PixelSize, pixelAspect: Ratio = .one, rotation: Int = 0,
        color: ColorDescription = ColorDescription(), frameRate: Ratio? = nil, peakLuminance: Double? = nil
    ) {
        self.parameters = parameters
        self.size = size
        self.pixelAspect = pixelAspect
        self.rotation = rotation
        self.color = color
        self.frameRate = frameRate
        self.peakLuminance = peakLuminance
    }

    /// Compares all members.
    public static func == (left: VideoFormat, right: VideoFormat) -> Bool {
        left === right
            || (left.parameters == right.parameters && left.size == right.size
                && left.pixelAspect == right.pixelAspect && left.rotation == right.rotation
                && left.color == right.color && left.frameRate == right.frameRate
                && left.peakLuminance == right.peakLuminance)
    }
}
