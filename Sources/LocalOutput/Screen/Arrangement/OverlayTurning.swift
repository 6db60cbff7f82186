internal import MediaCore

/// Brings what lies over the film to the glass, each image once for as long as it lies there.
struct OverlayTurning {
    private var known: [(image: OverlayImage, turned: OverlayImage)] = []
    private var geometry: ScreenGeometry?

    /// The same images where the canvas is the glass.
    mutating func onGlass(_ images: [OverlayImage], _ geometry: ScreenGeometry?) -> [OverlayImage] {
        guard let geometry, !geometry.isPlain else {
            known.removeAll()
            return images
        }
        if geometry != self.geometry { known.removeAll() }
        self.geometry = geometry
        known = images.compactMap { image in
            if let before = known.first(where: { $0.image === image }) { return before }
            return geometry.onGlass(image).map { (image, $0) }
        }
        return known.map(\.turned)
    }
}
