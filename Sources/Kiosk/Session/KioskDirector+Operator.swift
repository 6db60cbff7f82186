internal import MediaCore
internal import Playback
internal import ScreenOutput

// The operator's board on a second display.
extension KioskDirector {
    /// Updates the board. Called once per `beat`; returns at once without such a display.
    func tellOperator() {
        guard inForce.operatorScreen != nil, let screen = stage.screen else { return }
        var operatorBoard = OperatorBoard(health: stage.health.withLock { $0 })
        operatorBoard.status = situation.line(naming: Self.shortName)
        operatorBoard.hasSound = configuration.hasSound
        if isPlaying { operatorBoard.duration = stage.player.state.duration }
        operatorBoard.next = nextName
        screen.show(board: operatorBoard.board)
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
