/// Small pictures that lie over one picture of the film, known by its identity: what is the same object looks the same.
public final class Overlay: Sendable {
    /// In the order in which they lie over each other.
    public let images: [OverlayImage]

    public init(_ images: [OverlayImage]) { self.images = images }
}
