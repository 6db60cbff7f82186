import MediaCore
import Testing

@testable import ScreenOutput

@Suite struct ScreenOverlaysTests {
    private static let area = PixelSize(width: 1280, height: 720)
    private static let bar = ScreenBar(
        isPlaying: true, position: 0.25, loaded: 0.6, handed: 0.5, chapters: [], time: "00:01:02 / 01:02:03",
        buttons: [:],
        hasPrevious: true, hasNext: true, volume: ScreenBar.Volume(percent: 80, isMuted: false))
    private static let panel = ScreenPanel(
        title: "Sound output", rows: (0..<3).map { ScreenPanel.Row("Speaker \($0)", mark: .ticked, level: 0.5) },
        current: 0, hint: "keys")
    private let layout: BarLayout
    private let panelLayout: PanelLayout

    init() throws {
        let bar = BarLayout(Self.bar, in: Self.area, width: { Double($0.count) * 5.5 })
        let panel = PanelLayout(Self.panel, in: Self.area, above: bar, width: { Double($0.count) * 5.5 })
        (layout, panelLayout) = (try #require(bar), try #require(panel))
    }

    private func middle(of rect: PixelRect) -> ScreenOverlays.Position {
        (rect.x + rect.width / 2, rect.y + rect.height / 2)
    }

    @Test func aSliderFollowsThePointerUntilItsRelease() throws {
        var overlays = ScreenOverlays()
        overlays.show(bar: Self.bar)
        overlays.displayed(.init(barLayout: layout))
        let line = middle(of: try #require(layout.seekBar))
        let pressed = overlays.press(at: line)
        let half = try #require(layout.drag(.position(0), to: line.x))
        #expect(pressed == [.bar(half, isDragged: true)] && overlays.barTop == layout.top)
        // Beside the bar, the pointer still moves the slider.
        #expect(overlays.move(to: (0, 0)) == .bar(.position(0), isDragged: true))
        let released = (0..<2).map { _ in overlays.release(at: (Self.area.width, 0)) }
        #expect(released == [.bar(.position(1), isDragged: false), nil])
        #expect(overlays.move(to: (0, 0)) == .moved(over: nil))
        let beside = overlays.press(at: (0, 0))
        #expect(beside == nil)
    }

    @Test func aPanelTakesPressesAndWheelStepsEverywhere() throws {
        var overlays = ScreenOverlays()
        overlays.show(bar: Self.bar)
        overlays.show(panel: Self.panel)
        overlays.displayed(.init(layout: panelLayout, barLayout: layout))
        let row: ScreenOverlays.Position = (
            panelLayout.rect.x + Int(40 * panelLayout.scale),
            panelLayout.rect.y + Int((panelLayout.top(of: 1) + 6) * panelLayout.scale)
        )
        let pressed = [row, (0, 0)].map { overlays.press(at: $0) }
        #expect(pressed == [[.panel(row: 1, .text, turned: 0)], [.besidePanel]])
        #expect(overlays.turnWheel(-1, at: row) == .panel(row: 1, .text, turned: -1))
        #expect(overlays.turnWheel(1, at: (0, 0)) == .wheel(over: nil, turned: 1))
        overlays.show(panel: nil)
        #expect(overlays.turnWheel(1, at: (0, 0)) == nil)
        let volume = middle(of: try #require(layout.volume?.slider))
        guard case .wheel(over: .volume?, turned: 1)? = overlays.turnWheel(1, at: volume) else {
            Issue.record("the wheel changes the volume")
            return
        }
    }

    @Test func aMessageLastsFromItsDisplayOn() {
        var overlays = ScreenOverlays()
        overlays.show(ScreenMessage("Paused", for: .seconds(2)))
        #expect(overlays.messageEnds == nil)
        let before = HostInstant.now
        overlays.displayed(.init())
        let end = overlays.messageEnds
        #expect(end.map { $0 - before >= .seconds(2) } == true)
        overlays.displayed(.init())
        #expect(overlays.messageEnds == end)
        overlays.show(mark: "1")
        overlays.show(nil)
        overlays.displayed(.init())
        #expect(overlays.messageEnds == nil && overlays.content.mark == "1")
    }
}
