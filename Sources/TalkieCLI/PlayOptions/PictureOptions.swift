internal import ArgumentParser
internal import Playback
internal import SyncRendering
internal import TalkieApp

/// Options that choose the window.
struct PictureOptions: ParsableArguments {
    @Flag(
        name: [.customLong("fs"), .customLong("fullscreen"), .customLong("fs", withSingleDash: true)],
        help: "Fill the screen.")
    var isFullScreen = false

    @Option(
        help: ArgumentHelp("Screen to play on, 0 the first.", valueName: "N|NAME"),
        transform: { try ScreenChoice(parsing: $0) })
    var screen: ScreenChoice?

    @Option(
        help: ArgumentHelp("Size of the window in pixels.", valueName: "WxH"),
        transform: { try WindowSize(parsing: $0) })
    var size: WindowSize?

    @Option(
        help: ArgumentHelp(
            "Show two pictures for each that consists of two fields: those that say so, all, or none.",
            valueName: "auto|yes|no"),
        transform: wordChoice("--deinterlace takes auto, yes or no"))
    var deinterlace: Deinterlacing = .auto

    func apply(to arguments: inout PlayArguments) {
        arguments.isFullScreen = isFullScreen
        arguments.screen = screen
        arguments.windowSize = size
        arguments.options.deinterlacing = deinterlace
    }
}
