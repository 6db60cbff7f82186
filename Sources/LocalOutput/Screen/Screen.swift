internal import CSDL
internal import Glibc
public import MediaCore
public import SyncRendering

/// A window on this computer's display, through SDL2.
///
/// Belongs to the thread that made it, which must be the process's main thread; every call traps on another one.
/// The window opens when the first picture comes or `open` is called, so a film without picture shows none.
/// Trouble with the window later on never throws: it is kept in `failure`, pictures are taken and dropped, and the
/// film goes on.
public final class Screen: VideoOutput {
    private(set) var options: ScreenOptions
    let converter: any PictureConverter
    private let owner = pthread_self()
    private(set) var window: OpaquePointer?
    private(set) var presenter: (any PicturePresenter)?
    private var costs = RunningMedian(window: 31)
    private var isPrepared = false

    /// Why there is no window, or no longer one.
    public internal(set) var failure: OutputError?
    /// False while the window is hidden or minimised: pictures then cost nothing.
    public internal(set) var isVisible = true
    /// Lies over the film from the next `prepare` on.
    var messages: Overlay? {
        didSet {
            guard messages !== oldValue else { return }
            needsPaint = true
            stack()
        }
    }
    /// The upper edge of the bar, in pixels of the canvas: the film's words keep above it. Set before `messages` that change with it.
    var barTop: Int? { didSet { if barTop != oldValue { stack() } } }
    /// The film's words that lie over the picture prepared last.
    private var words: Overlay? { didSet { if words !== oldValue { stack() } } }
    /// Both, from the bottom up.
    private var overlays: [OverlayImage] = []
    /// How pictures lie in the window, from the next `prepare` on.
    var gravity = VideoGravity.resizeAspect { didSet { if gravity != oldValue { needsPaint = true } } }
    /// What a person changed of that, from the next `prepare` on.
    var view = PictureView() { didSet { if view != oldValue { needsPaint = true } } }
    /// How the screen hangs, from the next `prepare` on.
    var arrangement: ScreenArrangement {
        didSet {
            guard arrangement != oldValue else { return }
            geometryChanged()
        }
    }
    private var turning = OverlayTurning()
    /// What is on screen is not what should be; drawing anything mends it.
    var needsPaint = false
    /// The way to the window system; nil without a window.
    private(set) var connection: DisplayConnection?
    /// Told once each of what a person should know, on the owner's thread.
    var onNews: ((ScreenInput) -> Void)?
    private var noted = NotedPicture()
    var isSizeChosen = false
    /// The window has been fitted into its display together with its frame.
    var isFrameFitted = false
    var mode: DisplayMode
    /// Pictures a second of what is shown; nil where there are none.
    var filmRate: Double?
    /// The display is in a mode that it has for this window only.
    var hasOwnMode = false
    /// Why the display is not in the mode that is wanted, as it was told.
    var modeTrouble: String?
    /// Nothing is to be seen, by wish.
    var isDark = false
    var power = DisplayPower()
    var isPowerTold = false
    /// What the window was opened for.
    var openedFor: PixelSize?
    private var isReached = false
    /// Where the window was before it covered the display without a window manager's help.
    var windowBefore: SDL_Rect?

    /// Reaches the window system.
    ///
    /// - Throws: `.unavailable` when there is no display or not the one asked for; nothing is held then. With `followsDisplays` that is kept in
    ///   `failure` instead.
    public init(options: ScreenOptions = ScreenOptions(), converter: any PictureConverter) throws(OutputError) {
        self.options = options
        arrangement = options.arrangement
        mode = options.mode
        self.converter = converter
        // The program ends itself on SIGINT and SIGTERM, after its speakers were released.
        sdlHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1")
        sdlHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1")
        // Otherwise SDL gives window memory through OpenGL, which is drawn by the processor where there is no GPU.
        sdlHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0")
        // Whoever asked for a mode of the display has nothing else on it to go to.
        sdlHint(SDL_HINT_VIDEO_MINIMIZE_ON_FOCUS_LOSS, "0")
        do throws(OutputError) {
            try reach()
        } catch {
            guard options.followsDisplays else { throw error }
            failure = error
        }
    }

