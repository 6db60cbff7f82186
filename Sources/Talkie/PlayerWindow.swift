internal import MediaCodecs
internal import MediaCore
public import ScreenOutput
public import SyncRendering

/// A window for the video of a player, for applications without their own.
///
///     let window = PlayerWindow(title: "Player") { key in print(key) }
///     window.show(player)
///     window.run()
///
/// The window opens with the first video frame; audio alone opens none. It inhibits the screen saver during playback.
/// It reports its screen to the player, so that the screen's calibration is applied.
///
/// `f` and a double click toggle full screen; `q` and the close button end `run`. Without a display, video frames are
/// dropped, playback continues, and `failure` contains the reason.
///
/// A window belongs to the main actor, as the window system requires; `run` also serves the main actor and
/// `DispatchQueue.main`.
@MainActor
public final class PlayerWindow {
    private nonisolated let screen: ScreenControl
    /// Nil once `run` was called.
    private var loop: ScreenLoop?
    private let expectsToMapTones: Bool
    private nonisolated let lost = Lock<OutputError?>(nil)
    private let onKey: (String) -> Void
    /// The player whose video is shown.
    private weak var player: Player?

    /// Creates a window; it opens with the first video frame.
    ///
    /// - Parameters:
    ///   - title: The title of the window.
    ///   - options: The options of the screen; their title is replaced.
    ///   - onKey: Receives other keys by mpv's names (`"SPACE"`, `"Shift+RIGHT"`, `"WHEEL_UP"`).
    public init(
        title: String, options: ScreenOptions = ScreenOptions(), onKey: @escaping (String) -> Void = { _ in }
    ) {
        var options = options
        options.title = title
        let loop = ScreenLoop(options: options, converter: SoftwareFrameConverter(drawing: options.drawing))
        expectsToMapTones = loop.mapsTones
        screen = loop.control
        self.loop = loop
        self.onKey = onKey
    }

    /// Shows the video of this player, replacing any other.
    public func show(_ player: Player) {
        // An estimate for frames decoded before the window is open; the open window sets the actual value.
        if !screen.status.isVisible { player.layer.toneMapping.isDoneByScreen = expectsToMapTones }
        self.player = player
        reportScreen()
        screen.attach(player.layer, timebase: player.synchronizer.timebase, events: player.events)
    }

    /// Shows a layer of a synchronizer instead of a player, for applications that feed renderers themselves.
    public func show(_ layer: DisplayLayer, on synchronizer: RenderSynchronizer) {
        player = nil
        screen.attach(layer, to: synchronizer)
    }

    /// Runs the window until it is closed. Must be called once; traps on a second call.
    public func run() {
        guard let loop else { preconditionFailure("a window is served once") }
        self.loop = nil
        let inputs = screen.inputs
        // Not on the main actor: `run` may be called by a job of it, and ends with what is handled here.
        Task.detached { [self] in for await input in inputs { await handle(input) } }
        loop.run()
    }

    /// Ends `run` and closes the window. Any thread.
    public nonisolated func close() { screen.stop() }

    /// Why there is no window; nil while it works. Any thread.
    public nonisolated var failure: String? { lost.withLock { $0?.message } }

    /// The state of the window: its size, and the number of shown and skipped video frames. Any thread.
    public nonisolated var status: ScreenControl.Status { screen.status }

    private nonisolated func handle(_ input: ScreenInput) async {
        switch input {
        case .close, .key("q", _): close()
        case .key("f", _), .key("MBTN_LEFT_DBL", _): screen.setFullScreen(nil)
        case .key(let name, _): await forward(name)
        case .lost(let error): lost.withLock { $0 = error }
        case .resized, .fullScreen, .visible: await reportScreen()
        case .pointer, .dropped, .notice, .displays, .away, .back, .remade: break
        }
    }

    private func forward(_ key: String) { onKey(key) }

    /// Reports the screen to the player, once the window is visible.
    private func reportScreen() {
        let status = screen.status
        guard status.isVisible, let player else { return }
        player.setScreen(status.display, refreshRate: status.displayRate, isFullScreen: status.isFullScreen)
    }
}
