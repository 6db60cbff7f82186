import ScreenOutput
import TalkieApp
import Testing

@testable import Routing

@Suite struct RoutePickerPanelTests {
    @Test func rowsShowVolumesAndWhatCannotBeChosen() {
        var picker = RoutePicker()
        picker.update([
            RoutePicker.Row(id: "local", name: "local", isTicked: true, pending: nil, obstacle: nil, volume: 45),
            RoutePicker.Row(
                id: "Kitchen", name: "Kitchen", isTicked: false, pending: nil, obstacle: "pair it first", volume: nil),
        ])
        #expect(picker.panel.rows.map(\.isDim) == [false, true])
        #expect(picker.panel.rows.map(\.level) == [0.45, nil])
        #expect(picker.panel.rows[1].detail == "pair it first")
    }
}