    /// Enters the window system.
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
            _ = try ConnectedDisplay.chosen(
                by: options.display, among: ConnectedDisplay.all)
        } catch {
            leave()
            throw error
        }
    }

    deinit {
        if connection?.isLost == true, driver == "x11" { return }
        closeWindow()
        if canBeRemade { leave() }
    }

    func leave() {
        if isReached { SDL_QuitSubSystem(UInt32(SDL_INIT_VIDEO)) }
        isReached = false
    }

    /// Gives the window up, and the display its own mode back. Where an X server ends meanwhile the window is left as it is.
    func closeWindow() {
        guard let window else { return }
        // For the next one.
        options.isFullScreen = isFullScreen
        power.switchOn(window)
        if connection?.takeDown(window) == false, driver == "x11" { return _ = isConnectionLost() }
        presenter = nil
        SDL_DestroyWindow(window)
        (self.window, connection, windowBefore, hasOwnMode) = (nil, nil, nil, false)
    }

    /// SDL's name of the window system.
    var driver: String { SDL_GetCurrentVideoDriver().map { String(cString: $0) } ?? "no window system" }

    /// The displays of this computer.
    public var displays: [ConnectedDisplay] { ConnectedDisplay.all }

    /// For people: how pictures reach the glass.
    public var presentation: String {
        return "\(presenter?.description ?? "no window") on \(driver)"
    }

    // MARK: Window

    /// Opens the window for pictures of this size in square pixels (`PicturePlacement.displaySize`); does nothing
    /// when it is open.
    public func open(for pictureSize: PixelSize) throws(OutputError) {
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
        let display = try ConnectedDisplay.chosen(
            by: options.display, among: ConnectedDisplay.all)
        let size = Self.initialSize(of: turned(pictureSize), wish: options.size, within: display.usableSize)
        let position = Int32(bitPattern: UInt32(SDL_WINDOWPOS_CENTERED_MASK) | UInt32(display.index))
        // Shown by `adopt`, once it is known who manages windows here.
        let flags =
            SDL_WINDOW_RESIZABLE.rawValue | SDL_WINDOW_ALLOW_HIGHDPI.rawValue | SDL_WINDOW_HIDDEN.rawValue
        var refusal: OutputError?
        for way in Self.ways(
            options.presentation, hasProcessor: GraphicsProcessor.isLikely, hasMemory: hasWindowMemory)
        {
            do throws(OutputError) {
                let made = try make(way, size, position, flags)
                adopt(made.window, made.presenter)
                tellFallback(from: options.presentation, because: refusal, to: made.presenter)
                if let words = Self.shortcomings(of: way, options.drawing) { onNews?(.notice(words)) }
                return
            } catch {
                refusal = refusal ?? error
            }
        }
        throw refusal ?? OutputError(.failed, "the window does not open")
    }

    private func adopt(_ window: OpaquePointer, _ presenter: any PicturePresenter) {
        (self.window, self.presenter) = (window, presenter)
        connection = DisplayConnection(window: window, followsDisplays: options.followsDisplays)
        isSizeChosen = options.size != nil
        WindowIcon.set(on: window)
        if options.isFullScreen { setFullScreen(true) }
        WindowSystem.show(window)
        if options.hidesCursor { SDL_ShowCursor(SDL_DISABLE) }
        if connection?.changeEvent != nil {
            SDL_EventState(UInt32(SDL_SYSWMEVENT.rawValue), SDL_ENABLE)
        }
        applyMode()
        if mode != .current, windowBefore != nil, !hasOwnMode { fillDisplay(window) }
        if isDark { darken() }
        needsPaint = true
    }

    /// A picture's own size, or the wish, scaled down to what the display has room for.
    static func initialSize(of picture: PixelSize, wish: PixelSize?, within room: PixelSize) -> PixelSize {
        let size = wish ?? picture
        let fits = size.width <= room.width && size.height <= room.height
        let chosen = fits || wish != nil ? size : PicturePlacement.fitted(size, into: room)
        return PixelSize(width: min(16384, max(1, chosen.width)), height: min(16384, max(1, chosen.height)))
    }

    func setInitialFullScreen(_ wanted: Bool) { options.isFullScreen = wanted }
    func setInitialTitle(_ title: String) { options.title = title }

    // MARK: VideoOutput

    public var refresh: RefreshMode {
        if case .observed(let period, let phase) = presenter?.refresh { return .fixed(period: period, phase: phase) }
        return .unpaced
    }

    public var latency: OutputLatency {
        var shares: [LatencyShare] = []
        if options.panelDelay != .zero {
            shares.append(LatencyShare(name: "panel", duration: options.panelDelay, source: .configured))
        }
        if case .someTime(let period) = presenter?.refresh {
            // Handed over at any moment, light at the next flip: half a refresh later on average.
            shares.append(
                LatencyShare(name: "next flip", duration: period / 2, uncertainty: period / 2, source: .assumed))
        }
        return OutputLatency(startLead: .milliseconds(20), shares: shares)
    }

    public var presentCost: Duration {
        // A quarter of a refresh before the flip: drawing is done, only the exchange is left. Measuring it would feed
        // on itself, because a call made earlier waits longer.
        if case .fixed(let period, _) = refresh { return period / 4 }
        return .nanoseconds(costs.median ?? 1_000_000)
    }

    public func prepare(_ picture: any Picture, under words: Overlay?) {
        checkThread()
        self.words = words
        if window == nil, failure == nil {
            // ignored: `open` keeps the failure and reports it.
            try? open(
                for: PicturePlacement.displaySize(
                    of: picture.size, pixelAspect: picture.pixelAspect, rotation: picture.rotation, view: view))
        }
        let isMapped = presenter?.mapsTones == true || converter.mapsTones(of: picture)
        for news in noted.news(of: picture, isMapped: isMapped) { onNews?(news) }
        isPrepared = false
        guard isVisible, !isDark, let presenter else { return }
        presenter.gravity = gravity
        presenter.view = view
        presenter.arrangement = arrangement
        isPrepared = presenter.prepare(picture, overlays: overlays)
        if !isPrepared, let news = noted.cannotDraw(picture) { onNews?(news) }
        needsPaint = false
    }

    public func canvas(for picture: any Picture) -> SubtitleCanvas? {
        guard isVisible, !isDark, let presenter else { return nil }
        let geometry = ScreenGeometry(arrangement, on: presenter.area)
        let placement = PicturePlacement(of: picture, gravity: gravity, view: view, in: geometry.canvas)
        let isTurned = placement.rotation % 180 != 0
        let storage = isTurned ? PixelSize(width: picture.size.height, height: picture.size.width) : picture.size
        return SubtitleCanvas(
            area: placement.area, picture: placement.rect, storage: storage, words: geometry.words)
    }

    /// What people see of the film, upright and without messages, whatever way pictures take to the glass; nil where it is hidden.
    func snapshot(of picture: any Picture) -> ScreenSnapshot? {
        guard let canvas = area, isVisible else { return nil }
        let placement = PicturePlacement(of: picture, gravity: gravity, view: view, in: canvas)
        return ScreenSnapshot(of: picture, lying: placement, by: converter)?.under(words?.images ?? [])
    }

    /// Returns what the window shows with messages and bars, upright, on black where there is no picture; nil where it is hidden.
    func snapshot(withMessagesOver picture: (any Picture)?) -> ScreenSnapshot? {
        guard let canvas = area, isVisible else { return nil }
        guard !isDark else { return ScreenSnapshot(black: canvas) }
        let images = images(on: geometry)
        guard let picture else { return ScreenSnapshot(black: canvas)?.under(images) }
        let placement = PicturePlacement(of: picture, gravity: gravity, view: view, in: canvas)
        return ScreenSnapshot(of: picture, lying: placement, by: converter)?.under(images)
    }

    func stack() {
        let geometry = geometry
        overlays = turning.onGlass(images(on: geometry), geometry)
    }

    /// Words and messages on the canvas, from the bottom up.
    private func images(on geometry: ScreenGeometry?) -> [OverlayImage] {
        (words?.images.map { $0.raised(above: barTop, in: geometry?.canvas) } ?? []) + (messages?.images ?? [])
    }

    public func present() -> HostInstant {
        checkThread()
        guard isVisible, isPrepared, let presenter else { return .now }
        let before = HostInstant.now
        let shown = presenter.present()
        if isConnectionLost() { return shown }
        costs.add((shown - before).wholeNanoseconds)
        return shown
    }

    public func removeImage() { needsPaint = true }

    /// Black, and a message if there is one: before the first picture, where none can be drawn, or none shall be seen.
    func paintNothing() {
        needsPaint = false
        let images = isDark ? [] : turning.onGlass(messages?.images ?? [], geometry)
        guard isVisible, let presenter, presenter.prepare(nil, overlays: images) else { return }
        _ = presenter.present()
    }

    /// True when the window system went away; the window is then given up, without touching it.
    @discardableResult
    func isConnectionLost() -> Bool {
        guard let connection, connection.isLost else { return false }
        guard failure == nil else { return true }
        // Whatever it holds belonged to the connection: freeing it would use the connection.
        if let presenter { _ = Unmanaged.passRetained(presenter as AnyObject) }
        (presenter, window) = (nil, nil)
        let error = OutputError(.lost, "the display is gone; the film goes on without its picture")
        failure = error
        if !options.followsDisplays || !canBeRemade { onNews?(.lost(error)) }
        return true
    }

    func checkThread() {
        precondition(pthread_equal(owner, pthread_self()) != 0, "a Screen belongs to the thread that made it")
    }
}
