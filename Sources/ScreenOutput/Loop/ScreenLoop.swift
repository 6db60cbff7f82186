internal import CSDL
internal import MediaCore
public import SyncRendering

/// The main thread's loop: owns the screen, presents each frame at its instant, and handles window events.
///
/// Between events it sleeps in one system call. That waits for the window system, commands, frames, the main dispatch
/// queue and the next deadline. Only a console's input and a window drag are polled.
///
/// The loop serves `DispatchQueue.main`, and so the main actor, like a run loop. Observers and requests with the
/// argument `queue: .main` run between two frames; a long callback delays the next frame.
///
/// All stored properties belong to the main thread, except `control`.
public final class ScreenLoop {
    /// The interface for other threads.
    public let control: ScreenControl
    let options: ScreenOptions
    let converter: any VideoFrameConverter
    var screen: Screen?
    let nothing = NoScreen()
    var presenter: FramePresenter?
    var layer: DisplayLayer?
    var timebase: Timebase?
    var commands: [ScreenControl.Command] = []
    var isStopping = false
    var failure: OutputError?
    var isFailureKnown = false
    var overlays: ScreenOverlays
    var pointer = PointerPosition()
    /// The current or possible drag of the window while the button is pressed; nil otherwise.
    var windowDrag: WindowDrag?
    /// When a pointer motion was last reported, and the position of a later one that was not, in window-system units.
    var lastPointerEvent: HostInstant?
    var heldMotion: (x: Int, y: Int)?
    var isAwake = false
    /// Whether the state of the window was published since it opened.
    var isDescribed = false
    var isRepeating = false
    /// Whether the key last pressed and still held was reported by name; its text is then ignored.
    var hasNamedKey = false
    /// The files and addresses of an unfinished drop.
    var dropped: [String] = []
    /// The maximum number of entries of a drop.
    static let maxDropped = 10_000
    var cursor: CursorHiding
    /// When to check the window's display, or to retry creating a window; nil without a change.
    var displaysDue: HostInstant?
    /// Whether no display is available.
    var isAway = false
    var knownDisplays: [ConnectedDisplay] = []
    /// The dashboard on another display; nil if none is requested.
    let dashboard: DashboardWindow?
    private var mainQueue: MainQueue?

    /// Creates a loop. The window system is first used by `run`.
    public init(options: ScreenOptions = ScreenOptions(), converter: any VideoFrameConverter) {
        self.options = options
        self.converter = converter
        control = ScreenControl(options.arrangement)
        cursor = CursorHiding(isNeverShown: options.hidesCursor)
        overlays = ScreenOverlays(raising: control.signal)
        dashboard = options.dashboardDisplay.map { [control] in
            DashboardWindow($0, converter: converter, raising: control.signal)
        }
        commands.reserveCapacity(16)
        MainQueue.acquire()
    }

    /// Runs the loop until `control.stop()`. Call it once, on the main thread.
    public func run() {
        PollableSignal.requestPreciseWaits()
        nothing.onFrame = { [weak self] in self?.reportFailure() }
        connect()
        mainQueue = control.signal == nil ? nil : MainQueue()
        while true {
            carryOutCommands()
            if isStopping { break }
            if let trouble = overlays.present(on: screen) { control.deliver(.notice(trouble)) }
            updateDisplays()
            let next = step()
            repaintIfNeeded(before: next)
            updateDashboard(before: next)
            // Last: the steps before may have read events from the socket, which the sleep would not see.
            let hadEvents = serveWindow()
            publish()
            mainQueue?.serve(before: next)
            if !hadEvents { sleep(until: next) }
        }
        control.close()
        layer?.arrival.echo(to: nil)
        overlays.stop()
        dashboard?.stop()
        dashboard?.close(screen?.connection)
        presenter = nil
        screen = nil
        control.hasEnded.raise()
        control.report.finish()
    }

    /// Whether HDR frames are tone-mapped by the screen. Before the window opens, the expected value.
    package var mapsTones: Bool { screen?.mapsTones ?? PresenterChoice.expectsToMapTones(options) }

    // MARK: One iteration

    /// Presents due frames. Returns the instant of the next one; nil if there is none to wait for.
    private func step() -> HostInstant? {
        guard let presenter, let layer else { return nil }
        updateScreenSaver()
        if let screen, screen.gravity != layer.videoGravity {
            screen.gravity = layer.videoGravity
            presenter.invalidate()
        }
        switch presenter.step() {
        case .at(let instant): return instant
        case .whenSomethingArrives: return nil
        }
    }

    /// Repaints outdated content, unless a frame due within 12 ms does so anyway; the repaint would delay it.
    private func repaintIfNeeded(before next: HostInstant?) {
        guard let screen, screen.needsPaint else { return }
        if screen.isDark { return screen.paintNothing() }
        if let next, next - .now < .milliseconds(12) { return }
        if let presenter, presenter.onScreen != nil { presenter.repaint() } else { screen.paintNothing() }
    }

    private func sleep(until film: HostInstant?) {
        var deadline = film
        func include(_ instant: HostInstant?) {
            guard let instant else { return }
            deadline = deadline.map { min($0, instant) } ?? instant
        }
        include(overlays.messageEnds)
        include(cursor.hideAt)
        include(mainQueue?.deadline)
        include(displaysDue)
        include(motionDue)
        if windowDrag != nil { include(.now.advanced(by: WindowDrag.pollInterval)) }
        let connection = screen?.isOpen == true ? screen?.connection : nil
        // Without a descriptor (console), input must be polled.
        if let connection, connection.descriptor == nil, !connection.isSilent {
            include(.now.advanced(by: .milliseconds(10)))
        }
        if let signal = control.signal {
            // Even with no time left: otherwise a film that is always late would block events.
            let wake = signal.wait(until: deadline, orReadable: connection?.descriptor, or: mainQueue?.waited)
            if wake.contains(.secondReadable) { mainQueue?.markPending() }
        } else {
            // There is neither a window nor a descriptor: poll for commands and frames.
            let soon = HostInstant.now.advanced(by: .milliseconds(20))
            min(deadline ?? soon, soon).sleep()
        }
        let now = HostInstant.now
        if let ends = overlays.messageEnds, ends <= now { showMessage(nil) }
        if let hide = cursor.hideAt, hide <= now { cursor.hide() }
        if let screen, screen.isOpen {
            deliverMotion(on: screen)
            _ = windowDrag?.move(screen)
        }
    }

    private func publish() {
        if !isDescribed, screen?.isOpen == true {
            // The first frame has opened the window.
            isDescribed = true
            pointer.record(on: screen)
            describe()
            fullScreenMayHaveChanged()
            updateScreenSaver()
        }
        control.state.withLock { state in
            state.panelRows = overlays.panelRows
            if let presenter {
                state.shown = presenter.shownCount
                state.dropped = presenter.droppedCount
            }
            state.refresh = screen?.refresh ?? .unpaced
            state.isVisible = screen?.isOpen == true && screen?.isVisible == true
        }
    }
}
