/// A small picture to lay over the film: immutable, shared by whoever draws and shows it.
public final class OverlayImage: Sendable {
    /// Where it lies, in pixels of what it lies over.
    public let rect: PixelRect
    /// B, G, R, A per pixel, rows without gaps, straight alpha.
    public let pixels: [UInt8]

    /// - Precondition: four bytes for each pixel of `rect`.
    public init(rect: PixelRect, pixels: [UInt8]) {
        precondition(pixels.count == rect.width * rect.height * 4)
        (self.rect, self.pixels) = (rect, pixels)
    }
}
