/// Bitmaps composited over one video frame. Compared by identity: the same object has the same contents.
public final class Overlay: Sendable {
    /// The bitmaps in drawing order, bottom to top.
    public let images: [OverlayImage]

    /// Creates an overlay.
    public init(_ images: [OverlayImage]) { self.images = images }
}
