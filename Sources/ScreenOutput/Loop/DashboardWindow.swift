internal import CSDL
internal import MediaCore
internal import SyncRendering

/// A window that fills a second display with a dashboard. Used on the thread that owns the screen.
///
/// It exists while its display is connected; further displays are unused. Its errors do not affect the film's window.
final class DashboardWindow {
    private let request: ScreenOptions.DashboardDisplay
    private let converter: any VideoFrameConverter
    private let painter: OverlayPainter
    private var window: OpaquePointer?
    private var presenter: (any VideoPresenter)?
    /// The display that it fills; nil if there is none.
    private(set) var display: ConnectedDisplay?
    private var images: [OverlayImage] = []
    private var needsPaint = false
    /// Since when a repaint has been deferred because a frame was due; nil if none is.
    private var waitsSince: HostInstant?
    /// Whether the displays or the position of the film's window may have changed.
    var isDisplayDue = true
    var content: DashboardContent? { didSet { if content != oldValue { layOut() } } }
    /// The reason why there is no window, reported once.
    private var trouble: (sentence: String?, isKnown: Bool) = (nil, false)

    /// The duration of the last repaint; a software renderer takes tens of milliseconds.
    private var cost = Duration.milliseconds(4)
    /// The maximum deferral of a repaint; after it, the film is interrupted.
    private static let timeout = Duration.seconds(2)

    init(_ request: ScreenOptions.DashboardDisplay, converter: any VideoFrameConverter, raising signal: PollableSignal?)
    {
        (self.request, self.converter) = (request, converter)
        painter = OverlayPainter(raising: signal)
    }

    deinit { close() }

    // MARK: Placement

    /// Opens the window on its display, or closes it if there is none.
    ///
    /// - Parameter screen: The film's screen; its window is open.
    func update(_ screen: Screen) {
        isDisplayDue = false
        let wanted = Self.display(for: request, beside: screen.display, among: screen.displays)
        if wanted == display, window != nil || wanted == nil { return }
        close()
        display = wanted
        guard let wanted else { return }
        keepingContext { open(on: wanted, of: screen) }
        layOut()
    }

    /// Returns the display for the dashboard, which is never the film's; nil if there is none.
    static func display(
        for request: ScreenOptions.DashboardDisplay, beside film: ConnectedDisplay?, among displays: [ConnectedDisplay]
    ) -> ConnectedDisplay? {
        guard let film else { return nil }
        switch request {
        case .other: return displays.first { $0.index != film.index }
        case .chosen(let request):
            // ignored: a dashboard without its display waits for it.
            let chosen = try? ConnectedDisplay.chosen(by: request, among: displays)
            return chosen?.index == film.index ? nil : chosen
        }
    }

    private func open(on display: ConnectedDisplay, of screen: Screen) {
        var bounds = SDL_Rect()
        guard SDL_GetDisplayBounds(Int32(display.index), &bounds) == 0 else { return }
        let isManaged = screen.connection?.hasWindowManager ?? true
        let hasMemory = screen.hasWindowMemory
        let kind = hasMemory ? 0 : SDL_WINDOW_OPENGL.rawValue
        let position = Int32(bitPattern: UInt32(SDL_WINDOWPOS_CENTERED_MASK) | UInt32(display.index))
        let flags =
            SDL_WINDOW_BORDERLESS.rawValue | SDL_WINDOW_ALLOW_HIGHDPI.rawValue | SDL_WINDOW_HIDDEN.rawValue | kind
        guard let window = SDL_CreateWindow("Talkie: operator", position, position, bounds.w, bounds.h, flags) else {
            return recordTrouble("the operator's window cannot be opened: \(sdlError())")
        }
        do throws(OutputError) {
            presenter =
                hasMemory
                ? try SurfacePresenter(window: window, converter: converter)
                : try TexturePresenter(window: window, converter: converter, scaler: nil, waitsForFlips: false)
        } catch {
            SDL_DestroyWindow(window)
            return recordTrouble("the operator's window cannot be opened: \(error.message)")
        }
        self.window = window
        WindowSystem.show(window)
        // Not earlier: a Wayland window would stay empty.
        if isManaged { SDL_SetWindowFullscreen(window, SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue) }
        if !isManaged { SDL_SetWindowPosition(window, bounds.x, bounds.y) }
        needsPaint = true
    }

    /// Restores the OpenGL context and swap interval of the film's window after `body`.
    private func keepingContext(_ body: () -> Void) {
        guard let context = SDL_GL_GetCurrentContext(), let window = SDL_GL_GetCurrentWindow() else { return body() }
        let interval = SDL_GL_GetSwapInterval()
        body()
        SDL_GL_MakeCurrent(window, context)
        // On Wayland, SDL has one interval for all windows.
        SDL_GL_SetSwapInterval(interval)
    }

    /// Destroys the window. Call it before the window system is left; if that is gone, the window is not touched.
    func close(_ connection: DisplayConnection? = nil) {
        if let window, connection?.unmapWindow(window) == false { return abandon() }
        keepingContext {
            presenter = nil
            if let window { SDL_DestroyWindow(window) }
        }
        forget()
    }

    /// Abandons the window without touching it, since the window system is gone.
    func abandon() {
        if let presenter { _ = Unmanaged.passRetained(presenter as AnyObject) }
        forget()
    }

    private func forget() { (presenter, window, display, images) = (nil, nil, nil, []) }

    /// Stops and joins the painter's thread.
    func stop() { painter.stop() }

    private func recordTrouble(_ sentence: String) { if !trouble.isKnown { trouble = (sentence, true) } }

    /// Returns the reason why there is no window or text, once.
    func consumeProblem() -> String? {
        defer { trouble.sentence = nil }
        return trouble.sentence ?? painter.consumeProblem()
    }

    // MARK: Content

    private func layOut() {
        guard let presenter else { return }
        painter.draw(OverlayPainter.Content(dashboard: content), in: presenter.area)
    }

    /// Repaints changed content if there is time before the film's next frame, at `next`.
    func paint(before next: HostInstant?) {
        if let drawn = painter.consumeResult() { (images, needsPaint) = (drawn.images, true) }
        guard needsPaint, let presenter else { return }
        let now = HostInstant.now
        // The required time before the film's next frame.
        if let next, next - now < cost + cost / 2, now - (waitsSince ?? now) < Self.timeout {
            waitsSince = waitsSince ?? now
            return
        }
        (needsPaint, waitsSince) = (false, nil)
        keepingContext { if presenter.prepare(nil, overlays: images) { _ = presenter.present() } }
        cost = HostInstant.now - now
    }

    /// Handles an event of this window and returns true; false for other windows. Keys are left to the program.
    func handle(_ event: SDL_Event) -> Bool {
        guard let window, let number = event.windowNumber, number == SDL_GetWindowID(window) else { return false }
        guard event.type == SDL_WINDOWEVENT.rawValue else { return true }
        switch SDL_WindowEventID(UInt32(event.window.event)) {
        case SDL_WINDOWEVENT_EXPOSED, SDL_WINDOWEVENT_SHOWN, SDL_WINDOWEVENT_RESTORED: needsPaint = true
        case SDL_WINDOWEVENT_SIZE_CHANGED:
            presenter?.invalidate()
            needsPaint = true
            layOut()
        case SDL_WINDOWEVENT_CLOSE: close()
        default: break
        }
        return true
    }
}
