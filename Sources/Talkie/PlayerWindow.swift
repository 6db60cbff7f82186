public import LocalOutput
internal import MediaCodecs
internal import MediaCore
public import SyncRendering

/// A window for a player's pictures, for applications that have none of their own.
///
///     let window = PlayerWindow(title: "Player") { key in print(key) }
///     window.show(player)
///     window.run()
///
/// The window opens with the first picture, so that sound alone shows none, and keeps the screen saver away while time runs.
/// It tells the player which screen it is on, so that what was calibrated with that one is applied. `f` and a double click fill the screen or leave it; `q` and the window's own button end `run`. Where no display can be
/// reached pictures are taken and dropped, the film goes on, and `failure` says why.
///
/// Made anywhere; `run` belongs to the process's main thread, as the window system wants, and everything else to any thread. It
/// serves `DispatchQueue.main` and the main actor meanwhile.
public final class PlayerWindow: Sendable {
    private let screen: ScreenControl
    private let loop: MainThreadLoop
    private let expectsToMapTones: Bool
    private let lost = Lock<OutputError?>(nil)
    private let onKey: @Sendable (String) -> Void
    /// Whose pictures are shown.
    private let shown = Lock(Shown())

    private struct Shown: Sendable { weak var player: Player? }

    /// - Parameters:
    ///   - title: what the window is called.
    ///   - options: how the screen is wanted; its title is replaced.
    ///   - onKey: told what a person presses, by mpv's names (`"SPACE"`, `"Shift+RIGHT"`, `"WHEEL_UP"`), on some thread.
    public init(
        title: String, options: ScreenOptions = ScreenOptions(), onKey: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        var options = options
        options.title = title
        let loop = ScreenLoop(options: options, converter: SoftwarePictureConverter(drawing: options.drawing))
        expectsToMapTones = loop.mapsTones
        self.loop = MainThreadLoop(loop)
        screen = self.loop.control
        self.onKey = onKey
    }

    /// Shows this player's pictures from now on, in place of another's.
    public func show(_ player: Player) {
        // The window, once it is open, says what is so; pictures may be decoded before.
        if !screen.status.isVisible { player.layer.toneMapping.isDoneByScreen = expectsToMapTones }
        shown.withLock { $0.player = player }
        tellScreen()
        screen.attach(player.layer, timebase: player.synchronizer.timebase, events: player.events)
    }

    /// Shows the pictures of a layer that was added to a synchronizer, in place of a player's: for applications that feed
    /// renderers themselves.
    public func show(_ layer: DisplayLayer, on synchronizer: RenderSynchronizer) {
        shown.withLock { $0.player = nil }
        screen.attach(layer, to: synchronizer)
    }

    /// Serves the window until it is closed. On the process's main thread; once, or it traps.
    public func run() {
        let inputs = screen.inputs
        Task.detached { [self] in for await input in inputs { take(input) } }
        loop.run()
    }

    /// Ends `run` and closes the window.
    public func close() { screen.stop() }

    /// Why there is no window, or no longer one; nil while all is well.
    public var failure: String? { lost.withLock { $0?.message } }

    /// What the window is doing: its size, how many pictures were shown and passed over.
    public var status: ScreenControl.Status { screen.status }

    private func take(_ input: ScreenInput) {
        switch input {
        case .close, .key("q", _): close()
        case .key("f", _), .key("MBTN_LEFT_DBL", _): screen.setFullScreen(nil)
        case .key(let name, _): onKey(name)
        case .lost(let error): lost.withLock { $0 = error }
        case .resized, .fullScreen, .visible: tellScreen()
        case .panel, .besidePanel, .bar, .wheel, .pointer, .pointerLeft, .dropped, .notice, .displays, .away, .back,
            .remade:
            break
        }
    }

    /// Lets the player know where its pictures are seen, once that is so.
    private func tellScreen() {
        let status = screen.status
        guard status.isVisible, let player = shown.withLock({ $0.player }) else { return }
        player.setScreen(status.display, refreshRate: status.displayRate, isFullScreen: status.isFullScreen)
    }
}

/// The one object of a window that belongs to the main thread.
///
/// `@unchecked Sendable`: the loop leaves the lock once, for the thread that runs it; its control may be used from everywhere.
private final class MainThreadLoop: @unchecked Sendable {
    let control: ScreenControl
    private let loop: Lock<ScreenLoop?>

    init(_ loop: ScreenLoop) {
        self.loop = Lock(loop)
        control = loop.control
    }

    func run() {
        let taken = loop.withLock { loop in
            defer { loop = nil }
            return loop
        }
        guard let taken else { preconditionFailure("a window is served once") }
        taken.run()
    }
}
