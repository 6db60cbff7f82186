/// How the samples of a decoded picture lie in memory.
public enum PixelFormat: UInt8, Sendable, BitwiseCopyable {
    /// Planar 4:2:0, 8 bit: Y, Cb, Cr.
    case yuv420p
    /// Semi-planar 4:2:0, 8 bit: Y, then interleaved Cb and Cr.
    case nv12
    /// 32-bit words 0xAARRGGBB in memory order B, G, R, A.
    case bgra
    /// Anything else: only the converter that belongs to the decoder can read it.
    case other
}

/// The planes of a picture, valid only inside the closure that received them.
public struct PicturePlanes {
    /// First byte of each plane; nil where the format has fewer.
    public var bases: (UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?)
    /// Bytes from one row to the next, per plane.
    public var strides: (Int, Int, Int, Int)

    public init(
        bases: (UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?),
        strides: (Int, Int, Int, Int)
    ) {
        self.bases = bases
        self.strides = strides
    }

    /// The first byte of a plane, 0 to 3, and the bytes from one of its rows to the next.
    public subscript(plane: Int) -> (base: UnsafePointer<UInt8>?, stride: Int) {
        switch plane {
        case 0: (bases.0, strides.0)
        case 1: (bases.1, strides.1)
        case 2: (bases.2, strides.2)
        default: (bases.3, strides.3)
        }
    }
}

/// One decoded picture: immutable once it has been handed on, shared by whoever shows, saves or counts it.
public protocol Picture: AnyObject, Sendable {
    /// Visible size in pixels, before pixel shape and rotation.
    var size: PixelSize { get }
    var pixelFormat: PixelFormat { get }
    var pixelAspect: Ratio { get }
    /// Clockwise turn to apply before showing: 0, 90, 180 or 270 degrees.
    var rotation: Int { get }
    var color: ColorDescription { get }
    /// Bits of one luma sample.
    var bitDepth: Int { get }
    /// How its numbers lie in memory; nil where only the decoder's converter can read them.
    var planeLayout: PlaneLayout? { get }
    /// Where colour differences lie among the luma samples: ITU-T H.273, figure 1 (0 left, 1 centre); nil where nobody says.
    var chromaLocation: UInt8? { get }
    /// cd/m² of the brightest white of an HDR film, as the picture or its container states it; nil where neither does.
    var peakLuminance: Double? { get }
    /// Lends the planes for the length of the call. Any thread; does not allocate.
    func withPlanes<Result>(_ body: (PicturePlanes) -> Result) -> Result
}

extension Picture {
    public var planeLayout: PlaneLayout? { PlaneLayout(pixelFormat) }
    public var chromaLocation: UInt8? { nil }
    public var peakLuminance: Double? { nil }
}
