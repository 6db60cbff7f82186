public import MediaCore

/// Memory into which a video frame is converted: a window surface, a mapped texture, a screenshot buffer.
///
/// The caller owns the memory, which must be valid for the duration of the call.
public struct PixelTarget {
    /// The first byte of the top row; of luma for planar formats.
    public var base: UnsafeMutableRawPointer
    /// Bytes per row.
    public var stride: Int
    /// The size to fill in pixels. The frame is scaled to exactly this size, so that the caller selects the aspect
    /// ratio.
    public var size: PixelSize
    /// `.bgra`, whose fourth byte is written as 255 (which suits XRGB surfaces), `.yuv420p` or `.nv12`.
    public var format: PixelFormat
    /// The chroma planes: Cb and Cr for `.yuv420p`, the interleaved plane first for `.nv12`, unused for `.bgra`.
    public var chroma: (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?)
    /// Bytes per row of the chroma planes.
    public var chromaStrides: (Int, Int)

    /// Creates a description of memory.
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

/// Converts video frames between pixel formats. Implementations wrap C libraries. Confined to one thread, usually the
/// screen's.
///
/// For `.bgra` the result is full-range R'G'B' by the frame's matrix and range. For planar formats matrix and range are
/// preserved; only depth and subsampling change.
public protocol VideoFrameConverter: AnyObject {
    /// Converts a frame into `target`; returns false on failure, after which the target's contents are undefined.
    ///
    /// Allocates only if sizes or formats differ from the preceding call.
    func convert(_ frame: any VideoFrame, to target: PixelTarget) -> Bool

    /// Converts a part of the frame.
    ///
    /// The default converts the whole frame at the resulting scale and copies the part: `.bgra` only, up to 64 million
    /// pixels.
    ///
    /// - Parameter part: In pixels of the frame, within its bounds; the left and top edges are multiples of 16.
    func convert(_ frame: any VideoFrame, part: PixelRect, to target: PixelTarget) -> Bool

    /// Returns true if an HDR frame is converted to BT.709. By default its values are used unchanged.
    func mapsTones(of frame: any VideoFrame) -> Bool
}

extension VideoFrameConverter {
    /// Returns false: an HDR frame's values are used unchanged.
    public func mapsTones(of frame: any VideoFrame) -> Bool { false }

    /// Converts the whole frame at the part's scale and copies the part. Returns false for a target other than `.bgra`
    /// and if the scaled frame exceeds 32768 pixels a side or 64 million pixels.
    public func convert(_ frame: any VideoFrame, part: PixelRect, to target: PixelTarget) -> Bool {
        guard target.format == .bgra, part.width > 0, part.height > 0, target.size.width > 0, target.size.height > 0
        else { return false }
        // Returns a length of the whole frame at the part's scale.
        func scaled(_ length: Int, _ shown: Int, _ part: Int) -> Int { (length * shown + part / 2) / part }
        let width = scaled(frame.size.width, target.size.width, part.width)
        let height = scaled(frame.size.height, target.size.height, part.height)
        guard width > 0, height > 0, width <= 1 << 15, height <= 1 << 15, width * height <= 1 << 26 else {
            return false
        }
        let (left, top) = (
            min(width - 1, scaled(part.x, target.size.width, part.width)),
            min(height - 1, scaled(part.y, target.size.height, part.height))
        )
        let pixels = UnsafeMutableRawPointer.allocate(byteCount: width * height * 4 + 64, alignment: 64)
        defer { pixels.deallocate() }
        let full = PixelTarget(base: pixels, stride: width * 4, size: PixelSize(width: width, height: height))
        guard convert(frame, to: full) else { return false }
        for row in 0..<min(target.size.height, height - top) {
            (target.base + row * target.stride).copyMemory(
                from: pixels + ((top + row) * width + left) * 4, byteCount: min(target.size.width, width - left) * 4)
        }
        return true
    }
}
