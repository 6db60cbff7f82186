internal import CSDL
internal import Glibc
public import MediaCore
public import SyncRendering

/// A window on a display of this computer, through SDL2.
///
/// Belongs to the thread that created it, which must be the process's main thread; calls on other threads trap. The
/// window opens with the first frame or by `open`; without video there is none.
///
/// Later errors of the window are never thrown: `failure` has the reason, frames are discarded, and playback continues.
public final class Screen: VideoOutput {
    var options: ScreenOptions
    let converter: any VideoFrameConverter
    private let owner = pthread_self()
    private(set) var window: OpaquePointer?
    private(set) var presenter: (any VideoPresenter)?
    private var costs = RunningMedian(window: 31)
    private var isPrepared = false

    /// The reason why there is no window, or no longer one; nil while there is none to report.
    package internal(set) var failure: OutputError?
    /// False while the window is hidden or minimised; frames are discarded without cost then.
    var isVisible = true
    /// The messages and bars over the video. Effective with the next `prepare`.
    var messages: Overlay? {
        didSet {
            guard messages !== oldValue else { return }
            needsPaint = true
            stack()
        }
    }
    /// The top of the bar, in canvas pixels; subtitles are kept above it. Set before the `messages` that change with
    /// it.
    var barTop: Int? { didSet { if barTop != oldValue { stack() } } }
    /// The subtitles of the last prepared frame.
    private var subtitles: Overlay? { didSet { if subtitles !== oldValue { stack() } } }
    /// Subtitles and messages, from bottom to top, in glass coordinates.
    private var overlays: [OverlayImage] = []
    /// The scaling of frames into the window. Effective with the next `prepare`.
    var gravity = VideoGravity.resizeAspect { didSet { if gravity != oldValue { needsPaint = true } } }
    /// The user's view settings. Effective with the next `prepare`.
    var view = VideoGeometry() { didSet { if view != oldValue { needsPaint = true } } }
    /// The rotation and overscan compensation of the screen. Effective with the next `prepare`.
    var arrangement: ScreenArrangement {
        didSet {
            guard arrangement != oldValue else { return }
            geometryChanged()
        }
    }
    private var turning = OverlayTurning()
    /// Whether the window shows outdated content; any drawing resets it.
    var needsPaint = false
    /// The connection to the window system; nil without a window.
    private(set) var connection: DisplayConnection?
    /// Called on the owner thread with notices for the user, once for each.
    var onEvent: ((ScreenInput) -> Void)?
    private var noted = VideoFrameNotices()
    var sizing = WindowSizing()
    /// Whether the window stays above others.
    var isOnTop = false
    var fullScreen: FullScreen
    /// Whether the screen is switched off by `setPower`.
    var isDark = false
    var power = DisplayPower()
    /// Whether the failure of switching off was reported.
    var isPowerFailureReported = false
    /// The video size for which the window was opened, in square pixels.
    var openedFor: PixelSize?
    private var isReached = false
    /// Whether the window is on another display because the requested one was missing.
    private(set) var isDisplaced = false

    /// Connects to the window system.
    ///
    /// - Throws: `.unavailable` without a display, or without the requested one; nothing is held then. With
    ///   `followsDisplays`, unless the user places the window, the error is stored in `failure` instead.
    package init(options: ScreenOptions = ScreenOptions(), converter: any VideoFrameConverter) throws(OutputError) {
        self.options = options
        arrangement = options.arrangement
        fullScreen = FullScreen(options.mode)
        self.converter = converter
        // The program handles SIGINT and SIGTERM itself, after releasing its speakers.
        sdlHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1")
        sdlHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1")
        // Otherwise SDL provides window memory through OpenGL, which is rendered in software without a GPU.
        sdlHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0")
        // A window that requested a display mode stays visible when it loses the focus.
        sdlHint(SDL_HINT_VIDEO_MINIMIZE_ON_FOCUS_LOSS, "0")
        do throws(OutputError) {
            try reach()
        } catch {
            guard options.followsDisplays, !options.isPlacedByUser else { throw error }
            failure = error
        }
    }

