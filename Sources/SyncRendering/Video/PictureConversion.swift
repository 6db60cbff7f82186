public import MediaCore

/// Memory that a picture is to be written into: a window's surface, a mapped texture, a screenshot's buffer.
///
/// The memory belongs to the caller and must stay valid for the length of the call it is passed to.
public struct PixelTarget {
    /// First byte of the top row; of luma for the planar formats.
    public var base: UnsafeMutableRawPointer
    /// Bytes from one row to the next.
    public var stride: Int
    /// Pixels to fill. Where it differs from the picture's own size the picture is scaled to fit it exactly, so the
    /// caller chooses a size of the right shape.
    public var size: PixelSize
    /// `.bgra`, whose fourth byte is written as 255 (so it serves XRGB surfaces too), `.yuv420p` or `.nv12`.
    public var format: PixelFormat
    /// Chroma planes: Cb and Cr for `.yuv420p`, the interleaved plane first for `.nv12`, unused for `.bgra`.
    public var chroma: (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?)
    public var chromaStrides: (Int, Int)

    public init(
        base: UnsafeMutableRawPointer, stride: Int, size: PixelSize, format: PixelFormat = .bgra,
        chroma: (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) = (nil, nil), chromaStrides: (Int, Int) = (0, 0)
    ) {
        self.base = base
        self.stride = stride
        self.size = size
        self.format = format
        self.chroma = chroma
        self.chromaStrides = chromaStrides
    }
}

/// Writes pictures of any pixel format into memory of a chosen one. Implemented above C libraries; owned and called
/// by one thread, usually the screen's.
///
/// To `.bgra` the result is full-range R'G'B' by the picture's own matrix and range. To the planar formats the
/// numbers keep their meaning (matrix and range stay the picture's), only depth and subsampling change.
public protocol PictureConverter: AnyObject {
    /// Fills `target` with the picture; false when it cannot, and then the target's contents are undefined.
    ///
    /// Allocates only when sizes or formats differ from the call before.
    func convert(_ picture: any Picture, to target: PixelTarget) -> Bool
}
