public import MediaCore
public import SyncRendering

/// The screen as every other thread sees it: commands go in and return at once, what a person did comes out.
///
/// Commands are carried out in order by the thread that runs the `ScreenLoop`; those given before it runs wait.
public final class ScreenControl: Sendable {
    enum Command: Sendable {
        case attach(DisplayLayer, Timebase, EventLog)
        case detach
        case open(PixelSize)
        case fullScreen(Bool?)
        case view(PictureView)
        case arrangement(ScreenArrangement)
        case mode(DisplayMode, filmRate: Double?)
        case power(Bool)
        case remake
        case title(String)
        case message(ScreenMessage?)
        case mark(String?)
        case panel(ScreenPanel?)
        case bar(ScreenBar?)
        case board(ScreenBoard?)
        case snapshot(SnapshotKind, @Sendable (ScreenSnapshot?) -> Void)
        case stop
    }

    /// What a snapshot shows.
    package enum SnapshotKind: Sendable {
        /// The film's picture, in its own size.
        case picture
        /// What the window shows of the film, with its words.
        case window
        /// The same with messages and bars, on black where there is no picture.
        case screen
    }

    /// What the screen is doing, read whole.
    public struct Status: Sendable {
        /// Pictures shown, and passed over because a newer one was due, since the layer was attached.
        public var shown = 0
        public var dropped = 0
        public var refresh = RefreshMode.unpaced
        /// How pictures reach the glass, for people; empty without a window.
        public var presentation = ""
        /// What people see of the window, upright, in pixels; nil without a window.
        public var area: PixelSize?
        /// The part of that which words keep to.
        public var wordArea: PixelRect?
        public var isFullScreen = false
        public var isVisible = false
        /// The display that the window is on, by the window system's name; empty without a window.
        public var display = ""
        /// Refreshes a second that pictures wait for, as the display states them; nil where each is shown at once.
        public var displayRate: Int?
    }

    /// What people do to the window. One reader; when it falls behind, the oldest are dropped.
    public let inputs: AsyncStream<ScreenInput>
    let report: AsyncStream<ScreenInput>.Continuation
    private let listener = Lock<(@Sendable (ScreenInput) -> Void)?>(nil)
    /// Nil where the system gave no descriptor for it; `refusal` says so.
    let signal: PollableSignal?
    let refusal: ExhaustionError?
    private let commands = Lock<[Command]>([])
    private let currentView = Lock(PictureView())
    private let currentArrangement: Lock<ScreenArrangement>
    let state = Lock(Status())

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

    /// Takes what people do to the window in place of `inputs`, without a thread in between.
    ///
    /// - Parameter handler: called on the loop's thread; must return at once.
    package func onInput(_ handler: @escaping @Sendable (ScreenInput) -> Void) { listener.withLock { $0 = handler } }

    /// The loop's thread.
    func tell(_ input: ScreenInput) {
        if let listener = listener.withLock({ $0 }) { listener(input) } else { report.yield(input) }
    }

    /// What the screen is doing now.
    public var status: Status { state.withLock { $0 } }

    /// Shows this layer's pictures from now on, each when the timebase says. What was shown before stays on screen
    /// until the first one comes. Add the layer to the synchronizer too, so that it hears of changes.
    public func attach(_ layer: DisplayLayer, timebase: Timebase, events: EventLog) {
        send(.attach(layer, timebase, events))
    }

    /// Adds nothing to the synchronizer; shows the pictures of a layer that was added to it.
    public func attach(_ layer: DisplayLayer, to synchronizer: RenderSynchronizer) {
        attach(layer, timebase: synchronizer.timebase, events: synchronizer.recorder)
    }

    /// Takes no more pictures; the last one stays.
    public func detach() { send(.detach) }

    /// Opens the window ahead of the first picture, for pictures of this size in square pixels; when it is open and
    /// its size was not chosen by a person, it takes the new size.
    public func open(for size: PixelSize) { send(.open(size)) }

