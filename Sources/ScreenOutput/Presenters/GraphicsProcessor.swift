internal import CSDL
internal import Glibc
internal import MediaCore

/// Detection of the graphics processor.
enum GraphicsProcessor {
    /// Whether a hardware device for OpenGL seems to exist. Merely loading a software renderer costs 100 ms and tens of
    /// megabytes.
    static var isLikely: Bool {
        if let forced = getenv("LIBGL_ALWAYS_SOFTWARE"), strcmp(forced, "0") != 0, strcmp(forced, "false") != 0 {
            return false
        }
        // NVIDIA's proprietary driver; the paravirtual device of WSL 2.
        if access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0 { return true }
        var hasRenderNode = false
        FolderEntries.forEachName(in: "/dev/dri") { name in
            hasRenderNode = name.hasPrefix("renderD")
            return !hasRenderNode
        }
        return hasRenderNode
    }

    /// The renderer name of the current OpenGL context; nil without a context.
    static var contextName: String? {
        typealias GetString = @convention(c) (UInt32) -> UnsafePointer<CChar>?
        guard SDL_GL_GetCurrentContext() != nil, let address = SDL_GL_GetProcAddress("glGetString") else { return nil }
        // GL_RENDERER, OpenGL 4.6 core profile, section 22.2.
        return unsafeBitCast(address, to: GetString.self)(0x1F01).map { String(cString: $0) }
    }

    /// Returns whether a renderer name denotes a software renderer.
    static func isSoftware(_ name: String) -> Bool {
        let name = name.lowercased()
        return ["llvmpipe", "softpipe", "swrast", "software rasterizer", "swiftshader", "lavapipe"]
            .contains { name.contains($0) }
    }
}

/// Counts flips through GLX_OML_sync_control, the only source of flip times on X.
final class FlipCounter {
    private typealias SyncValues =
        @convention(c) (
            OpaquePointer, UInt, UnsafeMutablePointer<Int64>, UnsafeMutablePointer<Int64>, UnsafeMutablePointer<Int64>
        ) -> Int32
    private let display: OpaquePointer
    private let drawable: UInt
    private let syncValues: SyncValues

    /// Nil if the current context is not GLX or the server does not count flips.
    init?() {
        typealias CurrentDisplay = @convention(c) () -> OpaquePointer?
        typealias CurrentDrawable = @convention(c) () -> UInt
        typealias Extensions = @convention(c) (OpaquePointer, Int32) -> UnsafePointer<CChar>?
        guard let driver = SDL_GetCurrentVideoDriver(), strcmp(driver, "x11") == 0,
            let currentDisplay = SDL_GL_GetProcAddress("glXGetCurrentDisplay"),
            let currentDrawable = SDL_GL_GetProcAddress("glXGetCurrentDrawable"),
            let extensions = SDL_GL_GetProcAddress("glXQueryExtensionsString"),
            let values = SDL_GL_GetProcAddress("glXGetSyncValuesOML"),
            let display = unsafeBitCast(currentDisplay, to: CurrentDisplay.self)(),
            let list = unsafeBitCast(extensions, to: Extensions.self)(display, 0),
            strstr(list, "GLX_OML_sync_control") != nil
        else { return nil }
        self.display = display
        drawable = unsafeBitCast(currentDrawable, to: CurrentDrawable.self)()
        syncValues = unsafeBitCast(values, to: SyncValues.self)
        guard drawable != 0, read() != nil else { return nil }
    }

    /// Returns the number and instant of the latest flip; nil if its clock is not the monotonic one.
    func read() -> (number: Int64, at: HostInstant)? {
        var (time, number, swaps): (Int64, Int64, Int64) = (0, 0, 0)
        guard syncValues(display, drawable, &time, &number, &swaps) != 0, number > 0 else { return nil }
        // GLX_OML_sync_control leaves the unit unspecified; in practice it is microseconds of the monotonic clock.
        let (nanoseconds, overflow) = time.multipliedReportingOverflow(by: 1000)
        let age = HostInstant.now.nanoseconds &- nanoseconds
        guard !overflow, age > -50_000_000, age < 1_000_000_000 else { return nil }
        return (number, HostInstant(nanoseconds: nanoseconds))
    }
}
