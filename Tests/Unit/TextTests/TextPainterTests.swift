import MediaCore
import Testing

@testable import Text

@Suite struct TextPainterTests {
    private let painter: TextPainter
    private let area = PixelSize(width: 640, height: 360)

    init() throws {
        painter = try #require(TextPainter())
        try #require(painter.hasFonts, "no font is installed")
    }

    private func drawn(_ text: String, size: Double = 40) -> OverlayImage? {
        var script = TextScript()
        script.write(text, at: TextScript.Point(20, 20), size: size)
        return painter.draw(script, in: area)
    }

    @Test(arguments: ["Zürich, œuvre, Łódź", "Москва", "Αθήνα", "תל אביב", "القاهرة", "Tiếng Việt", "▶ ■ ♪ ↑ ↓ …"])
    func everyScriptIsDrawn(_ text: String) throws {
        // A font without a glyph draws the same box for each character.
        let boxes = painter.width(of: String(repeating: "\u{10FFFD}", count: text.count), size: 40)
        let overlay = try #require(drawn(text))
        #expect(overlay.rect.width > 40)
        #expect(painter.width(of: text, size: 40) != boxes)
    }

    @Test func hebrewAndArabicRunFromRightToLeft() throws {
        // The first letter is on the right, and a lamed is higher than full stops.
        for text in ["ל......", "ا......"] {
            let line = try #require(drawn(text))
            let middle = line.rect.width / 2
            #expect(top(of: line, columns: middle..<line.rect.width) < top(of: line, columns: 0..<middle))
        }
        let latin = try #require(drawn("l......"))
        let middle = latin.rect.width / 2
        #expect(top(of: latin, columns: 0..<middle) < top(of: latin, columns: middle..<latin.rect.width))
    }

    @Test func marksJoinTheirLetters() throws {
        #expect(painter.width(of: "e\u{301}", size: 40) == painter.width(of: "é", size: 40))
    }

    @Test func nothingInTheWordsIsACommand() throws {
        for text in [#"{\an9}x"#, #"\N\n\h"#, #"{\p1}m 0 0 l 600 0 600 300"#, "{x", "x}", #"\{x\}"#] {
            let overlay = try #require(drawn(text))
            // All of it is drawn on one line at the requested position.
            #expect(abs(overlay.rect.x - 20) < 8 && overlay.rect.height < 45, "\(text) lies at \(overlay.rect)")
            #expect(painter.width(of: text, size: 40) > painter.width(of: "x", size: 40))
        }
    }

    @Test func shapesLieWhereTheyWereWishedInTheirColour() throws {
        var script = TextScript()
        script.fill(x: 100, y: 50, width: 30, height: 20, colour: TextScript.Colour(red: 10, green: 200, blue: 90))
        script.fill(x: 110, y: 50, width: 5, height: 20, colour: TextScript.Colour(grey: 255, opacity: 128))
        let overlay = try #require(painter.draw(script, in: area))
        #expect(overlay.rect == PixelRect(x: 100, y: 50, width: 30, height: 20))
        let middle = (10 * 30 + 3) * 4
        #expect(Array(overlay.pixels[middle..<(middle + 4)]) == [90, 200, 10, 255])
        let veiled = (10 * 30 + 12) * 4
        #expect(abs(Int(overlay.pixels[veiled]) - 172) <= 2 && overlay.pixels[veiled + 3] == 255)
    }

    @Test func shapesOutsideThePictureAreOmitted() throws {
        var script = TextScript()
        script.fill(x: -50, y: -50, width: 100, height: 100, colour: TextScript.Colour(grey: 255))
        let corner = try #require(painter.draw(script, in: area)?.rect)
        #expect(corner.x == 0 && corner.y == 0 && (50...51).contains(corner.width) && (50...51).contains(corner.height))
        script = TextScript()
        script.write("out", at: TextScript.Point(2000, 2000), size: 20)
        #expect(painter.draw(script, in: area) == nil)
        #expect(painter.draw(script, in: PixelSize(width: 0, height: 10)) == nil)
        script.fill(x: .nan, y: .infinity, width: 10, height: 10, colour: TextScript.Colour(grey: 255))
        _ = painter.draw(script, in: area)
    }

    @Test func widthsAreThoseOfWhatIsDrawn() throws {
        let overlay = try #require(drawn("The sound plays", size: 40))
        #expect(abs(painter.width(of: "The sound plays", size: 40) - Double(overlay.rect.width)) < 4)
        #expect(painter.width(of: "The sound plays", size: 80) == 2 * painter.width(of: "The sound plays", size: 40))
        #expect(painter.width(of: "", size: 40) == 0)
        #expect(painter.width(of: String(repeating: "W", count: 100_000), size: 40) >= 16000)
    }

    /// Returns the first row with drawn pixels.
    private func top(of overlay: OverlayImage, columns: Range<Int>) -> Int {
        (0..<overlay.rect.height).first { row in
            columns.contains { overlay.pixels[(row * overlay.rect.width + $0) * 4 + 3] > 64 }
        } ?? overlay.rect.height
    }
}
