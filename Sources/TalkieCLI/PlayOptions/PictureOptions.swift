internal import ArgumentParser
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

    func apply(to arguments: inout PlayArguments) {
        arguments.isFullScreen = isFullScreen
        arguments.screen = screen
        arguments.windowSize = size
    }
}
