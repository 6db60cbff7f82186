internal import CSDL
package import SyncRendering

/// Information about the displays of this computer, without opening a window. Main thread only.
package struct ScreenProbe: Sendable {
    /// SDL's name of the window system.
    package var driver: String
    /// The connected displays.
    package var displays: [ConnectedDisplay]
    /// Whether there is a graphics device; otherwise the CPU draws.
    package var hasGraphicsProcessor: Bool
    /// The reason why libplacebo cannot draw; nil if none is known.
    package var placeboObstacle: String?

    /// Examines the displays of this computer.
    ///
    /// - Throws: `OutputError` if no display can be reached.
    package static func examine(converter: any VideoFrameConverter) throws(OutputError) -> ScreenProbe {
        let screen = try Screen(options: ScreenOptions(), converter: converter)
        if let failure = screen.failure { throw failure }
        return ScreenProbe(
            driver: SDL_GetCurrentVideoDriver().map { String(cString: $0) } ?? "unknown", displays: screen.displays,
            hasGraphicsProcessor: GraphicsProcessor.isLikely, placeboObstacle: PlaceboPresenter.obstacle)
    }
}
