import MediaCore
import Testing

@testable import LocalOutput

@Suite struct MessageDrawingTests {
    private let area = PixelSize(width: 1280, height: 720)

    /// Rows of a drawing that hold white, counted from its top.
    private func whiteRows(_ overlay: Overlay) -> [Int] {
        (0..<overlay.rect.height).filter { y in
            (0..<overlay.rect.width).contains { x in overlay.pixels[(y * overlay.rect.width + x) * 4] > 250 }
        }
    }

    @Test func everyCharacterOfLatin1IsDrawnAndOthersAreABox() {
        for value in Array(0x21...0x7E) + Array(0xA1...0xFF) where value != 0xAD {
            let scalar = Unicode.Scalar(UInt32(value))!
            #expect(StrokeGlyphs.glyph(for: scalar).strokes != StrokeGlyphs.box.strokes, "\(scalar) is missing")
        }
        #expect(StrokeGlyphs.glyph(for: "漢").strokes == StrokeGlyphs.box.strokes)
    }

    @Test func noTwoCharactersLookAlike() {
        var seen: [String: Unicode.Scalar] = [:]
        for value in Array(0x21...0x7E) + Array(0xA1...0xFF) where value != 0xAD {
            let scalar = Unicode.Scalar(UInt32(value))!
            let strokes = StrokeGlyphs.glyph(for: scalar).strokes
            #expect(seen[strokes] == nil, "\(scalar) looks like \(seen[strokes]!)")
            seen[strokes] = scalar
        }
    }

    @Test func aMarkLiesOverItsLetter() throws {
        var drawing = MessageDrawing()
        let drawn = [drawing.overlay("u", in: area), drawing.overlay("ü", in: area)]
        let plain = try #require(drawn[0])
        let marked = try #require(drawn[1])
        #expect(whiteRows(marked).first! < whiteRows(plain).first!)
        #expect(whiteRows(marked).last! == whiteRows(plain).last!)
        #expect(marked.number != plain.number)
    }

    @Test func wordsAreWhiteWithADarkRim() throws {
        var drawing = MessageDrawing()
        let drawn = drawing.overlay("Volume 80 %", in: area)
        let overlay = try #require(drawn)
        var (white, dark) = (0, 0)
        for index in stride(from: 0, to: overlay.pixels.count, by: 4) where overlay.pixels[index + 3] > 180 {
            if overlay.pixels[index] > 250 { white += 1 }
            if overlay.pixels[index] < 20 { dark += 1 }
        }
        #expect(white > 500)
        #expect(dark > 500)
    }

    @Test func aSentenceThatIsTooWideGoesOnInTheNextLine() throws {
        var drawing = MessageDrawing()
        let drawn = [
            drawing.overlay("The sound plays", in: area),
            drawing.overlay(Array(repeating: "The sound plays", count: 12).joined(separator: " "), in: area),
        ]
        let (one, many) = (try #require(drawn[0]), try #require(drawn[1]))
        #expect(many.rect.height > one.rect.height)
        #expect(many.rect.x + many.rect.width <= area.width)
    }

    @Test func longWordsAndManyLinesStayInsideTheWindow() throws {
        var drawing = MessageDrawing()
        let text = Array(repeating: String(repeating: "W", count: 5000), count: 100).joined(separator: "\n")
        for area in [area, PixelSize(width: 60, height: 40), PixelSize(width: 1, height: 1)] {
            guard let overlay = drawing.overlay(text, in: area) else { continue }
            #expect(overlay.rect.x + overlay.rect.width <= area.width)
            #expect(overlay.rect.y + overlay.rect.height <= area.height)
        }
        let nothing = [drawing.overlay("", in: area), drawing.overlay("  ", in: area)]
        #expect(nothing.allSatisfy { $0 == nil })
    }
}
