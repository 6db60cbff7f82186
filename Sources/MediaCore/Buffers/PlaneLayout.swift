/// The layout of samples in the planes of a video frame, for readers without the decoder's converter.
public struct PlaneLayout: Hashable, Sendable {
    /// The layout of one plane: rows of pixels with `count` samples each.
    public struct Plane: Hashable, Sendable, BitwiseCopyable {
        /// Samples per pixel, 1 to 4.
        public var count: Int
        /// The component of each sample in memory order: 0 is Y or R, 1 Cb or G, 2 Cr or B, 3 alpha, -1 unused.
        public var meanings: SIMD4<Int8>
        /// Base 2 logarithms of the horizontal and vertical subsampling.
        public var halvedX, halvedY: Int

        /// Creates a plane.
        ///
        /// - Precondition: one to four `meanings`.
        public init(_ meanings: [Int8], halvedX: Int = 0, halvedY: Int = 0) {
            precondition((1...4).contains(meanings.count))
            count = meanings.count
            self.meanings = SIMD4(repeating: -1)
            for (index, meaning) in meanings.enumerated() { self.meanings[index] = meaning }
            (self.halvedX, self.halvedY) = (halvedX, halvedY)
        }

        /// Returns the size of this plane for a frame size; rounded up at the right and bottom edge.
        public func size(of frame: PixelSize) -> PixelSize {
            PixelSize(
                width: (frame.width + (1 << halvedX) - 1) >> halvedX,
                height: (frame.height + (1 << halvedY) - 1) >> halvedY)
        }
    }

    /// The planes in memory order.
    public var planes: [Plane]
    /// Bits per sample in memory, 8 or 16; 16-bit samples are little-endian.
    public var sampleBits: Int
    /// Significant bits per sample.
    public var depth: Int
    /// Unused low bits below the significant ones.
    public var shift: Int
    /// True for RGB, false for luma and chroma.
    public var isRGB: Bool

    /// Creates a layout; by default 8-bit samples, and YCbCr.
    public init(planes: [Plane], sampleBits: Int = 8, depth: Int = 8, shift: Int = 0, isRGB: Bool = false) {
        self.planes = planes
        self.sampleBits = sampleBits
        self.depth = depth
        self.shift = shift
        self.isRGB = isRGB
    }

    /// Creates the layout of a pixel format; nil for `other`.
    public init?(_ format: PixelFormat) {
        switch format {
        case .yuv420p: self = .yuv420p
        case .nv12: self = .nv12
        case .bgra: self = .bgra
        case .other: return nil
        }
    }

    private static let yuv420p = PlaneLayout(planes: [
        Plane([0]), Plane([1], halvedX: 1, halvedY: 1), Plane([2], halvedX: 1, halvedY: 1),
    ])
    private static let nv12 = PlaneLayout(planes: [Plane([0]), Plane([1, 2], halvedX: 1, halvedY: 1)])
    /// The alpha byte is unused in video.
    private static let bgra = PlaneLayout(planes: [Plane([2, 1, 0, -1])], isRGB: true)
}
