internal import MediaCore
internal import Routing
package import ScreenOutput
internal import SyncRendering

extension RoutePicker {
    /// The picker as drawn on the screen.
    package var panel: ScreenPanel {
        ScreenPanel(
            title: "Sound output",
            rows: rows.map { row in
                ScreenPanel.Row(
                    row.title, detail: row.pending ?? row.obstacle ?? "",
                    mark: row.pending != nil ? .pending : row.isTicked ? .ticked : .empty,
                    symbol: OutputSymbol(row.kind), level: row.volume.map { $0 / 100 }, isDim: row.obstacle != nil)
            }, current: index, hint: notice ?? Self.keys, place: .above(.rooms))
    }
}

extension OutputSymbol {
    /// Creates the symbol of a kind of place; a speaker for unknown kinds.
    init(_ kind: OutputPlace.Kind) {
        self =
            switch kind {
            case .thisComputer, .soundCard, .computer: .computer
            case .television: .television
            default: .speaker
            }
    }
}

extension ScreenBar {
    /// Adds the button of the outputs, if there is a choice or the picker above it is open. The button names the
    /// current outputs unless that is this computer alone.
    mutating func show(_ routes: RouteController) {
        guard routes.hasChoice || routes.isOpen else { return }
        let symbols = routes.chosen.map { OutputSymbol($0.kind) }
        output = Output(
            symbol: symbols.first { $0 != .computer } ?? .computer, isElsewhere: routes.isElsewhere)
        buttons[.rooms] = routes.isElsewhere ? [PrintableText.of(routes.name), ""] : []
    }
}

extension RoutePicker.Part {
    init(_ part: ScreenPanel.Part) {
        self =
            switch part {
            case .mark: .mark
            case .text: .text
            case .level(let share): .level(share)
            }
    }
}
