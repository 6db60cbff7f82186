internal import CSDL
internal import MediaCore
internal import SyncRendering

/// A window that fills a display beside the film's and shows a board. The thread that owns the screen only.
///
/// It comes with its display and goes with it; further displays are left alone. Nothing that happens to it touches the film's window.
final class BoardWindow {
    private let wish: ScreenOptions.BoardDisplay
    private let converter: any PictureConverter
    private let painter: OverlayPainter
    private var window: OpaquePointer?
    private var presenter: (any PicturePresenter)?
    /// The display that it fills; nil while there is none for it.
    private(set) var display: ConnectedDisplay?
    private var images: [OverlayImage] = []
    private var needsPaint = false
    /// Since when it waits for a moment in which no picture is due.
    private var waitsSince: HostInstant?
    /// Displays may be others now, or the film's window lies elsewhere.
    var isDisplayDue = true
    var board: ScreenBoard? { didSet { if board != oldValue { layOut() } } }
    /// Why there is no window, once.
    private var trouble: (sentence: String?, isKnown: Bool) = (nil, false)

    /// How long painting took last; a processor that draws in a graphics processor's place takes tens of milliseconds.
    private var cost = Duration.milliseconds(4)
    /// A film whose pictures leave no such room is interrupted after so long.
    private static let patience = Duration.seconds(2)

    init(_ wish: ScreenOptions.BoardDisplay, converter: any PictureConverter, raising signal: PollableSignal?) {
        (self.wish, self.converter) = (wish, converter)
        painter = OverlayPainter(raising: signal)
    }

    deinit { close() }

    // MARK: Its place

    /// Lies on the display that it should, or on none.
    ///
    /// - Parameter screen: the film's; its window is open.
    func follow(_ screen: Screen) {
        isDisplayDue = false
        let wanted = Self.display(for: wish, beside: screen.display, among: screen.displays)
        if wanted == display, window != nil || wanted == nil { return }
        close()
        display = wanted
        guard let wanted else { return }
        keepingContext { open(on: wanted, of: screen) }
        layOut()
    }

    /// The display for a board: never the film's.
    static func display(
        for wish: ScreenOptions.BoardDisplay, beside film: ConnectedDisplay?, among displays: [ConnectedDisplay]
    ) -> ConnectedDisplay? {
        guard let film else { return nil }
        switch wish {
        case .other: return displays.first { $0.index != film.index }
        case .chosen(let wish):
            // ignored: a board without its display waits for it.
            let chosen = try? ConnectedDisplay.chosen(by: wish, among: displays)
            return chosen?.index == film.index ? nil : chosen
        }
    }

    private func open(on display: ConnectedDisplay, of screen: Screen) {
        var place = SDL_Rect()
        guard SDL_GetDisplayBounds(Int32(display.index), &place) == 0 else { return }
        let isManaged = screen.connection?.hasWindowManager ?? true
        let hasMemory = screen.hasWindowMemory
        let kind = hasMemory ? 0 : SDL_WINDOW_OPENGL.rawValue
        let position = Int32(bitPattern: UInt32(SDL_WINDOWPOS_CENTERED_MASK) | UInt32(display.index))
        let flags =
            SDL_WINDOW_BORDERLESS.rawValue | SDL_WINDOW_ALLOW_HIGHDPI.rawValue | SDL_WINDOW_HIDDEN.rawValue | kind
        guard let window = SDL_CreateWindow("Talkie: operator", position, position, place.w, place.h, flags) else {
            return note("the operator's window does not open: \(sdlError())")
        }
        do throws(OutputError) {
            presenter =
                hasMemory
                ? try SurfacePresenter(window: window, converter: converter)
                : try TexturePresenter(window: window, converter: converter, scaler: nil, waitsForFlips: false)
        } catch {
            SDL_DestroyWindow(window)
            return note("the operator's window does not open: \(error.message)")
        }
        self.window = window
        WindowSystem.show(window)
        // Not before: a Wayland window would stay empty.
        if isManaged { SDL_SetWindowFullscreen(window, SDL_WINDOW_FULLSCREEN_DESKTOP.rawValue) }
        if !isManaged { SDL_SetWindowPosition(window, place.x, place.y) }
        needsPaint = true
    }

    /// The film's window draws with the context that is current, and waits for flips as that was told to.
    private func keepingContext(_ body: () -> Void) {
        guard let context = SDL_GL_GetCurrentContext(), let window = SDL_GL_GetCurrentWindow() else { return body() }
        let interval = SDL_GL_GetSwapInterval()
        body()
        SDL_GL_MakeCurrent(window, context)
        // Wayland's SDL has one for all windows.
        SDL_GL_SetSwapInterval(interval)
    }

    /// Gives the window up, before the window system is left. Where that is gone nothing of it is touched.
    func close(_ connection: DisplayConnection? = nil) {
        if let window, connection?.takeDown(window) == false { return abandon() }
        keepingContext {
            presenter = nil
            if let window { SDL_DestroyWindow(window) }
        }
        forget()
    }

    /// Gives the window up without touching it: the window system is gone.
    func abandon() {
        if let presenter { _ = Unmanaged.passRetained(presenter as AnyObject) }
        forget()
    }

    private func forget() { (presenter, window, display, images) = (nil, nil, nil, []) }

    func stop() { painter.stop() }

    private func note(_ sentence: String) { if !trouble.isKnown { trouble = (sentence, true) } }

    func takeTrouble() -> String? {
        defer { trouble.sentence = nil }
        return trouble.sentence ?? painter.takeTrouble()
    }

    // MARK: Its content

    private func layOut() {
        guard let presenter else { return }
        painter.draw(OverlayPainter.Content(board: board), in: presenter.area)
    }

    /// Paints what is new, where the film's next picture leaves time for it.
    func paint(before next: HostInstant?) {
        if let drawn = painter.take() { (images, needsPaint) = (drawn.images, true) }
        guard needsPaint, let presenter else { return }
        let now = HostInstant.now
        // So much time must be left before the film's next picture.
        if let next, next - now < cost + cost / 2, now - (waitsSince ?? now) < Self.patience {
            waitsSince = waitsSince ?? now
            return
        }
        (needsPaint, waitsSince) = (false, nil)
        keepingContext { if presenter.prepare(nil, overlays: images) { _ = presenter.present() } }
        cost = HostInstant.now - now
    }

    /// Whether it concerns this window; it has been dealt with then. Keys are for the program, wherever they come in.
    func take(_ event: SDL_Event) -> Bool {
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

extension SDL_Event {
    /// The window of what a pointer did or the window system says; nil for all else.
    fileprivate var windowNumber: UInt32? {
        switch SDL_EventType(type) {
        case SDL_WINDOWEVENT: window.windowID
        case SDL_MOUSEBUTTONDOWN, SDL_MOUSEBUTTONUP: button.windowID
        case SDL_MOUSEMOTION: motion.windowID
        case SDL_MOUSEWHEEL: wheel.windowID
        default: nil
        }
    }
}
