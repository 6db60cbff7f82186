internal import MediaCore

/// Converts overlays to glass coordinates, each image once as long as it is displayed.
struct OverlayTurning {
    private var known: [(image: OverlayImage, turned: OverlayImage)] = []
    private var geometry: ScreenGeometry?

    /// Returns the converted images, or the same ones if canvas and glass are equal.
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
