/// How the numbers of a picture lie in its planes, for those who read them without the decoder's converter.
public struct PlaneLayout: Hashable, Sendable {
    /// One plane: rows of pixels, each of which has so many numbers.
    public struct Plane: Hashable, Sendable, BitwiseCopyable {
        /// Numbers of a pixel, 1 to 4.
        public var count: Int
        /// What each is, in the order of memory: 0 is Y or R, 1 Cb or G, 2 Cr or B, 3 alpha, and -1 means nothing.
        public var meanings: SIMD4<Int8>
        /// How often its width and height are half the picture's.
        public var halvedX, halvedY: Int

        public init(_ meanings: [Int8], halvedX: Int = 0, halvedY: Int = 0) {
            precondition((1...4).contains(meanings.count))
            count = meanings.count
            self.meanings = SIMD4(repeating: -1)
            for (index, meaning) in meanings.enumerated() { self.meanings[index] = meaning }
            (self.halvedX, self.halvedY) = (halvedX, halvedY)
        }

        /// Its part of a picture of that size; what is left over at an edge has numbers of its own.
        public func size(of picture: PixelSize) -> PixelSize {
            PixelSize(
                width: (picture.width + (1 << halvedX) - 1) >> halvedX,
                height: (picture.height + (1 << halvedY) - 1) >> halvedY)
        }
    }

    public var planes: [Plane]
    /// Bits of a number in memory, 8 or 16; of 16, the lower byte comes first.
    public var sampleBits: Int
    /// Those of them that count.
    public var depth: Int
    /// Bits below them, which are empty.
    public var shift: Int
    /// Red, green and blue, not luma and colour differences.
    public var isRGB: Bool

    public init(planes: [Plane], sampleBits: Int = 8, depth: Int = 8, shift: Int = 0, isRGB: Bool = false) {
        self.planes = planes
        self.sampleBits = sampleBits
        self.depth = depth
        self.shift = shift
        self.isRGB = isRGB
    }

    /// Nil for `other`, which says nothing.
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
    /// Films have no use for its alpha.
    private static let bgra = PlaneLayout(planes: [Plane([2, 1, 0, -1])], isRGB: true)
}
