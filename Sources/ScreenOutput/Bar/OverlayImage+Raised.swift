internal import MediaCore

extension OverlayImage {
    /// Returns the image moved up so that it ends above `edge`. Unchanged if it starts in the upper half of the area,
    /// or if there is no space above the edge.
    func raised(above edge: Int?, in area: PixelSize?) -> OverlayImage {
        guard let edge, let area, rect.y >= area.height / 2 else { return self }
        let excess = rect.y + rect.height - edge
        guard excess > 0, rect.y >= excess else { return self }
        return moved(right: 0, down: -excess)
    }

    func moved(right: Int, down: Int) -> OverlayImage {
        OverlayImage(
            rect: PixelRect(x: rect.x + right, y: rect.y + down, width: rect.width, height: rect.height), pixels: pixels
        )
    }
}
