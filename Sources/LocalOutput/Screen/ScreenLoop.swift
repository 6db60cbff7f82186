internal import CSDL
internal import MediaCore
public import SyncRendering

/// The loop of the process's main thread: it owns the screen, shows each picture at its instant, and serves the
/// window.
///
/// Between two things to do it sleeps in one call that hears the window system, commands, arriving pictures, the main dispatch
/// queue and the next deadline alike: nothing is polled.
///
/// It serves `DispatchQueue.main` and with it the main actor, as a run loop would: observers and requests `queue: .main` are
/// called between two pictures. What they do there delays the next one, if it takes longer than there is time.
public final class ScreenLoop {
    /// For all other threads.
    public let control: ScreenControl
    let options: ScreenOptions
    let converter: any PictureConverter
    var screen: Screen?
    let nothing = NoScreen()
    var presenter: FramePresenter?
    var layer: DisplayLayer?
    var timebase: Timebase?
    var commands: [ScreenControl.Command] = []
    var isStopping = false
    var failure: OutputError?
    var isFailureKnown = false
    var message: ScreenMessage?
    var mark: String?
    var messageEnds: HostInstant?
    var panel: ScreenPanel?
    var panelLayout: PanelLayout?
    var bar: ScreenBar?
    var barLayout: BarLayout?
    /// The part of the bar that a pointer was pressed on, for as long as it is held down.
    var dragged: ScreenBar.Part?
    var pointer = PointerPlace()
    /// The window is moved by the picture, or may be, for as long as the button is held down.
    var windowDrag: WindowDrag?
    /// When a movement of the pointer was last told.
    var pointerTold: HostInstant?
    let overlayPainter: OverlayPainter
    var isAwake = false
    var isDescribed = false
    var isRepeating = false
    /// The key that was pressed last, and is still held, has been reported by its name: its text is not another key.
    var hasNamedKey = false
    /// Files and addresses of a drop that is not over.
    var dropped: [String] = []
    static let mostDropped = 10_000
    var cursor: CursorHiding
    /// When to look whether the window still stands, or to try to make one; nil when nothing changed.
    var displaysDue: HostInstant?
    /// There is no display.
    var isAway = false
    var knownDisplays: [ConnectedDisplay] = []
    /// Beside the film; nil where none is wanted.
    let board: BoardWindow?
    private var mainQueue: MainQueue?

    /// Does nothing yet; the window system is reached by `run`.
    public init(options: ScreenOptions = ScreenOptions(), converter: any PictureConverter) {
        self.options = options
        self.converter = converter
        control = ScreenControl(options.arrangement)
        cursor = CursorHiding(isNeverShown: options.hidesCursor)
        overlayPainter = OverlayPainter(raising: control.signal)
        board = options.boardDisplay.map { [control] in
            BoardWindow($0, converter: converter, raising: control.signal)
        }
        commands.reserveCapacity(16)
    }

    /// Serves the screen until `control.stop()`. On the main thread, once.
    public func run() {
        PollableSignal.requestPreciseWaits()
        connect()
        mainQueue = control.signal == nil ? nil : MainQueue()
        while true {
            carryOutCommands()
            if isStopping { break }
            takeOverlay()
            followDisplays()
            let next = step()
            repaintIfNeeded(before: next)
            attendBoard(before: next)
            // Last, because whatever talks to the window system may have brought news in, which the sleep would not see.
            let hadNews = serveWindow()
            publish()
            mainQueue?.serve(before: next)
            if !hadNews { sleep(until: next) }
        }
        layer?.arrival.echo(to: nil)
        overlayPainter.stop()
        board?.stop()
        board?.close(screen?.connection)
        presenter = nil
        screen = nil
        control.report.finish()
    }

    /// Pictures in HDR are wanted as they are coded, as far as that is known: before the window is open it is what is expected.
    public var mapsTones: Bool { screen?.mapsTones ?? Screen.expectsToMapTones(options) }

    // MARK: One round

    /// What the film wants now; nil when nothing until something arrives.
    private func step() -> HostInstant? {
        guard let presenter, let layer else { return nil }
        keepAwake()
        if let screen, screen.gravity != layer.videoGravity {
            screen.gravity = layer.videoGravity
            presenter.invalidate()
        }
        switch presenter.step() {
        case .at(let instant): return instant
        case .whenSomethingArrives: return nil
        }
    }

    /// A picture that comes soon carries the message or fills the new window anyway; a repaint would delay it.
    private func repaintIfNeeded(before next: HostInstant?) {
        guard let screen, screen.needsPaint else { return }
        if screen.isDark { return screen.paintNothing() }
        if let next, next - .now < .milliseconds(12) { return }
        if let presenter, presenter.onScreen != nil { presenter.repaint() } else { screen.paintNothing() }
    }

    private func sleep(until film: HostInstant?) {
        var deadline = film
        func include(_ moment: HostInstant?) {
            guard let moment else { return }
            deadline = deadline.map { min($0, moment) } ?? moment
        }
        include(messageEnds)
        include(cursor.hideAt)
        include(mainQueue?.deadline)
        include(displaysDue)
        if windowDrag != nil { include(.now.advanced(by: WindowDrag.pollInterval)) }
        let connection = screen?.isOpen == true ? screen?.connection : nil
        // A console's keyboard cannot be waited for, only looked at.
        if let connection, connection.descriptor == nil, !connection.isSilent {
            include(.now.advanced(by: .milliseconds(10)))
        }
        if let signal = control.signal {
            // Also when there is no time left: a film that is always late is no reason to be deaf.
            let wake = signal.wait(until: deadline, orReadable: connection?.descriptor, or: mainQueue?.waited)
            if wake.contains(.secondReadable) { mainQueue?.noteWork() }
        } else {
            // There is no window, and nothing to wait with: commands and pictures are looked for.
            let soon = HostInstant.now.advanced(by: .milliseconds(20))
            min(deadline ?? soon, soon).sleep()
        }
        let now = HostInstant.now
        if let ends = messageEnds, ends <= now { showMessage(nil) }
        if let hide = cursor.hideAt, hide <= now { cursor.hide() }
        if let screen, screen.isOpen { _ = windowDrag?.follow(screen) }
    }

    private func publish() {
        if !isDescribed, screen?.isOpen == true {
            // It opened by itself for the first picture.
            isDescribed = true
            pointer.note(on: screen)
            describe()
            fullScreenMayHaveChanged()
            keepAwake()
        }
        control.state.withLock { state in
            if let presenter {
                state.shown = presenter.shownCount
                state.dropped = presenter.droppedCount
            }
            state.refresh = screen?.refresh ?? .unpaced
            state.isVisible = screen?.isOpen == true && screen?.isVisible == true
        }
    }
}
