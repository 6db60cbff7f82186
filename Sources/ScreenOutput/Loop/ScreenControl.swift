public import MediaCore
public import SyncRendering

/// The thread-safe interface to the screen: commands return at once, and user input arrives as events.
///
/// The thread of the `ScreenLoop` executes commands in order; those sent before it runs are queued. Any thread, except
/// where stated.
public final class ScreenControl: Sendable {
    enum Command: Sendable {
        case attach(DisplayLayer, Timebase, EventLog)
        case detach
        case open(PixelSize)
        case fullScreen(Bool?)
        case view(VideoGeometry)
        case arrangement(ScreenArrangement)
        case mode(DisplayMode, filmRate: Double?)
        case power(Bool)
        case remake
        case title(String)
        case raise
        case onTop(Bool)
        case resize(PixelSize)
        case message(ScreenMessage?)
        case mark(String?, isAccented: Bool)
        case panel(ScreenPanel?)
        case bar(ScreenBar?)
        case dashboard(DashboardContent?)
        case snapshot(SnapshotKind, @Sendable (ScreenSnapshot?) -> Void)
        case stop
    }

    /// The content of a snapshot.
    package enum SnapshotKind: Sendable {
        /// The video frame, in its own size.
        case video
        /// The video as displayed in the window, with subtitles.
        case window
        /// The same with messages and bars; black without video.
        case screen
    }

    /// The state of the screen, read atomically.
    public struct Status: Sendable {
        /// The number of frames shown since a layer was attached.
        public var shown = 0
        /// The number of frames dropped since then because a newer one was due.
        public var dropped = 0
        /// The refresh timing of the display.
        public var refresh = RefreshMode.unpaced
        /// A user-facing description of the presenter and window system; empty without a window.
        public var presentation = ""
        /// The upright visible area of the window, in pixels; nil without a window.
        public var area: PixelSize?
        /// The title-safe part of it, which text is confined to.
        package var titleSafeArea: PixelRect?
        /// Whether the window fills its display.
        public var isFullScreen = false
        /// The number of rows of the displayed panel; nil without one.
        package var panelRows: Int?
        /// Whether the window stays above others.
        public var isOnTop = false
        /// Whether the window is open, and neither hidden nor minimised.
        public var isVisible = false
        /// The window's display, by its name in the window system; empty without a window.
        public var display = ""
        /// The refresh rate in Hz that frames wait for, as reported by the display; nil if frames are presented
        /// immediately.
        public var displayRate: Int?
    }

    /// User input and window events. One consumer; if it is slow, the oldest events are dropped.
    public let inputs: AsyncStream<ScreenInput>
    let report: AsyncStream<ScreenInput>.Continuation
    private let listener = Lock<(@Sendable (ScreenInput) -> Void)?>(nil)
    /// Wakes the loop; nil if no descriptor was available. `refusal` has the reason.
    let signal: PollableSignal?
    let refusal: ExhaustionError?
    private let commands = Lock<(queue: [Command], isOver: Bool)>(([], false))
    private let currentView = Lock(VideoGeometry())
    private let currentArrangement: Lock<ScreenArrangement>
    let state = Lock(Status())
    /// Raised once the loop has ended.
    let hasEnded = Signal()

    init(_ arrangement: ScreenArrangement = ScreenArrangement()) {
        currentArrangement = Lock(arrangement)
        (inputs, report) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
        do throws(ExhaustionError) {
            signal = try PollableSignal()
            refusal = nil
        } catch {
            (signal, refusal) = (nil, error)
        }
    }

    /// Delivers user input to a handler instead of `inputs`, without a thread switch.
    ///
    /// - Parameter handler: Called on the loop's thread; must return at once.
    package func onInput(_ handler: @escaping @Sendable (ScreenInput) -> Void) { listener.withLock { $0 = handler } }

    /// Delivers an input. Called on the loop's thread.
    func deliver(_ input: ScreenInput) {
        if let listener = listener.withLock({ $0 }) { listener(input) } else { report.yield(input) }
    }

    /// Delivers pointer input. Called on the loop's thread.
    func deliver(pointer event: PointerInput.Event) { deliver(.pointer(PointerInput(event))) }

    /// The current state of the screen.
    public var status: Status { state.withLock { $0 } }

    /// Shows the frames of a layer at the times of the timebase. The previous content stays until its first frame. Add
    /// the layer to the synchronizer too, so that it receives timeline changes.
    public func attach(_ layer: DisplayLayer, timebase: Timebase, events: EventLog) {
        // A start waits for the screen from now on, until the loop has executed the command or has ended.
        layer.addScreen()
        if !send(.attach(layer, timebase, events)) { layer.removeScreen() }
    }

    /// Shows the frames of a layer that was added to a synchronizer.
    public func attach(_ layer: DisplayLayer, to synchronizer: RenderSynchronizer) {
        attach(layer, timebase: synchronizer.timebase, events: synchronizer.recorder)
    }

    /// Accepts no more frames; the last one stays on screen.
    public func detach() { send(.detach) }

    /// Opens the window before the first frame, for video of this size in square pixels. An open window is resized,
    /// unless the user has chosen its size.
    public func open(for size: PixelSize) { send(.open(size)) }

    /// Opens the window before the first frame of a track.
    public func open(for format: VideoFormat) { open(for: displaySize(of: format)) }

    /// Returns the size of video in square pixels.
    package func displaySize(of format: VideoFormat) -> PixelSize {
        VideoPlacement.displaySize(
            of: format.size, pixelAspect: format.pixelAspect, rotation: format.rotation, view: view)
    }

