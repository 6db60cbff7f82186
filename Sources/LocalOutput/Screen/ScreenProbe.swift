internal import CSDL
public import SyncRendering

/// What can be said about this computer's displays without opening a window. On the main thread.
public struct ScreenProbe: Sendable {
    /// SDL's name of the window system.
    public var driver: String
    public var displays: [ConnectedDisplay]
    /// Whether there is a device for drawing; without one the processor draws.
    public var hasGraphicsProcessor: Bool
    /// Why libplacebo would not draw with that; nil where nothing speaks against it.
    public var placeboObstacle: String?

    /// - Throws: why no display can be reached.
    public static func examine(converter: any PictureConverter) throws(OutputError) -> ScreenProbe {
        let screen = try Screen(options: ScreenOptions(), converter: converter)
        if let failure = screen.failure { throw failure }
        return ScreenProbe(
            driver: SDL_GetCurrentVideoDriver().map { String(cString: $0) } ?? "unknown", displays: screen.displays,
            hasGraphicsProcessor: GraphicsProcessor.isLikely, placeboObstacle: PlaceboPresenter.obstacle)
    }
}
