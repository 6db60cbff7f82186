public import MediaCore
public import SyncRendering

/// User input on the window, and events of the window system.
public enum ScreenInput: Sendable, Equatable {
    /// A key, mouse button or wheel step, by mpv's name: `"q"`, `"Shift+RIGHT"`, `"MBTN_LEFT_DBL"`, `"WHEEL_UP"`.
    /// `isRepeat` is set while a key is held down.
    case key(String, isRepeat: Bool)
    /// A motion of the pointer, at most ten times per second, or a use of the program's bar and panel.
    case pointer(PointerInput)
    /// Files and addresses were dropped on the window; with Shift they are to be appended to the playlist.
    case dropped([String], appends: Bool)
    /// A request to close the window.
    case close
    /// The upright visible area of the window has changed, in pixels.
    case resized(PixelSize)
    /// The window has entered or left full screen.
    case fullScreen(Bool)
    /// False while hidden or minimised; frames are discarded then.
    case visible(Bool)
    /// A notice to be displayed once, such as HDR without tone mapping, or an unsupported pixel format.
    case notice(String)
    /// The displays of this computer, initially and after each change. Sent only with `ScreenOptions.followsDisplays`,
    /// as are the next three.
    case displays([ConnectedDisplay])
    /// No display is available; playback continues without video until there is one.
    case away(OutputError)
    /// A window is available again.
    case back
    /// The window was recreated for a changed display.
    case remade
    /// The window is missing or lost. Playback continues without video.
    case lost(OutputError)

    /// Compares inputs; errors are equal if code and message are.
    public static func == (left: ScreenInput, right: ScreenInput) -> Bool {
        switch (left, right) {
        case (.key(let a, let b), .key(let c, let d)): a == c && b == d
        case (.dropped(let a, let b), .dropped(let c, let d)): a == c && b == d
        case (.close, .close), (.back, .back), (.remade, .remade): true
        case (.displays(let a), .displays(let b)): a == b
        case (.away(let a), .away(let b)): a.code == b.code && a.message == b.message
        case (.pointer(let a), .pointer(let b)): a == b
        case (.resized(let a), .resized(let b)): a == b
        case (.fullScreen(let a), .fullScreen(let b)), (.visible(let a), .visible(let b)): a == b
        case (.notice(let a), .notice(let b)): a == b
        case (.lost(let a), .lost(let b)): a.code == b.code && a.message == b.message
        default: false
        }
    }
}

/// Pointer input: where the pointer is, and what it does on the bar and the panel.
public struct PointerInput: Sendable, Equatable {
    /// What the pointer does.
    package enum Event: Sendable, Equatable {
        /// A press on a part of the panel, or a wheel step there if `turned` is not 0; positive is up.
        case panel(row: Int, ScreenPanel.Element, turned: Int)
        /// A press beside the panel.
        case besidePanel
        /// A press on a part of the bar. With `isDragged`, the pointer is held down on one of its sliders; its release
        /// there arrives without.
        case bar(ScreenBar.Control, isDragged: Bool)
        /// A wheel step over the volume of the bar, or beside the rows of a visible panel; positive is up.
        case wheel(over: ScreenBar.Control?, turned: Int)
        /// A pointer motion, over a part of the bar or elsewhere.
        case moved(over: ScreenBar.Control?)
        /// The pointer has left the window.
        case left
    }

    /// What the pointer does.
    package let event: Event

    /// Creates an input.
    package init(_ event: Event) { self.event = event }
}
