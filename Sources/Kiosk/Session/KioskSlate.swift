internal import MediaCore
internal import Playback

/// What a kiosk shows while no film does: the slate, and its image. Used on the kiosk's thread only.
///
/// Functions with an image open it while nothing can be played, and return true if they did.
final class KioskSlate {
    private let player: Player
    private let messages: KioskMessages
    private let settings: KioskSettings
    private let screen: KioskScreen
    private let routeSupervisor: KioskRouteSupervisor?
    private var stack = SlateStack()
    /// True while the player shows the configured image.
    private(set) var isImage = false

    /// - Parameter routeSupervisor: The names of its outputs are part of a slate.
    init(
        _ player: Player, messages: KioskMessages, settings: KioskSettings, screen: KioskScreen,
        routeSupervisor: KioskRouteSupervisor?
    ) {
        (self.player, self.messages, self.settings) = (player, messages, settings)
        (self.screen, self.routeSupervisor) = (screen, routeSupervisor)
    }

    /// The slate on the screen; nil while a film is shown.
    var shown: Slate? { stack.shown }
    /// Whether the slate says that nothing can be played.
    var isNothing: Bool { if case .nothing? = shown { true } else { false } }
    /// True while paused by a fleet command.
    var isHeld: Bool { stack.isHeld }

    // MARK: Slates

    /// Shows a slate. A slate of a fleet command stays visible while the kiosk is paused.
    func show(_ slate: Slate, image: String?) -> Bool { stack.show(slate) && apply(image) }

    /// Shows that nothing can be played; opens the image again if an attempt to play has replaced it.
    func showNothing(_ reason: String?, image: String?) -> Bool {
        show(.nothing(reason), image: image) || !isImage && changeImage(image)
    }

    func hide() { if stack.hide() { _ = apply(nil) } }

    /// Pauses the kiosk until `resume`.
    func hold() { stack.hold() }

    /// Pauses the kiosk and shows the slate of a fleet command until `resume`.
    func hold(showing text: String?) { if stack.hold(showing: text) { _ = apply(nil) } }

    /// Ends the pause.
    func resume(image: String?) -> Bool { stack.resume() && apply(image) }

    /// Shows the current slate, or removes the previous one.
    private func apply(_ image: String?) -> Bool {
        guard let shown else {
            screen.show(nil, outputNames: nil, isInCorner: false)
            return false
        }
        var isOpened = false
        if case .nothing(let reason) = shown {
            messages.say(
                .warning, "nothing is shown: \(reason ?? "no films have been found yet")", KioskNote(.fault))
            isOpened = open(image)
        }
        refresh()
        return isOpened
    }

    /// Updates the text of the slate, which may have changed.
    func refresh() {
        guard let shown else { return }
        screen.show(
            shown, outputNames: routeSupervisor?.outputNames, isInCorner: isImage && settings.configuration.slate != nil
        )
    }

    // MARK: Image

    /// Applies another image while nothing can be played.
    func changeImage(_ image: String?) -> Bool {
        guard isNothing else { return false }
        if settings.configuration.slate == nil, isImage { player.skip() }
        let isOpened = open(image)
        refresh()
        return isOpened
    }

    private func open(_ image: String?) -> Bool {
        guard let image, screen.isPresent else { return false }
        isImage = true
        player.openOutsideList(image)
        player.play()
        return true
    }

    /// Records that the player opens an item of the playlist instead of the image.
    func markImageReplaced() { isImage = false }

    /// Handles a phase of the player while the image is open; nothing follows it.
    func handleImage(_ phase: PlayerState.Phase) {
        switch phase {
        case .buffering, .playing: screen.open()
        case .failed:
            isImage = false
            messages.say(
                .error, player.state.failure?.message ?? "the image of the slate cannot be shown", KioskNote(.broken))
            refresh()
        case .idle, .opening, .paused, .ended: break
        }
    }
}