    /// Initializes SDL's video subsystem and checks the requested display.
    ///
    /// - Throws: `.unavailable`; the subsystem is released then.
    func reach() throws(OutputError) {
        let reachable = WindowSystem.reachable
        let found = reachable != "" && WindowSystem.start(reachable)
        guard found else {
            let refusal = DisplayRefusal.explain(reachable, isDark: sdlError() == "No available displays")
            throw OutputError(
                .unavailable,
                "no display can be reached (\(refusal.reason)); \(refusal.remedy)")
        }
        isReached = true
        do throws(OutputError) {
            _ = try chooseDisplay()
        } catch {
            close()
            throw error
        }
    }

    /// Returns the display for the window: the requested one, otherwise the first. If the user places the window, the
    /// first one also replaces a requested one that has gone.
    ///
    /// - Throws: `.unavailable` without a display, or without the requested one.
    private func chooseDisplay() throws(OutputError) -> ConnectedDisplay {
        let displays = ConnectedDisplay.all
        do throws(OutputError) {
            let display = try ConnectedDisplay.chosen(by: options.display, among: displays)
            isDisplaced = false
            return display
        } catch {
            guard options.isPlacedByUser, openedFor != nil, let first = displays.first else { throw error }
            isDisplaced = true
            return first
        }
    }

    deinit {
        if connection?.isLost == true, driver == "x11" { return }
        closeWindow()
        if canBeRemade { close() }
    }

    /// Releases SDL's video subsystem.
    func close() {
        if isReached { SDL_QuitSubSystem(UInt32(SDL_INIT_VIDEO)) }
        isReached = false
    }

    /// Destroys the window and restores the display's mode. If the X server exits meanwhile, the window is not touched.
    func closeWindow() {
        guard let window else { return }
        // For the next window.
        options.isFullScreen = isFullScreen
        power.switchOn(window)
        if connection?.isLost != true { fullScreen.close(window) }
        if connection?.unmapWindow(window) == false, driver == "x11" { return _ = isConnectionLost() }
        presenter = nil
        SDL_DestroyWindow(window)
        (self.window, connection) = (nil, nil)
        fullScreen.closed()
    }

    /// SDL's name of the window system.
    var driver: String { SDL_GetCurrentVideoDriver().map { String(cString: $0) } ?? "no window system" }

    /// Whether windows have memory to draw into. SDL 2 has none on Wayland.
    var hasWindowMemory: Bool { driver != "wayland" }

    /// Whether HDR frames are tone-mapped by the presenter, or by the one expected before the window opens.
    var mapsTones: Bool { presenter?.mapsTones ?? PresenterChoice.expectsToMapTones(options) }

    /// The displays of this computer.
    var displays: [ConnectedDisplay] { ConnectedDisplay.all }

    /// A user-facing description of the presenter and window system.
    package var presentation: String {
        "\(presenter?.description ?? "no window") on \(driver)"
    }

    // MARK: Window

    /// Opens the window for video of this size in square pixels (`VideoPlacement.displaySize`). Does nothing if it is
    /// open.
    ///
    /// - Throws: `OutputError` if no window can be created; `failure` has the same error.
    func open(for pictureSize: PixelSize) throws(OutputError) {
        checkThread()
        guard window == nil else { return }
        openedFor = pictureSize
        do {
            try openWindow(for: pictureSize)
        } catch {
            failure = error
            throw error
        }
    }

