internal import CSDL
internal import CX11
internal import Glibc
internal import MediaCore
internal import Synchronization

/// The connection between a window and its window system: the descriptor to wait on, and the detection of its loss.
final class DisplayConnection {
    /// Readable when events are pending; nil if there is no such descriptor.
    let descriptor: Int32?
    /// Whether the driver never delivers events, so that waiting needs no poll.
    let isSilent: Bool
    /// False on a bare X server: windows are not placed, framed or made full-screen.
    let hasWindowManager: Bool
    /// The X event type of display changes; nil on other window systems.
    let changeEvent: Int32?
    private let compositor: UnsafeMutableRawPointer?
    private let lost: Lost

    /// Whether the connection is lost; no SDL call may follow then. Any thread.
    var isLost: Bool { lost.flag.load(ordering: .acquiring) }

    private final class Lost: Sendable {
        let flag = Atomic<Bool>(false)
    }

    /// - Parameter followsDisplays: Whether `changeEvent` is needed even with a window manager; that opens another
    ///   library.
    init(window: OpaquePointer, followsDisplays: Bool = false) {
        lost = Lost()
        let driver = SDL_GetCurrentVideoDriver().map { String(cString: $0) } ?? ""
        isSilent = driver == "dummy" || driver == "offscreen"
        if let display = csdl_x11_display(window) {
            descriptor = Self.call(display, "XConnectionNumber", in: "libX11.so.6")
            Self.surviveLoss(of: display, noting: lost)
            hasWindowManager = Self.isManaged(display)
            let event = followsDisplays || !hasWindowManager ? cx11_change_event(display) : 0
            (changeEvent, compositor) = (event == 0 ? nil : event, nil)
        } else if let display = csdl_wayland_display(window) {
            descriptor = Self.call(display, "wl_display_get_fd", in: "libwayland-client.so.0")
            hasWindowManager = true
            (changeEvent, compositor) = (nil, display)
        } else {
            descriptor = nil
            hasWindowManager = true
            (changeEvent, compositor) = (nil, nil)
        }
    }

    /// Unmaps a window on an X server before it is destroyed. Otherwise SDL waits for the server's confirmation,
    /// forever if the server exits meanwhile, as at the end of a session.
    ///
    /// - Returns: False if the server is gone.
    func unmapWindow(_ window: OpaquePointer) -> Bool {
        guard !isLost, let display = csdl_x11_display(window) else { return !isLost }
        cx11_unmap(display, csdl_x11_window(window))
        // With the UnmapNotify already processed, SDL does not wait for it.
        if !isLost { SDL_PumpEvents() }
        return !isLost
    }

    /// Marks the connection as lost if the Wayland compositor reports an error.
    func checkCompositor() {
        guard let compositor, let error = Self.call(compositor, "wl_display_get_error", in: "libwayland-client.so.0")
        else { return }
        if error != 0 { lost.flag.store(true, ordering: .releasing) }
    }

    /// Calls `int function(display)` in a library that SDL has loaded. Nil for a negative result.
    private static func call(_ display: UnsafeMutableRawPointer, _ name: String, in library: String) -> Int32? {
        typealias Function = @convention(c) (UnsafeMutableRawPointer) -> Int32
        guard let function = symbol(name, in: library) else { return nil }
        let descriptor = unsafeBitCast(function, to: Function.self)(display)
        return descriptor >= 0 ? descriptor : nil
    }

    /// Returns whether a window manager runs: the root window has the property of Extended Window Manager Hints 1.5,
    /// "_NET_SUPPORTING_WM_CHECK".
    private static func isManaged(_ display: UnsafeMutableRawPointer) -> Bool {
        typealias InternAtom = @convention(c) (UnsafeMutableRawPointer, UnsafePointer<CChar>, Int32) -> UInt
        typealias RootWindow = @convention(c) (UnsafeMutableRawPointer) -> UInt
        typealias WindowProperty =
            @convention(c) (
                UnsafeMutableRawPointer, UInt, UInt, Int, Int, Int32, UInt, UnsafeMutablePointer<UInt>,
                UnsafeMutablePointer<Int32>, UnsafeMutablePointer<UInt>, UnsafeMutablePointer<UInt>,
                UnsafeMutablePointer<UnsafeMutableRawPointer?>
            ) -> Int32
        typealias Free = @convention(c) (UnsafeMutableRawPointer) -> Int32
        let library = "libX11.so.6"
        guard let internAtom = symbol("XInternAtom", in: library),
            let rootWindow = symbol("XDefaultRootWindow", in: library),
            let windowProperty = symbol("XGetWindowProperty", in: library), let free = symbol("XFree", in: library)
        else { return true }
        // only_if_exists: a property with an unknown atom cannot have been set.
        let atom = unsafeBitCast(internAtom, to: InternAtom.self)(display, "_NET_SUPPORTING_WM_CHECK", 1)
        guard atom != 0 else { return false }
        let root = unsafeBitCast(rootWindow, to: RootWindow.self)(display)
        var (type, count, left): (UInt, UInt, UInt) = (0, 0, 0)
        var format: Int32 = 0
        var value: UnsafeMutableRawPointer?
        // 33 is XA_WINDOW (X11/Xatom.h).
        let status = unsafeBitCast(windowProperty, to: WindowProperty.self)(
            display, root, atom, 0, 1, 0, 33, &type, &format, &count, &left, &value)
        if let value { _ = unsafeBitCast(free, to: Free.self)(value) }
        return status == 0 && type == 33 && count == 1
    }

    /// Keeps the process alive when the X server exits, so that playback continues without video.
    ///
    /// By default Xlib exits the process. XSetIOErrorExitHandler requires libX11 1.7; older versions still exit.
    private static func surviveLoss(of display: UnsafeMutableRawPointer, noting lost: Lost) {
        typealias Handler = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
        typealias SetHandler = @convention(c) (UnsafeMutableRawPointer, Handler, UnsafeMutableRawPointer?) -> Void
        typealias ErrorHandler = @convention(c) (UnsafeMutableRawPointer?) -> Int32
        typealias SetErrorHandler = @convention(c) (ErrorHandler) -> UnsafeMutableRawPointer?
        guard let function = symbol("XSetIOErrorExitHandler", in: "libX11.so.6"),
            let setErrorHandler = symbol("XSetIOErrorHandler", in: "libX11.so.6")
        else { return }
        // The default handler prints a message and exits before the exit handler is called.
        _ = unsafeBitCast(setErrorHandler, to: SetErrorHandler.self)({ @Sendable _ in 0 })
        // Leaked deliberately: the display outlives the window and keeps the pointer.
        unsafeBitCast(function, to: SetHandler.self)(
            display,
            { @Sendable _, raw in
                guard let raw else { return }
                Unmanaged<Lost>.fromOpaque(raw).takeUnretainedValue().flag.store(true, ordering: .releasing)
            }, Unmanaged.passRetained(lost).toOpaque())
    }

    private static func symbol(_ name: String, in library: String) -> UnsafeMutableRawPointer? {
        OptionalLibrary(library, onlyLoaded: true)?.address(name)
    }
}