    /// Opens the window ahead of the first picture of a track.
    public func open(for format: VideoFormat) {
        open(
            for: PicturePlacement.displaySize(
                of: format.size, pixelAspect: format.pixelAspect, rotation: format.rotation, view: view))
    }

    /// How pictures lie in the window, beside what the film and the layer's `videoGravity` say: shape, size, place, turn. Screenshots are not
    /// changed by it.
    public var view: PictureView {
        get { currentView.withLock { $0 } }
        set {
            currentView.withLock { $0 = newValue }
            send(.view(newValue))
        }
    }

    /// How the screen hangs: all that is drawn, pointers too, follows at once.
    public var arrangement: ScreenArrangement {
        get { currentArrangement.withLock { $0 } }
        set {
            currentArrangement.withLock { $0 = newValue }
            send(.arrangement(newValue))
        }
    }

    /// What the display is asked for while the window fills it. Where it has no such mode it stays as it is, and a notice says so.
    ///
    /// - Parameter filmRate: pictures a second of what is shown, for `.film`; nil leaves the display as it is.
    public func setMode(_ mode: DisplayMode, filmRate: Double? = nil) { send(.mode(mode, filmRate: filmRate)) }

    /// Switches the display off or on. While it is off nothing is drawn, and the film goes on. Where a display cannot be switched off the
    /// window is black instead, and a notice says so once. It is on again when the window closes; a process that is killed leaves it off.
    public func setPower(_ isOn: Bool) { send(.power(isOn)) }

    /// Makes the window anew, as when its display went; with `ScreenOptions.followsDisplays` only. `ScreenInput.remade` says when it is done.
    public func remake() { send(.remake) }

    /// Fills the display, or goes back to a window; nil changes from one to the other.
    public func setFullScreen(_ isFullScreen: Bool?) { send(.fullScreen(isFullScreen)) }

    public func setTitle(_ title: String) { send(.title(title)) }

    /// Lays a message over the film for a while, in place of the one before; nil takes it away.
    public func show(_ message: ScreenMessage?) { send(.message(message)) }

    /// Lays a few words over the film that stay, in the corner, until others or nil take their place; a message covers
    /// them for as long as it stays.
    public func show(mark: String?) { send(.mark(mark)) }

    /// Lays a list over the film until another one or nil takes its place; messages wait behind it. What a person points
    /// at in it comes as `ScreenInput.panel`.
    public func show(panel: ScreenPanel?) { send(.panel(panel)) }

    /// Lays a bar along the lower edge until another one or nil takes its place. What a person points at in it comes as
    /// `ScreenInput.bar`; `ScreenInput.pointer` says when it is wanted.
    public func show(bar: ScreenBar?) { send(.bar(bar)) }

    /// Fills the display beside the film's with a board, until another one or nil takes its place; see `ScreenOptions.boardDisplay`.
    package func show(board: ScreenBoard?) { send(.board(board)) }

    /// The picture on screen in its own size, without message and bars; nil when there is none.
    public func snapshot() async -> ScreenSnapshot? {
        await withCheckedContinuation { continuation in
            takeSnapshot { continuation.resume(returning: $0) }
        }
    }

    /// The same for whoever does not wait.
    ///
    /// - Parameter reply: called on the loop's thread; must return at once.
    package func takeSnapshot(
        _ kind: SnapshotKind = .picture, _ reply: @escaping @Sendable (ScreenSnapshot?) -> Void
    ) { send(.snapshot(kind, reply)) }

    /// Ends the loop; the window closes.
    public func stop() { send(.stop) }

    private func send(_ command: Command) {
        commands.withLock { $0.append(command) }
        signal?.raise()
    }

    /// The loop's thread: puts the waiting commands into an empty array, and keeps that array's memory for the next.
    func take(into scratch: inout [Command]) {
        commands.withLock { commands in
            if !commands.isEmpty { swap(&commands, &scratch) }
        }
    }
}
