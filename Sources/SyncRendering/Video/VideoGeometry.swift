package import MediaCore

/// The user's geometry of the video in the window, in addition to the media's. Names and meanings are mpv's.
public struct VideoGeometry: Hashable, Sendable, BitwiseCopyable {
    /// The displayed aspect ratio.
    public enum Aspect: Hashable, Sendable, BitwiseCopyable {
        /// As stated by the media.
        case film
        /// With square pixels, regardless of the media.
        case squarePixels
        /// Width over height of the whole frame, before rotation.
        case ratio(Double)
    }

    /// The displayed aspect ratio.
    public var aspect = Aspect.film
    /// The binary logarithm of the scale: 1 is twice as large, -1 half as large; -20…20.
    public var zoom = 0.0
    /// The shift to the right as a fraction of the displayed width; -3…3.
    public var panX = 0.0
    /// The shift down as a fraction of the displayed height; -3…3.
    public var panY = 0.0
    /// 0 shows the whole frame with bars, 1 fills the window and crops.
    public var panscan = 0.0
    /// The clockwise rotation in degrees in addition to the media's: 0, 90, 180 or 270. Nil ignores the media's
    /// rotation as well.
    public var rotation: Int? = 0

    /// The valid range of `zoom`.
    package static let zoomRange = -20.0...20.0
    /// The valid range of `panX` and `panY`.
    package static let panRange = -3.0...3.0
    /// The valid range of `panscan`.
    package static let panscanRange = 0.0...1.0
    /// The valid range of an aspect ratio: nothing beyond a hundred to one is meaningful.
    package static let ratioRange = 0.01...100.0

    /// Creates the default geometry.
    public init() {}

    /// Returns the pixel aspect ratio for a frame of this size.
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

    /// Returns the total clockwise rotation in degrees of a frame whose media states `stated`.
    package func rotation(stated: Int) -> Int { rotation.map { stated + $0 } ?? 0 }
}
