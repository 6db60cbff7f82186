internal import CSDL
internal import CX11

/// The pointer position on the desktop.
///
/// SDL reports a motion when a window opens, grows or moves under a resting pointer. The desktop position does not
/// change then.
struct PointerPosition {
    private var last: (x: Int32, y: Int32)?

    /// Stores the current position for later comparisons. Only X11 reports it before the pointer enters the window.
    mutating func record(on screen: Screen?) {
        if let screen, screen.driver == "x11" {
            let now = Self.now(on: screen)
            last = (now.x, now.y)
        }
    }

    /// Returns true if the position differs from that of the previous call; false on the first call.
    mutating func hasMoved(on screen: Screen) -> Bool {
        let now = Self.now(on: screen)
        defer { last = (now.x, now.y) }
        guard let last else { return false }
        return last != (now.x, now.y)
    }

    /// Returns the position on the desktop and whether the first button is pressed. Takes a round trip to the X server,
    /// since SDL's copy (2.26) is not updated with each motion.
    static func now(on screen: Screen) -> (x: Int32, y: Int32, isPressed: Bool) {
        var (x, y, isPressed): (Int32, Int32, Int32) = (0, 0, 0)
        if let window = screen.window, let display = csdl_x11_display(window),
            cx11_pointer(display, &x, &y, &isPressed) != 0
        {
            return (x, y, isPressed != 0)
        }
        let buttons = SDL_GetGlobalMouseState(&x, &y)
        return (x, y, buttons & 1 != 0)
    }
}

/// Moves a window with the pointer while the button is pressed on the video.
///
/// On Wayland, clients cannot place their windows: nothing happens there.
struct WindowDrag {
    private let pointer: (x: Int32, y: Int32)
    private let window: (x: Int32, y: Int32)
    private var isUnderWay = false

    /// The minimum distance of a drag, in pixels; shorter motions belong to a click.
    private static let threshold: Int32 = 6

    /// The poll interval of the pointer position during a drag. An X server (21.1) sometimes answers a request after a
    /// motion event with the previous position, so motion events alone do not suffice.
    static let pollInterval = Duration.milliseconds(16)

    /// Starts a drag; nil for a full-screen window.
    ///
    /// - Parameters:
    ///   - right, down: The position of the press in the window. The pointer may have moved since.
    init?(of screen: Screen, right: Int32, down: Int32) {
        guard let handle = screen.window, !screen.isFullScreen else { return nil }
        var (x, y): (Int32, Int32) = (0, 0)
        SDL_GetWindowPosition(handle, &x, &y)
        (pointer, window) = ((x + right, y + down), (x, y))
    }

    /// Moves the window by the pointer's displacement. Returns false while that is within the tolerance of a click.
    ///
    /// Does nothing after the release of the button, since the position is no longer part of the drag.
    mutating func move(_ screen: Screen) -> Bool {
        guard let handle = screen.window else { return false }
        let now = PointerPosition.now(on: screen)
        guard now.isPressed else { return isUnderWay }
        let (right, down) = (now.x - pointer.x, now.y - pointer.y)
        if max(abs(right), abs(down)) > Self.threshold { isUnderWay = true }
        guard isUnderWay else { return false }
        var (x, y): (Int32, Int32) = (0, 0)
        SDL_GetWindowPosition(handle, &x, &y)
        if (x, y) != (window.x + right, window.y + down) {
            SDL_SetWindowPosition(handle, window.x + right, window.y + down)
        }
        return true
    }
}
