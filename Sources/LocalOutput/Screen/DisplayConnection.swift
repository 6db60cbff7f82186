internal import CSDL
internal import CX11
internal import Glibc
internal import MediaCore
internal import Synchronization

/// The socket between a window and its window system: what to wait on for news, and whether it still stands.
final class DisplayConnection {
    /// Readable when the window system has something to say; nil where there is no such descriptor.
    let descriptor: Int32?
    /// True where nothing ever comes in, so that waiting needs no end.
    let isSilent: Bool
    /// False on a bare X server: nobody places windows, frames them or lets them fill the display.
    let hasWindowManager: Bool
    /// The type of an X server's events that tell of displays; nil elsewhere.
    let changeEvent: Int32?
    private let compositor: UnsafeMutableRawPointer?
    private let lost: Lost

    /// True once the window system is gone; no SDL call may follow then.
    var isLost: Bool { lost.flag.load(ordering: .acquiring) }

    private final class Lost: Sendable {
        let flag = Atomic<Bool>(false)
    }

    /// - Parameter followsDisplays: `changeEvent` is wanted where there is a window manager, too; that opens another library.
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

    /// Takes a window off an X server's screen before it is destroyed. SDL would wait for the server's word on that, and for ever where the
    /// server ends meanwhile, as it does when both are told to end.
    ///
    /// - Returns: false where the server is gone.
    func takeDown(_ window: OpaquePointer) -> Bool {
        guard !isLost, let display = csdl_x11_display(window) else { return !isLost }
        cx11_unmap(display, csdl_x11_window(window))
        // With the word in hand SDL does not wait.
        if !isLost { SDL_PumpEvents() }
        return !isLost
    }

    /// Takes the window system for lost when its compositor does not answer any more.
    func noteLossOfCompositor() {
        guard let compositor, let error = Self.call(compositor, "wl_display_get_error", in: "libwayland-client.so.0")
        else { return }
        if error != 0 { lost.flag.store(true, ordering: .releasing) }
    }

    /// Calls `int function(display)` of a library that SDL has loaded.
    private static func call(_ display: UnsafeMutableRawPointer, _ name: String, in library: String) -> Int32? {
        typealias Function = @convention(c) (UnsafeMutableRawPointer) -> Int32
        guard let function = symbol(name, in: library) else { return nil }
        let descriptor = unsafeBitCast(function, to: Function.self)(display)
        return descriptor >= 0 ? descriptor : nil
    }

    /// Whether the root window names a window that a manager checks in with (Extended Window Manager Hints 1.5,
    /// "_NET_SUPPORTING_WM_CHECK").
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
        // Only an atom that exists already can have been set.
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

    /// Xlib ends the whole program when its server goes away; the film shall go on without its picture.
    ///
    /// XSetIOErrorExitHandler came with libX11 1.7; without it the loss of the server ends the program as ever.
    private static func surviveLoss(of display: UnsafeMutableRawPointer, noting lost: Lost) {
        typealias Handler = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
        typealias SetHandler = @convention(c) (UnsafeMutableRawPointer, Handler, UnsafeMutableRawPointer?) -> Void
        typealias ErrorHandler = @convention(c) (UnsafeMutableRawPointer?) -> Int32
        typealias SetErrorHandler = @convention(c) (ErrorHandler) -> UnsafeMutableRawPointer?
        guard let function = symbol("XSetIOErrorExitHandler", in: "libX11.so.6"),
            let setErrorHandler = symbol("XSetIOErrorHandler", in: "libX11.so.6")
        else { return }
        // The default one says what happened and exits before the other is asked.
        _ = unsafeBitCast(setErrorHandler, to: SetErrorHandler.self)({ @Sendable _ in 0 })
        // The display outlives the window and keeps the pointer, so the flag stays for good.
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
