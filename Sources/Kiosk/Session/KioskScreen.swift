internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import SyncRendering

/// The window of a kiosk: the frames of the player, slates, arrangement and display mode. Used on the kiosk's thread
/// only.
final class KioskScreen {
    private let control: ScreenControl
    private let isOverscanning: @Sendable (String) -> Bool
    private var isAttached = false

    /// - Parameter isOverscanning: Whether the EDID of the named display states overscan.
    init(_ control: ScreenControl, isOverscanning: @escaping @Sendable (String) -> Bool) {
        (self.control, self.isOverscanning) = (control, isOverscanning)
    }

    /// Whether the window is visible; nil before a player was attached.
    var isVisible: Bool? { isAttached ? control.status.isVisible : nil }

    /// Opens the window for the frames of a player. Later calls have no effect.
    func attach(_ player: Player) {
        guard !isAttached else { return }
        isAttached = true
        control.open(for: Slate.size)
        control.attach(player.layer, timebase: player.synchronizer.timebase, events: player.events)
    }

    /// Shows the text of a slate, in a corner over an image; nil removes it.
    func show(_ slate: Slate?, places: String?, isInCorner: Bool) {
        guard let slate else { return control.show(nil as ScreenMessage?) }
        if !isAttached { control.open(for: Slate.size) }
        control.show(
            ScreenMessage(
                slate.words(places: places), for: .seconds(86_400), at: isInCorner ? .corner : .middle))
    }

    /// Applies rotation and overscan for the window's display.
    func arrange(by configuration: KioskConfiguration) {
        let isOverscanning = configuration.overscan == nil && isOverscanning(control.status.display)
        let wanted = configuration.arrangement(isOverscanning: isOverscanning)
        if wanted != control.arrangement { control.arrangement = wanted }
    }
}
