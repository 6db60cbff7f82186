import MediaCore
import Testing
import Text

@testable import LocalOutput

@Suite struct PanelTests {
    private func panel(_ count: Int, current: Int = 0) -> ScreenPanel {
        ScreenPanel(
            title: "Where the sound goes",
            rows: (0..<count).map { ScreenPanel.Row("Speaker \($0)", mark: .ticked, level: 0.5) }, current: current,
            hint: "keys")
    }

    private let painter: TextPainter
    private let width: (String) -> Double
    private let drawing: PanelDrawing

    init() throws {
        let painter = try #require(TextPainter())
        self.painter = painter
        drawing = PanelDrawing(painter: painter)
        width = { painter.width(of: $0, size: 11) }
    }

    private func layOut(_ panel: ScreenPanel, in area: PixelSize) -> PanelLayout? {
        PanelLayout(panel, in: area, width: width)
    }

    @Test func aPanelLiesInTheMiddleAndEveryPartOfItsRowsIsFound() throws {
        let layout = try #require(layOut(panel(3), in: PixelSize(width: 1280, height: 720)))
        #expect(layout.first == 0 && layout.count == 3)
        #expect(abs(layout.rect.x * 2 + layout.rect.width - 1280) <= 1)
        for row in 0..<3 {
            let y = layout.rect.y + Int((layout.top(of: row) + 6) * layout.scale)
            #expect(layout.hit(x: layout.rect.x + Int(8 * layout.scale), y: y, rows: 3)?.part == .mark)
            #expect(layout.hit(x: layout.rect.x + Int(40 * layout.scale), y: y, rows: 3)?.part == .text)
            let bar = try #require(
                layout.hit(x: layout.rect.x + Int((layout.barLeft + 21) * layout.scale), y: y, rows: 3))
            #expect(bar.row == row)
            guard case .level(let share) = bar.part else {
                Issue.record("\(bar.part)")
                return
            }
            #expect(abs(share - 0.5) < 0.05)
        }
        #expect(layout.hit(x: 0, y: 0, rows: 3) == nil)
        #expect(!layout.contains(x: 0, y: 0))
    }

    @Test func aLongListIsScrolledToTheRowOneIsOn() throws {
        let area = PixelSize(width: 640, height: 240)
        let layout = try #require(layOut(panel(40, current: 30), in: area))
        #expect(layout.count < 40)
        #expect((layout.first..<(layout.first + layout.count)).contains(30))
        let end = try #require(layOut(panel(40, current: 39), in: area))
        #expect(end.first + end.count == 40)
    }

    @Test(arguments: [
        (1920, 1080), (1280, 720), (854, 480), (640, 360), (480, 640), (320, 240), (320, 180), (240, 160),
    ])
    func theHintIsNotCutAtAnySize(width: Int, height: Int) throws {
        var panel = panel(3)
        panel.hint = "↑↓ choose   Enter play here   Space add or leave out   ← → volume   Esc close"
        let area = PixelSize(width: width, height: height)
        let layout = try #require(layOut(panel, in: area))
        #expect(layout.hint.joined(separator: "   ").split(separator: " ") == panel.hint.split(separator: " "))
        let room = Double(layout.rect.width) / layout.scale
        for line in layout.hint { #expect(painter.width(of: line, size: 11) <= room) }
        #expect(layout.rect.width <= width && layout.rect.height <= height)
        #expect(layout.hintTop + Double(layout.hint.count) * 11 <= Double(layout.rect.height) / layout.scale + 0.5)
    }

    @Test func aBarHasItsNumberBesideIt() throws {
        func pixels(_ level: Double) throws -> (overlay: OverlayImage, layout: PanelLayout) {
            var panel = panel(1)
            panel.rows[0].level = level
            let area = PixelSize(width: 640, height: 360)
            let layout = try #require(layOut(panel, in: area))
            let overlay = drawing.overlay(panel, in: layout, of: area)
            return (try #require(overlay), layout)
        }
        let (low, layout) = try pixels(0.05)
        let (high, _) = try pixels(1)
        // Left of the bar, where the words have ended.
        let columns = Int(layout.textRight * layout.scale)..<Int((layout.barLeft - 2) * layout.scale)
        func ink(_ overlay: OverlayImage) -> Int {
            (0..<overlay.rect.height).reduce(0) { sum, row in
                sum + columns.count { overlay.pixels[(row * overlay.rect.width + $0) * 4] > 150 }
            }
        }
        #expect(ink(low) > 0)
        #expect(ink(high) > ink(low), "100% has more to write than 5%")
    }

    @Test func anythingIsDrawnInsideTheWindowOrNotAtAll() {
        var wild = panel(200, current: 999)
        wild.rows[0].text = String(repeating: "W", count: 10_000)
        wild.rows[1].level = .infinity
        wild.hint = String(repeating: "hint ", count: 500)
        for area in [(1, 1), (60, 40), (320, 200), (1920, 1080)].map({ PixelSize(width: $0.0, height: $0.1) }) {
            guard let layout = layOut(wild, in: area), let overlay = drawing.overlay(wild, in: layout, of: area) else {
                continue
            }
            #expect(overlay.rect.x >= 0 && overlay.rect.x + overlay.rect.width <= area.width)
            #expect(overlay.rect.y >= 0 && overlay.rect.y + overlay.rect.height <= area.height)
        }
        let empty = ScreenPanel(title: "", rows: [])
        if let layout = layOut(empty, in: PixelSize(width: 640, height: 360)) {
            _ = drawing.overlay(empty, in: layout, of: PixelSize(width: 640, height: 360))
        }
    }

    @Test func aTickedBoxIsBrighterThanAnEmptyOne() throws {
        func light(_ mark: ScreenPanel.Row.Mark) throws -> Int {
            let panel = ScreenPanel(title: "", rows: [ScreenPanel.Row("", mark: mark)])
            let area = PixelSize(width: 640, height: 360)
            let layout = try #require(layOut(panel, in: area))
            let drawn = drawing.overlay(panel, in: layout, of: area)
            let overlay = try #require(drawn)
            return stride(from: 0, to: overlay.pixels.count, by: 4).reduce(0) { $0 + Int(overlay.pixels[$1]) }
        }
        let (empty, ticked, pending) = (try light(.empty), try light(.ticked), try light(.pending))
        #expect(ticked > empty)
        #expect(pending > empty)
    }
}
