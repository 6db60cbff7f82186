package import MediaCore

/// How a person wants pictures to lie in the window, beside what the film says of their shape. Words and meanings are mpv's.
public struct PictureView: Hashable, Sendable, BitwiseCopyable {
    /// The shape that pictures are shown in.
    public enum Aspect: Hashable, Sendable, BitwiseCopyable {
        /// As the film says.
        case film
        /// Pixels are square, whatever the film says.
        case squarePixels
        /// Width over height of the whole picture, before it is turned.
        case ratio(Double)
    }

    public var aspect = Aspect.film
    /// 1 is twice as large, -1 half as large, and so on; -20…20.
    public var zoom = 0.0
    /// Parts of the shown picture's width and height by which it is moved to the right and down; -3…3.
    public var panX = 0.0
    public var panY = 0.0
    /// From 0, all is seen, with bars, to 1, the window is filled and edges are cut off.
    public var panscan = 0.0
    /// Clockwise degrees in addition to what the film says: 0, 90, 180 or 270. Nil leaves pictures as they lie in the film.
    public var rotation: Int? = 0

    public static let zoomRange = -20.0...20.0
    public static let panRange = -3.0...3.0
    public static let panscanRange = 0.0...1.0
    /// A shape beyond a hundred to one is no picture.
    public static let ratioRange = 0.01...100.0

    public init() {}

    /// The pixel's shape for a picture of this size.
    package func pixelAspect(of size: PixelSize, stated: Ratio) -> Double {
        switch aspect {
        case .film: return stated.value
        case .squarePixels: return 1
        case .ratio(let ratio):
            let limits = Self.ratioRange
            let sane = ratio.isFinite ? min(limits.upperBound, max(limits.lowerBound, ratio)) : 1
            return sane * Double(max(1, size.height)) / Double(max(1, size.width))
        }
    }

    /// The whole clockwise turn of a picture whose film says `stated`.
    package func rotation(stated: Int) -> Int { rotation.map { stated + $0 } ?? 0 }
}
