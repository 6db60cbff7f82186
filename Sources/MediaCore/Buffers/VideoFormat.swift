/// Width and height in pixels.
public struct PixelSize: Hashable, Sendable, BitwiseCopyable {
    public var width: Int
    public var height: Int
    public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
}

/// A ratio of two positive whole numbers, as containers state pixel shapes and frame rates.
public struct Ratio: Hashable, Sendable, BitwiseCopyable {
    public var numerator: Int
    public var denominator: Int

    /// Zero and negative parts are taken as 1, because files say such things.
    public init(_ numerator: Int, _ denominator: Int) {
        self.numerator = numerator > 0 ? numerator : 1
        self.denominator = denominator > 0 ? denominator : 1
    }

    public var value: Double { Double(numerator) / Double(denominator) }
    public static let one = Ratio(1, 1)
}

/// How coded numbers become light: code points of ITU-T H.273 (tables 2, 3 and 4). 2 means "not said".
public struct ColorDescription: Hashable, Sendable, BitwiseCopyable {
    public var primaries: UInt8
    public var transfer: UInt8
    public var matrix: UInt8
    /// True when luma 0…255 is black to white, false for 16…235.
    public var isFullRange: Bool

    public init(primaries: UInt8 = 2, transfer: UInt8 = 2, matrix: UInt8 = 2, isFullRange: Bool = false) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    /// H.273 table 3: 16 is SMPTE ST 2084 (PQ), 18 is ARIB STD-B67 (HLG).
    public var isHighDynamicRange: Bool { transfer == 16 || transfer == 18 }

    /// The luma weights to use; where a film does not say, standard definition is BT.601 and the rest BT.709, as encoders assume. A film
    /// in scope has the width of its kind and not the height: 1280×544 is none of standard definition. mpv 0.35 draws the same line.
    ///
    /// - Parameter size: as it is stored.
    public func matrix(for size: PixelSize) -> YCbCrMatrix {
        switch matrix {
        case 1: return .bt709
        case 5, 6: return .bt601
        case 9, 10: return .bt2020
        default: return size.width >= 1280 || size.height > 576 ? .bt709 : .bt601
        }
    }
}

/// The three sets of luma weights that films use.
public enum YCbCrMatrix: Sendable, BitwiseCopyable { case bt601, bt709, bt2020 }

/// The format of encoded pictures. Immutable and shared by every buffer of a track.
public final class VideoFormat: Sendable, Equatable {
    public let parameters: CodecParameters
    /// Coded size in pixels, before pixel shape and rotation.
    public let size: PixelSize
    /// Width of a pixel over its height.
    public let pixelAspect: Ratio
    /// Clockwise turn to apply before showing, in degrees: 0, 90, 180 or 270.
    public let rotation: Int
    public let color: ColorDescription
    /// The container's nominal frame rate, when it states one. Frames carry their own times; this is a hint.
    public let frameRate: Ratio?
    /// cd/m² of the brightest white of an HDR film, when its container states it; the pictures may say more.
    public let peakLuminance: Double?

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

    public static func == (left: VideoFormat, right: VideoFormat) -> Bool {
        left === right
            || (left.parameters == right.parameters && left.size == right.size
                && left.pixelAspect == right.pixelAspect && left.rotation == right.rotation
                && left.color == right.color && left.frameRate == right.frameRate
                && left.peakLuminance == right.peakLuminance)
    }
}
