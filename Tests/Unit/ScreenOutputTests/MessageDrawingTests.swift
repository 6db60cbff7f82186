import MediaCore
import Testing
import Text

@testable import ScreenOutput

@Suite struct MessageDrawingTests {
    private let area = PixelSize(width: 1280, height: 720)
    private let drawing: MessageDrawing

    init() throws { drawing = MessageDrawing(painter: try #require(TextPainter())) }

    /// Returns the rows of the window that contain white.
    private func whiteRows(_ overlay: OverlayImage) -> [Int] {
        (0..<overlay.rect.height).filter { y in
            (0..<overlay.rect.width).contains { x in overlay.pixels[(y * overlay.rect.width + x) * 4] > 250 }
        }.map { $0 + overlay.rect.y }
    }

    @Test func aCombiningMarkIsDrawnOverItsLetter() throws {
        let plain = try #require(drawing.overlay("u", in: area))
        let marked = try #require(drawing.overlay("ü", in: area))
        #expect(whiteRows(marked).first! < whiteRows(plain).first!)
        #expect(whiteRows(marked).last! == whiteRows(plain).last!)
    }

    @Test func wordsAreWhiteWithADarkRim() throws {
        let overlay = try #require(drawing.overlay("Volume 80 %", in: area))
        var (white, dark) = (0, 0)
        for index in stride(from: 0, to: overlay.pixels.count, by: 4) where overlay.pixels[index + 3] > 180 {
            if overlay.pixels[index] > 250 { white += 1 }
            if overlay.pixels[index] < 20 { dark += 1 }
        }
        #expect(white > 500)
        #expect(dark > 500)
    }

    // feature: rooms
    @Test func theSignOfSoundElsewhereIsBlue() throws {
        var content = OverlayPainter.Content(mark: "♪ Kitchen", isMarkAccented: true)
        func blue() -> Int {
            let images = OverlayPainter.drawing(content, in: area, by: drawing.painter).images
            return images.reduce(0) { sum, image in
                sum
                    + stride(from: 0, to: image.pixels.count, by: 4).count {
                        image.pixels[$0] > 250 && image.pixels[$0 + 2] < 130
                    }
            }
        }
        #expect(blue() > 100)
        content.isMarkAccented = false
        #expect(blue() == 0)
        content.message = ScreenMessage("♪ Kitchen", at: .corner, isAccented: true)
        #expect(blue() > 100)
    }

    @Test func aWideSentenceWrapsToTheNextLine() throws {
        let one = try #require(drawing.overlay("The sound plays", in: area))
        let many = try #require(
            drawing.overlay(Array(repeating: "The sound plays", count: 12).joined(separator: " "), in: area))
        #expect(many.rect.height > one.rect.height)
        #expect(many.rect.x + many.rect.width <= area.width)
    }

    @Test func wordsOfTheCornerEndThere() throws {
        let overlay = try #require(drawing.overlay("No sound: Kitchen", in: area, at: .corner))
        #expect(overlay.rect.x > area.width / 2 && overlay.rect.y > area.height / 2)
        #expect(overlay.rect.x + overlay.rect.width <= area.width - 18)
        #expect(overlay.rect.y + overlay.rect.height <= area.height - 18)
    }

    @Test func longWordsAndManyLinesStayInsideTheWindow() throws {
        let text = Array(repeating: String(repeating: "W", count: 5000), count: 100).joined(separator: "\n")
        for area in [area, PixelSize(width: 60, height: 40), PixelSize(width: 1, height: 1)] {
            guard let overlay = drawing.overlay(text, in: area) else { continue }
            #expect(overlay.rect.x >= 0 && overlay.rect.y >= 0)
            #expect(overlay.rect.x + overlay.rect.width <= area.width)
            #expect(overlay.rect.y + overlay.rect.height <= area.height)
        }
        #expect(drawing.overlay("", in: area) == nil)
        #expect(drawing.overlay("  ", in: area) == nil)
    }
}
