/// A bitmap to composite over the video. Immutable; shared by drawing and display threads.
public final class OverlayImage: Sendable {
    /// Position and size, in pixels of the target.
    public let rect: PixelRect
    /// B, G, R, A per pixel, rows without padding, straight alpha.
    public let pixels: [UInt8]

    /// Creates a bitmap.
    ///
    /// - Precondition: `pixels` contains four bytes per pixel of `rect`.
    public init(rect: PixelRect, pixels: [UInt8]) {
        precondition(pixels.count == rect.width * rect.height * 4)
        (self.rect, self.pixels) = (rect, pixels)
    }
}
