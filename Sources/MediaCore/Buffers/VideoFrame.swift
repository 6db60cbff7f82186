/// The memory layout of decoded pixels.
public enum PixelFormat: UInt8, Sendable, BitwiseCopyable {
    /// Planar 4:2:0, 8 bit: Y, Cb, Cr.
    case yuv420p
    /// Semi-planar 4:2:0, 8 bit: Y, then interleaved Cb and Cr.
    case nv12
    /// 32-bit words 0xAARRGGBB in memory order B, G, R, A.
    case bgra
    /// Any other layout; only the decoder's converter can read it.
    case other
}

/// The planes of a video frame; valid only inside the closure that receives them.
public struct VideoFramePlanes {
    /// First byte of each plane; nil for planes that the format does not have.
    public var bases: (UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?)
    /// Bytes between rows (linesize), per plane.
    public var strides: (Int, Int, Int, Int)

    /// Creates a set of planes.
    public init(
        bases: (UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, UnsafePointer<UInt8>?),
        strides: (Int, Int, Int, Int)
    ) {
        self.bases = bases
        self.strides = strides
    }

    /// First byte and linesize of a plane, 0 to 3.
    public subscript(plane: Int) -> (base: UnsafePointer<UInt8>?, stride: Int) {
        switch plane {
        case 0: (bases.0, strides.0)
        case 1: (bases.1, strides.1)
        case 2: (bases.2, strides.2)
        default: (bases.3, strides.3)
        }
    }
}

/// A decoded video frame. Immutable after publication; shared by threads that display, save or count it.
public protocol VideoFrame: AnyObject, Sendable {
    /// Visible size in pixels, before pixel aspect ratio and rotation.
    var size: PixelSize { get }
    /// The memory layout of the pixels.
    var pixelFormat: PixelFormat { get }
    /// Pixel width divided by pixel height.
    var pixelAspect: Ratio { get }
    /// Clockwise rotation to apply for display: 0, 90, 180 or 270 degrees.
    var rotation: Int { get }
    /// Primaries, transfer function, matrix and range.
    var color: ColorDescription { get }
    /// Bits per luma sample.
    var bitDepth: Int { get }
    /// The layout of samples in the planes; nil if only the decoder's converter can read them.
    var planeLayout: PlaneLayout? { get }
    /// Chroma sample location, ITU-T H.273, figure 1 (0 left, 1 centre); nil if unspecified.
    var chromaLocation: UInt8? { get }
    /// Peak luminance of an HDR frame in cd/m², from frame or container metadata; nil if unspecified.
    var peakLuminance: Double? { get }
    /// Calls `body` with the planes, which are valid during the call only. Any thread; does not allocate.
    func withPlanes<Result>(_ body: (VideoFramePlanes) -> Result) -> Result
}

extension VideoFrame {
    /// The layout of `pixelFormat`; nil for `other`.
    public var planeLayout: PlaneLayout? { PlaneLayout(pixelFormat) }
    /// Unspecified.
    public var chromaLocation: UInt8? { nil }
    /// Unspecified.
    public var peakLuminance: Double? { nil }
}
