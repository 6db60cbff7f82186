internal import MediaCore
internal import Playback
internal import ScreenOutput

// The operator's board on a second display.
extension KioskDirector {
    /// Updates the board. Called once per `beat`; returns at once without such a display.
    func tellOperator() {
        guard settings.hasOperatorScreen, screen.isPresent else { return }
        var told = OperatorBoard(health: stage.health.withLock { $0 })
        told.status = situation.line(naming: Self.shortName)
        told.hasSound = configuration.hasSound
        if isPlaying { told.duration = stage.player.state.duration }
        told.next = nextName
        screen.show(told.board)
    }

    private var nextName: String? {
        guard !items.isEmpty, let next = stage.player.state.next else { return nil }
        return Self.shortName(Item(next))
    }

    /// Returns the name without the folder, which most items share.
    private static func shortName(_ item: Item) -> String {
        let name = ItemProgress.name(of: item)
        guard item.title == nil, let last = name.split(separator: "/").last else { return name }
        return String(last)
    }
}
