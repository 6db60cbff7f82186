internal import MediaCore
internal import Playback
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
                    row.choice == nil ? row.title : row.name, detail: row.detail ?? "",
                    mark: row.pending ?? row.problem != nil ? .pending : row.isTicked ? .ticked : .empty,
                    symbol: OutputSymbol(row.kind),
                    button: row.choice.map { $0.label ?? "Language" },
                    level: row.volume.map { $0 / 100 }, isDim: row.obstacle != nil)
            }, current: index, hint: hint, position: .above(.rooms))
    }
}

extension OutputSymbol {
    /// Creates the symbol of a kind of destination; a speaker for unknown kinds.
    init(_ kind: OutputDestination.Kind) {
        self =
            switch kind {
            case .thisComputer, .soundCard, .computer: .computer
            case .television: .television
            default: .speaker
            }
    }
}

extension ScreenBar {
    /// Adds the button of the outputs, if there is a choice, the picker above it is open, or an output has a problem.
    /// The button names the current outputs unless that is this computer alone without a problem.
    mutating func show(_ routes: RouteController) {
        let hasProblem = routes.hasProblem
        guard routes.hasChoice || routes.isOpen || hasProblem else { return }
        let symbols = routes.chosen.map { OutputSymbol($0.kind) }
        output = Output(
            symbol: symbols.first { $0 != .computer } ?? .computer, isElsewhere: routes.isElsewhere && !hasProblem)
        let name = PrintableText.of(routes.name)
        let names = PrintableText.of(routes.chosen.map(\.name).joined(separator: ", "))
        buttons[.rooms] =
            hasProblem ? [name, "\(names): no sound", "no sound"] : routes.isElsewhere ? [name, ""] : []
    }
}

extension RoutePicker.Element {
    init(_ part: ScreenPanel.Element) {
        self =
            switch part {
            case .mark: .mark
            case .text: .text
            case .button: .language
            case .level(let share): .level(share)
            }
    }
}