    /// The user's view settings: aspect ratio, zoom, pan and rotation, in addition to the media's and the layer's
    /// `videoGravity`. Screenshots are unaffected.
    public var view: VideoGeometry {
        get { currentView.withLock { $0 } }
        set {
            currentView.withLock { $0 = newValue }
            send(.view(newValue))
        }
    }

    /// The rotation and overscan compensation of the screen. All content and pointer positions follow at once.
    package var arrangement: ScreenArrangement {
        get { currentArrangement.withLock { $0 } }
        set {
            currentArrangement.withLock { $0 = newValue }
            send(.arrangement(newValue))
        }
    }

    /// Requests a display mode while the window fills the display. If there is none, the mode is unchanged, and a
    /// notice is sent.
    ///
    /// - Parameter filmRate: The frame rate of the video in Hz, for `.film`; nil leaves the mode unchanged.
    public func setMode(_ mode: DisplayMode, filmRate: Double? = nil) { send(.mode(mode, filmRate: filmRate)) }

    /// Switches the display off or on. While it is off nothing is drawn, and playback continues.
    ///
    /// If the display cannot be switched off, the window is black instead, and one notice is sent. Closing the window
    /// switches the display on; a killed process leaves it off.
    package func setPower(_ isOn: Bool) { send(.power(isOn)) }

    /// Recreates the window, as after a loss of its display; only with `ScreenOptions.followsDisplays`.
    /// `ScreenInput.remade` confirms it.
    public func remake() { send(.remake) }

    /// Enters or leaves full screen; nil toggles.
    public func setFullScreen(_ isFullScreen: Bool?) { send(.fullScreen(isFullScreen)) }

    /// Sets the title of the window.
    public func setTitle(_ title: String) { send(.title(title)) }

    /// Brings the window to the front, if the window system permits it.
    public func raise() { send(.raise) }

    /// Keeps the window above others, if the window system permits it; nil toggles.
    public func setOnTop(_ isOnTop: Bool?) {
        // The status changes at once: a message about it is made before the window's thread has the command.
        let wanted = state.withLock { status in
            status.isOnTop = isOnTop ?? !status.isOnTop
            return status.isOnTop
        }
        send(.onTop(wanted))
    }

    /// Resizes the window as if the user had, unless it fills its display.
    public func resize(to size: PixelSize) { send(.resize(size)) }

    /// Shows a message over the video for its duration, replacing the previous one; nil removes it.
    public func show(_ message: ScreenMessage?) { send(.message(message)) }

    /// Shows a permanent text in the corner until it is replaced or nil. A message hides it temporarily.
    ///
    /// - Parameter isAccented: As `ScreenMessage.isAccented`.
    public func show(mark: String?, isAccented: Bool = false) { send(.mark(mark, isAccented: isAccented)) }

    /// Shows a list over the video until it is replaced or nil; it hides messages. Pointer input on it arrives as
    /// `ScreenInput.pointer`.
    package func show(panel: ScreenPanel?) { send(.panel(panel)) }

    /// Shows a bar along the lower edge until it is replaced or nil. Pointer input on it arrives as
    /// `ScreenInput.pointer`, which also indicates when to show it.
    package func show(bar: ScreenBar?) { send(.bar(bar)) }

    /// Fills another display with a dashboard until it is replaced or nil; see `ScreenOptions.dashboardDisplay`.
    package func show(dashboard: DashboardContent?) { send(.dashboard(dashboard)) }

    /// Returns the displayed video frame in its own size, without messages and bar; nil without a frame, or after the
    /// loop has ended.
    public func snapshot() async -> ScreenSnapshot? {
        await withCheckedContinuation { continuation in
            captureSnapshot { continuation.resume(returning: $0) }
        }
    }

    /// Takes a snapshot without suspending the caller.
    ///
    /// - Parameter reply: Called on the loop's thread, or with nil on this one if the loop has ended; must return at
    ///   once.
    package func captureSnapshot(
        _ kind: SnapshotKind = .video, _ reply: @escaping @Sendable (ScreenSnapshot?) -> Void
    ) { if !send(.snapshot(kind, reply)) { reply(nil) } }

    /// Stops the loop and closes the window.
    public func stop() { send(.stop) }

    /// Stops the loop, and blocks until it has closed the window and restored the display's mode, or until a timeout.
    /// Not on the loop's thread.
    package func stop(within timeout: Duration) {
        stop()
        hasEnded.wait(until: .now.advanced(by: timeout))
    }

    /// Queues a command for the loop; returns false if that has ended.
    @discardableResult
    private func send(_ command: Command) -> Bool {
        let isQueued = commands.withLock { commands in
            if !commands.isOver { commands.queue.append(command) }
            return !commands.isOver
        }
        if isQueued { signal?.raise() }
        return isQueued
    }

    /// Refuses further commands and drops the queued ones. Called on the loop's thread when it ends.
    func close() {
        let dropped = commands.withLock { commands in
            defer { commands = ([], true) }
            return commands.queue
        }
        for command in dropped {
            switch command {
            case .attach(let layer, _, _): layer.removeScreen()
            case .snapshot(_, let reply): reply(nil)
            default: break
            }
        }
    }

    /// Moves the queued commands into an empty array and reuses that array's storage for the queue. Called on the
    /// loop's thread.
    func moveCommands(into scratch: inout [Command]) {
        commands.withLock { commands in
            if !commands.queue.isEmpty { swap(&commands.queue, &scratch) }
        }
    }
}
