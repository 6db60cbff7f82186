import MediaCore
import Testing
import Text

@testable import ScreenOutput

@Suite struct PanelTests {
    private func panel(_ count: Int, current: Int = 0) -> ScreenPanel {
        ScreenPanel(
            title: "Sound output",
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

    @Test func aPanelIsCentredAndEveryPartOfItsRowsIsFound() throws {
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
        panel.hint = "↑↓ choose   Enter play here   Space add or remove   ← → volume   Esc close"
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
        // Left of the bar, after the end of the text.
        let columns = Int(layout.textRight * layout.scale)..<Int((layout.barLeft - 2) * layout.scale)
        func ink(_ overlay: OverlayImage) -> Int {
            (0..<overlay.rect.height).reduce(0) { sum, row in
                sum + columns.count { overlay.pixels[(row * overlay.rect.width + $0) * 4] > 150 }
            }
        }
        #expect(ink(low) > 0)
        #expect(ink(high) > ink(low), "100% has more to write than 5%")
    }

    @Test(arguments: [(1920, 1080), (1280, 720), (1000, 600)])
    func aCodeIsDrawnBesideTheRows(width: Int, height: Int) throws {
        let code = (0..<29).map { row in (0..<29).map { ($0 * $0 + 3 * row) % 5 < 2 } }
        let rows = (0..<30).map { ScreenPanel.Row("Key \($0)", detail: "does something") }
        let panel = ScreenPanel(title: "Keys", rows: rows, current: 0, hint: "keys", marks: .none, code: code)
        let area = PixelSize(width: width, height: height)
        let layout = try #require(layOut(panel, in: area))
        let left = try #require(layout.codeLeft)
        #expect(layout.textRight < left)
        let overlay = try #require(drawing.overlay(panel, in: layout, of: area))
        let module = Int(100 * layout.scale / 37)
        var wrong: [(Int, Int)] = []
        for row in -4..<33 {
            for column in -4..<33 {
                let x = Int((left * layout.scale).rounded()) + (column + 4) * module + module / 2
                let y = Int((layout.top(of: layout.first) * layout.scale).rounded()) + (row + 4) * module + module / 2
                let isDark = overlay.pixels[(y * overlay.rect.width + x) * 4] < 128
                let isInside = (0..<29).contains(row) && (0..<29).contains(column)
                if isDark != (isInside && code[row][column]) { wrong.append((row, column)) }
            }
        }
        #expect(wrong.isEmpty)
    }

    @Test func aCodeWithoutSpaceIsOmitted() throws {
        let code = [[Bool]](repeating: [Bool](repeating: true, count: 29), count: 29)
        // Seven rows; rows that need the width; three rows.
        for (width, height, count) in [(320, 160, 30), (200, 720, 30), (1280, 720, 3)] {
            let area = PixelSize(width: width, height: height)
            let rows = (0..<count).map { ScreenPanel.Row("Key \($0)", detail: "does something") }
            let panel = ScreenPanel(title: "Keys", rows: rows, marks: .none, code: code)
            var plain = panel
            plain.code = []
            let layout = try #require(layOut(panel, in: area))
            #expect(layout.codeLeft == nil && layout == layOut(plain, in: area))
        }
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

    private func bar(in area: PixelSize) throws -> BarLayout {
        let bar = ScreenBar(
            isPlaying: true, position: 0.2, time: "00:01 / 01:00",
            buttons: [.chapters: ["3/60 A chapter"], .rooms: ["Sofa One", ""], .fullScreen: []],
            volume: ScreenBar.Volume(percent: 100, isMuted: false))
        return try #require(BarLayout(bar, in: area, width: width))
    }

    // feature: chapters
    @Test(arguments: [(640, 360), (1280, 720), (1920, 1080)])
    func aListEndsAboveTheBarUnderWhichItsButtonIsAndShowsThatThereIsMore(_ wide: Int, _ high: Int) throws {
        let area = PixelSize(width: wide, height: high)
        let bar = try bar(in: area)
        var chapters = panel(60, current: 2)
        (chapters.marks, chapters.position) = (.dots, .above(.chapters))
        let layout = try #require(PanelLayout(chapters, in: area, above: bar, width: width))
        #expect(layout.rect.y >= 0 && layout.rect.y + layout.rect.height <= bar.rect.y)
        #expect(bar.rect.y - layout.rect.y - layout.rect.height < high / 20, "right above it")
        let button = try #require(bar.elements.first { $0.control == .button(.chapters) }?.rect)
        #expect(layout.rect.x <= button.x + button.width && layout.rect.x + layout.rect.width >= button.x)
        let seen = try #require(layout.scroll)
        #expect(seen.lowerBound == 0 && seen.upperBound < 1)
        chapters.current = 59
        let end = try #require(PanelLayout(chapters, in: area, above: bar, width: width))
        #expect(end.scroll?.upperBound == 1)
        let image = drawing.overlay(chapters, in: layout, of: area)
        let drawn = try #require(image)
        // The bright part of the scroll bar at the right edge.
        let column = layout.rect.width - Int(2 * layout.scale)
        let bright = (0..<layout.rect.height).count { drawn.pixels[($0 * drawn.rect.width + column) * 4] > 200 }
        #expect(bright > 5 && bright < layout.rect.height / 2)
        chapters.rows.removeLast(58)
        #expect(PanelLayout(chapters, in: area, above: bar, width: width)?.scroll == nil)
    }

    @Test func whatFollowsALongNameIsNeverWrittenOverNumberOrName() throws {
        var panel = panel(2)
        panel.rows[0].text = "The loudspeaker in the living room beside the large window"
        panel.rows[0].detail = "must be paired first; type talkie pair 'Safe' in a terminal"
        panel.rows[1].level = 1.3
        let area = PixelSize(width: 640, height: 360)
        let layout = try #require(layOut(panel, in: area))
        // A number ends at the bar, and text ends with a gap before it.
        #expect(layout.barLeft - 6 - width("130%") >= layout.textRight + 5)
        let image = drawing.overlay(panel, in: layout, of: area)
        let drawn = try #require(image)
        let columns = Int((layout.textRight + 1) * layout.scale)..<Int((layout.textRight + 5) * layout.scale)
        let rows = Int(layout.top(of: 0) * layout.scale) + 3..<Int(layout.top(of: 1) * layout.scale) - 3
        let ink = rows.reduce(0) { sum, row in
            sum + columns.count { drawn.pixels[(row * drawn.rect.width + $0) * 4] > 150 }
        }
        #expect(ink == 0, "there is a gap")
    }

    @Test func aChosenDotIsFilledAndRoundAndAPageHasColumnsWithoutMarks() throws {
        func image(_ mark: ScreenPanel.Row.Mark) throws -> OverlayImage {
            let panel = ScreenPanel(title: "", rows: [ScreenPanel.Row("", mark: mark)], marks: .dots)
            let area = PixelSize(width: 1280, height: 720)
            let layout = try #require(layOut(panel, in: area))
            let drawn = drawing.overlay(panel, in: layout, of: area)
            return try #require(drawn)
        }
        let (empty, ticked) = (try image(.empty), try image(.ticked))
        let levels = Set(stride(from: 0, to: ticked.pixels.count, by: 4).map { ticked.pixels[$0] })
        #expect(ticked.pixels != empty.pixels && levels.count > 8, "its edge has shades")
        let opacities = stride(from: 3, to: empty.pixels.count, by: 4).map { empty.pixels[$0] }
        #expect(opacities.count { $0 == 217 } > opacities.count / 2, "the ground is opaque by 85 per cent")
        let page = ScreenPanel(
            title: "Keys", rows: [ScreenPanel.Row("a", detail: "one"), ScreenPanel.Row("Ctrl", detail: "two")],
            marks: .none, position: .topLeft)
        let layout = try #require(layOut(page, in: PixelSize(width: 1280, height: 720)))
        #expect(layout.mark == 0 && layout.column == width("Ctrl") + 6)
        #expect(layout.rect.x < 10 && layout.rect.y < 10)
    }

    // feature: rooms
    @Test func iconsAreBetweenMarksAndNames() throws {
        var icons = panel(2)
        icons.rows[0].symbol = .speaker
        let area = PixelSize(width: 1280, height: 720)
        let (plain, layout) = (try #require(layOut(panel(2), in: area)), try #require(layOut(icons, in: area)))
        #expect(layout.textLeft == plain.textLeft + 13 && layout.mark == plain.mark)
        let y = layout.rect.y + Int((layout.top(of: 0) + 6) * layout.scale)
        let icon = layout.rect.x + Int((layout.textLeft - 6) * layout.scale)
        #expect(layout.hit(x: icon, y: y, rows: 2)?.part == .text, "the icon belongs to the name")
        let drawn = drawing.overlay(icons, in: layout, of: area)
        let image = try #require(drawn)
        func ink(_ row: Int) -> Int {
            let rows = Int(layout.top(of: row) * layout.scale)..<Int(layout.top(of: row + 1) * layout.scale)
            let columns = Int((layout.textLeft - 13) * layout.scale)..<Int((layout.textLeft - 3) * layout.scale)
            return rows.reduce(0) { sum, y in
                sum + columns.count { image.pixels[(y * image.rect.width + $0) * 4] > 200 }
            }
        }
        #expect(ink(0) > 50 && ink(1) == 0)
    }

    // feature: rooms
    @Test func whatIsInTheCornerKeepsAboveTheBar() throws {
        let area = PixelSize(width: 1280, height: 720)
        var content = OverlayPainter.Content()
        content.message = ScreenMessage("♪ Sofa One", at: .corner)
        let alone = OverlayPainter.drawing(content, in: area, by: painter)
        content.bar = ScreenBar(
            isPlaying: true, position: 0.2, time: "00:01 / 01:00",
            volume: ScreenBar.Volume(percent: 100, isMuted: false))
        let both = OverlayPainter.drawing(content, in: area, by: painter)
        let top = try #require(both.barLayout?.top)
        #expect(alone.images[0].rect.y + alone.images[0].rect.height > top, "without a bar it is lower")
        #expect(both.images[1].rect.y + both.images[1].rect.height <= top)
    }
}
