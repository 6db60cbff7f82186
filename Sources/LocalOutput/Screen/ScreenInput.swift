public import MediaCore
public import SyncRendering

/// What a person does to the window, or the window system on its own.
public enum ScreenInput: Sendable, Equatable {
    /// A key, a mouse button or the wheel, by mpv's name for it: `"q"`, `"Shift+RIGHT"`, `"MBTN_LEFT_DBL"`,
    /// `"WHEEL_UP"`. `isRepeat` while a key is held down.
    case key(String, isRepeat: Bool)
    /// The pointer was pressed on a part of the panel; `turned` is the wheel's turn there instead, positive is up.
    case panel(row: Int, ScreenPanel.Part, turned: Int)
    /// The pointer was pressed beside the panel.
    case besidePanel
    /// The pointer was pressed on a part of the bar, or, with `isDragged`, is held down on one of its lines; where it is let go
    /// there comes without.
    case bar(ScreenBar.Part, isDragged: Bool)
    /// The wheel was turned over the volume of the bar, or beside the rows of a panel that is shown; positive is up.
    case wheel(over: ScreenBar.Part?, turned: Int)
    /// The pointer moves, over a part of the bar or elsewhere; told ten times a second at most.
    case pointer(over: ScreenBar.Part?)
    /// The pointer has left the window.
    case pointerLeft
    /// Files and addresses were dropped on the window; with Shift held they are to be added to what plays.
    case dropped([String], appends: Bool)
    /// The window is to be closed.
    case close
    /// Size of what people see of the window, upright, in pixels.
    case resized(PixelSize)
    case fullScreen(Bool)
    /// False while hidden or minimised: pictures are then taken and dropped.
    case visible(Bool)
    /// Something a person should read once: a film in HDR, a picture of no known format.
    case notice(String)
    /// The displays of this computer: told when the window system was reached, and when one came, went or changed; with
    /// `ScreenOptions.followsDisplays` only, as are the next three.
    case displays([ConnectedDisplay])
    /// There is no display to show anything on; the film goes on without its picture until there is one.
    case away(OutputError)
    /// There is a window again.
    case back
    /// The window was made anew for a display that is another now.
    case remade
    /// There is no window, or no longer one. The film goes on without its picture.
    case lost(OutputError)

    public static func == (left: ScreenInput, right: ScreenInput) -> Bool {
        switch (left, right) {
        case (.key(let a, let b), .key(let c, let d)): a == c && b == d
        case (.dropped(let a, let b), .dropped(let c, let d)): a == c && b == d
        case (.close, .close), (.besidePanel, .besidePanel), (.back, .back), (.remade, .remade): true
        case (.pointerLeft, .pointerLeft): true
        case (.wheel(let a, let b), .wheel(let c, let d)): a == c && b == d
        case (.displays(let a), .displays(let b)): a == b
        case (.away(let a), .away(let b)): a.code == b.code && a.message == b.message
        case (.panel(let a, let b, let c), .panel(let d, let e, let f)): a == d && b == e && c == f
        case (.bar(let a, let b), .bar(let c, let d)): a == c && b == d
        case (.pointer(let a), .pointer(let b)): a == b
        case (.resized(let a), .resized(let b)): a == b
        case (.fullScreen(let a), .fullScreen(let b)), (.visible(let a), .visible(let b)): a == b
        case (.notice(let a), .notice(let b)): a == b
        case (.lost(let a), .lost(let b)): a.code == b.code && a.message == b.message
        default: false
        }
    }
}
