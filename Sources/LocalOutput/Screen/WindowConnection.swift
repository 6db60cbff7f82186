internal import CSDL
internal import Glibc
internal import Synchronization

/// The socket between a window and its window system: what to wait on for news, and whether it still stands.
final class WindowConnection {
    /// Readable when the window system has something to say; nil where there is no such descriptor.
    let descriptor: Int32?
    /// True where nothing ever comes in, so that waiting needs no end.
    let isSilent: Bool
    private let lost: Lost

    /// True once the window system is gone; no SDL call may follow then.
    var isLost: Bool { lost.flag.load(ordering: .acquiring) }

    private final class Lost: Sendable {
        let flag = Atomic<Bool>(false)
    }

    init(window: OpaquePointer) {
        lost = Lost()
        let driver = SDL_GetCurrentVideoDriver().map { String(cString: $0) } ?? ""
        isSilent = driver == "dummy" || driver == "offscreen"
        if let display = csdl_x11_display(window) {
            descriptor = Self.call(display, "XConnectionNumber", in: "libX11.so.6")
            Self.surviveLoss(of: display, noting: lost)
        } else if let display = csdl_wayland_display(window) {
            descriptor = Self.call(display, "wl_display_get_fd", in: "libwayland-client.so.0")
        } else {
            descriptor = nil
        }
    }

    /// Calls `int function(display)` of a library that SDL has loaded.
    private static func call(_ display: UnsafeMutableRawPointer, _ name: String, in library: String) -> Int32? {
        typealias Function = @convention(c) (UnsafeMutableRawPointer) -> Int32
        guard let function = symbol(name, in: library) else { return nil }
        let descriptor = unsafeBitCast(function, to: Function.self)(display)
        return descriptor >= 0 ? descriptor : nil
    }

    /// Xlib ends the whole program when its server goes away; the film shall go on without its picture.
    ///
    /// XSetIOErrorExitHandler came with libX11 1.7; without it the loss of the server ends the program as ever.
    private static func surviveLoss(of display: UnsafeMutableRawPointer, noting lost: Lost) {
        typealias Handler = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
        typealias SetHandler = @convention(c) (UnsafeMutableRawPointer, Handler, UnsafeMutableRawPointer?) -> Void
        guard let function = symbol("XSetIOErrorExitHandler", in: "libX11.so.6") else { return }
        // The display outlives the window and keeps the pointer, so the flag stays for good.
        unsafeBitCast(function, to: SetHandler.self)(
            display,
            { @Sendable _, raw in
                guard let raw else { return }
                Unmanaged<Lost>.fromOpaque(raw).takeUnretainedValue().flag.store(true, ordering: .releasing)
            }, Unmanaged.passRetained(lost).toOpaque())
    }

    private static func symbol(_ name: String, in library: String) -> UnsafeMutableRawPointer? {
        guard let handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD) else { return nil }
        defer { dlclose(handle) }
        return dlsym(handle, name)
    }
}
