internal import CSDL
internal import CX11

/// Where the pointer is on the desktop.
///
/// SDL reports a motion when a window opens, grows or moves under a pointer that rests; the place on the desktop does not change then.
struct PointerPlace {
    private var last: (x: Int32, y: Int32)?

    /// Takes the present place as the one that later motions are compared with. Only X11 knows it before the pointer enters the window.
    mutating func note(on screen: Screen?) {
        if let screen, screen.driver == "x11" {
            let now = Self.now(on: screen)
            last = (now.x, now.y)
        }
    }

    /// True when the pointer is elsewhere than at the last call; false at the first.
    mutating func hasMoved(on screen: Screen) -> Bool {
        let now = Self.now(on: screen)
        defer { last = (now.x, now.y) }
        guard let last else { return false }
        return last != (now.x, now.y)
    }

    /// The pointer's position on the desktop, and whether its first button is held. A round trip to the X server: SDL's copy (2.26)
    /// is not updated with each motion.
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

/// A window that follows the pointer while the button is held down on the picture.
///
/// Wayland does not let a program place its windows: nothing happens there.
struct WindowDrag {
    private let pointer: (x: Int32, y: Int32)
    private let window: (x: Int32, y: Int32)
    private var isUnderWay = false

    /// Shorter ways are the tremor of a click; pixels.
    private static let threshold: Int32 = 6

    /// How often the pointer's position is requested during a drag. An X server (21.1) has been seen to answer a request that
    /// follows a motion event with the position before that event, so motion events alone do not suffice.
    static let pollInterval = Duration.milliseconds(16)

    /// Nil for a window that fills its display.
    ///
    /// - Parameters:
    ///   - right, down: where in the window the button was pressed. The pointer may be elsewhere by now.
    init?(of screen: Screen, right: Int32, down: Int32) {
        guard let handle = screen.window, !screen.isFullScreen else { return nil }
        var (x, y): (Int32, Int32) = (0, 0)
        SDL_GetWindowPosition(handle, &x, &y)
        (pointer, window) = ((x + right, y + down), (x, y))
    }

    /// Moves the window as far as the pointer has moved; false while that is no further than a click may.
    ///
    /// Does nothing once the button has been released, because the position then is not part of the drag.
    mutating func follow(_ screen: Screen) -> Bool {
        guard let handle = screen.window else { return false }
        let now = PointerPlace.now(on: screen)
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