    private func openWindow(for pictureSize: PixelSize) throws(OutputError) {
        let display = try chooseDisplay()
        let size = WindowSizing.initialSize(of: turned(pictureSize), request: options.size, within: display.usableSize)
        let position = Int32(bitPattern: UInt32(SDL_WINDOWPOS_CENTERED_MASK) | UInt32(display.index))
        // Shown by `adopt`, once it is known whether there is a window manager.
        let flags =
            SDL_WINDOW_RESIZABLE.rawValue | SDL_WINDOW_ALLOW_HIGHDPI.rawValue | SDL_WINDOW_HIDDEN.rawValue
        let opened = try PresenterChoice(options, converter, hasMemory: hasWindowMemory)
            .open(size, at: position, flags: flags)
        adopt(opened.window, opened.presenter)
        for notice in opened.notices { onEvent?(.notice(notice)) }
    }

    private func adopt(_ window: OpaquePointer, _ presenter: any VideoPresenter) {
        (self.window, self.presenter) = (window, presenter)
        connection = DisplayConnection(window: window, followsDisplays: options.followsDisplays)
        sizing.opened(hasChosenSize: options.size != nil)
        WindowIcon.set(on: window)
        if options.isFullScreen { setFullScreen(true) }
        if isOnTop { setOnTop(true) }
        WindowSystem.show(window)
        if options.hidesCursor { SDL_ShowCursor(SDL_DISABLE) }
        if connection?.changeEvent != nil {
            SDL_EventState(UInt32(SDL_SYSWMEVENT.rawValue), SDL_ENABLE)
        }
        handle(fullScreen.shown(window))
        if isDark { darken() }
        needsPaint = true
    }

    // MARK: VideoOutput

    /// The refresh timing: fixed if flips were observed, otherwise unpaced.
    public var refresh: RefreshMode {
        if case .observed(let period, let phase) = presenter?.refresh { return .fixed(period: period, phase: phase) }
        return .unpaced
    }

    /// The delay of the panel, plus half a refresh if flips exist at unknown times.
    public var latency: OutputLatency {
        var shares: [LatencyShare] = []
        if options.panelDelay != .zero {
            shares.append(LatencyShare(name: "panel", duration: options.panelDelay, source: .configured))
        }
        if case .someTime(let period) = presenter?.refresh {
            // Submitted at any time, visible at the next flip: half a refresh later on average.
            shares.append(
                LatencyShare(name: "next flip", duration: period / 2, uncertainty: period / 2, source: .assumed))
        }
        return OutputLatency(startLead: .milliseconds(20), shares: shares)
    }

    /// The duration of `present`, subtracted from the target of each frame.
    public var presentCost: Duration {
        // A quarter of a refresh: drawing is done before, only the swap is left. A measurement would feed back, because
        // an earlier call waits longer.
        if case .fixed(let period, _) = refresh { return period / 4 }
        return .nanoseconds(costs.median ?? 1_000_000)
    }

    /// Draws a frame and its subtitles without presenting them; opens the window if there is none. Discards the frame
    /// while hidden or dark.
    public func prepare(_ frame: any VideoFrame, under subtitles: Overlay?) {
        checkThread()
        self.subtitles = subtitles
        if window == nil, failure == nil {
            // ignored: `open` stores the failure and reports it.
            try? open(
                for: VideoPlacement.displaySize(
                    of: frame.size, pixelAspect: frame.pixelAspect, rotation: frame.rotation, view: view))
        }
        let isMapped = presenter?.mapsTones == true || converter.mapsTones(of: frame)
        for input in noted.notices(of: frame, isMapped: isMapped) { onEvent?(input) }
        isPrepared = false
        guard isVisible, !isDark, let presenter else { return }
        presenter.gravity = gravity
        presenter.view = view
        presenter.arrangement = arrangement
        isPrepared = presenter.prepare(frame, overlays: overlays)
        if !isPrepared, let input = noted.cannotDraw(frame) { onEvent?(input) }
        needsPaint = false
    }

