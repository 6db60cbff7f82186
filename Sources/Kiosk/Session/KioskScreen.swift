internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import SyncRendering

/// The window of a kiosk and its display: the frames of the player, slates, arrangement, display mode and power. Used
/// on the kiosk's thread only.
final class KioskScreen {
    /// Nil without video.
    private let control: ScreenControl?
    private let isOverscanning: @Sendable (String) -> Bool
    private let settings: KioskSettings
    private let hookRunner: HookRunner
    private let attach: () -> Void
    private var isOpened = false
    /// Whether something else shows its frames.
    private var isLent = false

    /// - Parameter hookRunner: Runs the hooks of the display's power.
    init(_ stage: KioskStage, settings: KioskSettings, hookRunner: HookRunner) {
        (control, isOverscanning) = (stage.screen, stage.isOverscanning)
        (self.settings, self.hookRunner) = (settings, hookRunner)
        attach = { [control, player = stage.player] in
            control?.attach(player.layer, timebase: player.synchronizer.timebase, events: player.events)
        }
        // Before the first item is opened: its start waits for its first frame to be visible.
        attach()
    }

    /// Whether the kiosk shows video.
    var isPresent: Bool { control != nil }
    /// The window's state; nil without video.
    var status: ScreenControl.Status? { control?.status }
    /// Whether the window is visible; nil before it was opened for an item.
    var isVisible: Bool? { isOpened ? control?.status.isVisible : nil }

    /// Opens the window for the frames of the player. Later calls have no effect.
    func open() {
        guard !isOpened, let control else { return }
        isOpened = true
        control.open(for: Slate.size)
    }

    /// Shows the text of a slate, in a corner over an image; nil removes it.
    func show(_ slate: Slate?, outputNames: String?, isInCorner: Bool) {
        guard let control, !isLent else { return }
        guard let slate else { return control.show(nil as ScreenMessage?) }
        if !isOpened { control.open(for: Slate.size) }
        control.show(
            ScreenMessage(
                slate.text(outputNames: outputNames), for: .seconds(86_400), at: isInCorner ? .corner : .middle))
    }

    /// Shows the operator's dashboard.
    func show(_ content: DashboardContent) { control?.show(dashboard: content) }

    /// Applies rotation and overscan for the window's display.
    func arrange() {
        guard let control else { return }
        let configuration = settings.configuration
        let isOverscanning = configuration.overscan == nil && isOverscanning(control.status.display)
        let wanted = configuration.arrangement(isOverscanning: isOverscanning)
        if wanted != control.arrangement { control.arrangement = wanted }
    }

    /// Adapts the arrangement and a player to the display of a visible window.
    func adapt(_ player: Player) {
        guard let status, status.isVisible else { return }
        arrange()
        player.setScreen(status.display, refreshRate: status.displayRate, isFullScreen: status.isFullScreen)
    }

    /// Applies the configured display mode for the film of a player.
    func applyMode(for player: Player) {
        let rate = player.state.displayedVideoFormat?.frameRate.map { Double($0.numerator) / Double($0.denominator) }
        control?.setMode(settings.configuration.mode, filmRate: rate)
    }

    /// Switches the display on or off, and runs the hook's command.
    func setPower(_ isOn: Bool) {
        control?.setPower(isOn)
        let hooks = settings.configuration.hooks
        hookRunner.run(isOn ? "screen_on" : "screen_off", isOn ? hooks.screenOn : hooks.screenOff)
    }

    /// Leaves the window to something else, without a slate, until `showPlayer`.
    func lend() {
        show(nil, outputNames: nil, isInCorner: false)
        isLent = true
    }

    /// Shows the frames of the player again.
    func showPlayer() {
        isLent = false
        attach()
    }

    /// Recreates the window.
    func remake() { control?.remake() }

    func stop() { control?.stop() }
}
