internal import MediaCore
internal import Playback
internal import ScreenOutput

/// What is displayed over the picture besides messages, as set by controllers. Any thread.
final class SessionDisplay: Sendable {
    /// When the bar is displayed.
    enum Bar: String, Sendable, CaseIterable {
        /// While the pointer moves, and after a seek.
        case auto = "auto"
        case always = "always"
        case never = "never"
    }

    struct Settings: Sendable, Equatable {
        /// mpv's level: from 3 on the position is always displayed.
        var osdLevel = 1
        var bar = Bar.auto
    }

    private let settings = Lock(Settings())

    var value: Settings { settings.withLock { $0 } }
    func change(_ body: (inout Settings) -> Void) { settings.withLock { body(&$0) } }
}

extension PlayerState {
    /// The size of the picture in square pixels; nil without one.
    func displaySize(in screen: ScreenControl?) -> PixelSize? {
        guard let format = displayedVideoFormat, let screen else { return nil }
        return screen.displaySize(of: format)
    }
}
