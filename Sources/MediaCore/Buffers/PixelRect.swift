/// A rectangle in pixels; the origin is the top left corner.
public struct PixelRect: Hashable, Sendable, BitwiseCopyable {
    /// Left edge.
    public var x: Int
    /// Top edge.
    public var y: Int
    /// Width in pixels.
    public var width: Int
    /// Height in pixels.
    public var height: Int

    /// Creates a rectangle.
    public init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// Width and height.
    public var size: PixelSize { PixelSize(width: width, height: height) }
    /// True if the rectangle contains no pixel.
    public var isEmpty: Bool { width <= 0 || height <= 0 }

    /// Returns true if `other` contains this rectangle completely.
    package func isInside(_ other: PixelRect) -> Bool { intersection(other) == self }

    /// Returns the common part of both; width or height is 0 if there is none.
    package func intersection(_ other: PixelRect) -> PixelRect {
        let left = max(x, other.x)
        let top = max(y, other.y)
        return PixelRect(
            x: left, y: top, width: max(0, min(x + width, other.x + other.width) - left),
            height: max(0, min(y + height, other.y + other.height) - top))
    }

    /// Returns the bounding rectangle of both; empty rectangles are ignored.
    package func union(_ other: PixelRect) -> PixelRect {
        if isEmpty { return other }
        if other.isEmpty { return self }
        let (left, top) = (min(x, other.x), min(y, other.y))
        return PixelRect(
            x: left, y: top, width: max(x + width, other.x + other.width) - left,
            height: max(y + height, other.y + other.height) - top)
    }
}
