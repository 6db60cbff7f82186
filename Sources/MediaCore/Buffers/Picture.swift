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
    /// Lends the planes for the length of the call. Any thread; does not allocate.
    func withPlanes<Result>(_ body: (PicturePlanes) -> Result) -> Result
}