    /// Returns the area for subtitles over a frame; nil while hidden or dark, and without a window.
    public func canvas(for frame: any VideoFrame) -> SubtitleCanvas? {
        guard isVisible, !isDark, let presenter else { return nil }
        let geometry = ScreenGeometry(arrangement, on: presenter.area)
        let placement = VideoPlacement(of: frame, gravity: gravity, view: view, in: geometry.canvas)
        let isTurned = placement.rotation % 180 != 0
        let storage = isTurned ? PixelSize(width: frame.size.height, height: frame.size.width) : frame.size
        return SubtitleCanvas(
            area: placement.area, video: placement.rect, storage: storage, textArea: geometry.titleSafe)
    }

    /// Returns the displayed video with subtitles, upright and without messages, independent of the presenter; nil
    /// while hidden.
    func snapshot(of frame: any VideoFrame) -> ScreenSnapshot? {
        guard let canvas = area, isVisible else { return nil }
        let placement = VideoPlacement(of: frame, gravity: gravity, view: view, in: canvas)
        return ScreenSnapshot(of: frame, lying: placement, by: converter)?.under(subtitles?.images ?? [])
    }

    /// Returns the displayed window content with messages and bars, upright; black without video; nil while hidden.
    func snapshot(withMessagesOver frame: (any VideoFrame)?) -> ScreenSnapshot? {
        guard let canvas = area, isVisible else { return nil }
        guard !isDark else { return ScreenSnapshot(black: canvas) }
        let images = images(on: geometry)
        guard let frame else { return ScreenSnapshot(black: canvas)?.under(images) }
        let placement = VideoPlacement(of: frame, gravity: gravity, view: view, in: canvas)
        return ScreenSnapshot(of: frame, lying: placement, by: converter)?.under(images)
    }

    /// Rebuilds `overlays` from subtitles and messages.
    func stack() {
        let geometry = geometry
        overlays = turning.onGlass(images(on: geometry), geometry)
    }

    /// Returns subtitles and messages on the canvas, from bottom to top.
    private func images(on geometry: ScreenGeometry?) -> [OverlayImage] {
        (subtitles?.images.map { $0.raised(above: barTop, in: geometry?.canvas) } ?? []) + (messages?.images ?? [])
    }

    /// Whether the last frame was drawn. True while hidden, dark or without a window, so that playback counts as
    /// keeping its pace.
    public var canPresent: Bool { isPrepared || !isVisible || isDark || presenter == nil }

    /// Presents the prepared frame. Returns the estimated instant of visibility.
    public func present() -> HostInstant {
        checkThread()
        guard isVisible, isPrepared, let presenter else { return .now }
        let before = HostInstant.now
        let shown = presenter.present()
        if isConnectionLost() { return shown }
        costs.add((shown - before).wholeNanoseconds)
        return shown
    }

    /// Removes the video from the screen at the next repaint.
    public func removeImage() { needsPaint = true }

    /// Paints black, with the messages unless the screen is dark. Used while there is no frame to draw.
    func paintNothing() {
        needsPaint = false
        let images = isDark ? [] : turning.onGlass(messages?.images ?? [], geometry)
        guard isVisible, let presenter, presenter.prepare(nil, overlays: images) else { return }
        _ = presenter.present()
    }

    /// Returns true if the window system is gone; the window is abandoned then without touching it.
    @discardableResult
    func isConnectionLost() -> Bool {
        guard let connection, connection.isLost else { return false }
        guard failure == nil else { return true }
        // Leaked deliberately: releasing the presenter would use the lost connection.
        if let presenter { _ = Unmanaged.passRetained(presenter as AnyObject) }
        (presenter, window) = (nil, nil)
        let error = OutputError(.lost, "the display was disconnected; start Talkie again to see the picture")
        failure = error
        if !options.followsDisplays || !canBeRemade { onEvent?(.lost(error)) }
        return true
    }

    /// Traps if called on another thread than the owner.
    func checkThread() {
        precondition(pthread_equal(owner, pthread_self()) != 0, "a Screen belongs to the thread that made it")
    }
}
