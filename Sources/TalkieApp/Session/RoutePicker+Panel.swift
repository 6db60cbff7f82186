internal import Routing
package import ScreenOutput

extension RoutePicker {
    /// The picker as drawn on the screen.
    package var panel: ScreenPanel {
        ScreenPanel(
            title: "Sound output",
            rows: rows.map { row in
                ScreenPanel.Row(
                    row.title, detail: row.pending ?? row.obstacle ?? "",
                    mark: row.pending != nil ? .pending : row.isTicked ? .ticked : .empty,
                    level: row.volume.map { $0 / 100 }, isDim: row.obstacle != nil)
            }, current: index, hint: notice ?? Self.keys, place: .above(.rooms))
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
