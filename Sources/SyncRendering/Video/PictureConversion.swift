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

    /// The same with a part of the picture, in its own pixels.
    ///
    /// By default the whole picture is converted, in its size there, and the part copied: `.bgra` only, and nothing beyond
    /// 64 million pixels.
    ///
    /// - Parameter part: lies in the picture; its left and top edges are multiples of 16.
    func convert(_ picture: any Picture, part: PixelRect, to target: PixelTarget) -> Bool

    /// Whether a picture in HDR comes out as BT.709. By default it does not: its numbers are shown as they are.
    func mapsTones(of picture: any Picture) -> Bool
}

extension PictureConverter {
    public func mapsTones(of picture: any Picture) -> Bool { false }

    public func convert(_ picture: any Picture, part: PixelRect, to target: PixelTarget) -> Bool {
        guard target.format == .bgra, part.width > 0, part.height > 0, target.size.width > 0, target.size.height > 0
        else { return false }
        // Of the whole picture in the part's size.
        func scaled(_ length: Int, _ shown: Int, _ part: Int) -> Int { (length * shown + part / 2) / part }
        let width = scaled(picture.size.width, target.size.width, part.width)
        let height = scaled(picture.size.height, target.size.height, part.height)
        guard width > 0, height > 0, width <= 1 << 15, height <= 1 << 15, width * height <= 1 << 26 else {
            return false
        }
        let (left, top) = (
            min(width - 1, scaled(part.x, target.size.width, part.width)),
            min(height - 1, scaled(part.y, target.size.height, part.height))
        )
        let pixels = UnsafeMutableRawPointer.allocate(byteCount: width * height * 4 + 64, alignment: 64)
        defer { pixels.deallocate() }
        let whole = PixelTarget(base: pixels, stride: width * 4, size: PixelSize(width: width, height: height))
        guard convert(picture, to: whole) else { return false }
        for row in 0..<min(target.size.height, height - top) {
            (target.base + row * target.stride).copyMemory(
                from: pixels + ((top + row) * width + left) * 4, byteCount: min(target.size.width, width - left) * 4)
        }
        return true
    }
}
