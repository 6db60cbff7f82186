import MediaCore
import Testing

@testable import Text

/// Events of scripts, drawn on a frame of 640 × 360 in the middle of a window of 640 × 400.
@Suite struct ScriptPainterTests {
    private let painter: ScriptPainter
    private let frame = ScriptPainter.Frame(
        area: PixelSize(width: 640, height: 400), video: PixelRect(x: 0, y: 20, width: 640, height: 360),
        storage: PixelSize(width: 640, height: 360))
    private let header = """
        [Script Info]
        ScriptType: v4.00+
        PlayResX: 640
        PlayResY: 360
        [V4+ Styles]
        Format: Name, Fontname, Fontsize, PrimaryColour, OutlineColour, BackColour, Bold, Italic, BorderStyle, Outline, \
        Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
        Style: Default,sans-serif,40,&H00FFFFFF,&H00000000,&H00000000,0,0,1,0,0,2,10,10,10,1
        [Events]
        Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text

        """

    init() throws {
        painter = try #require(ScriptPainter())
        painter.use(header: Array(header.utf8), fonts: [])
    }

    private func draw(_ texts: String..., at moment: Int64 = 500, length: Int64 = 1000) -> [OverlayImage] {
        let events = texts.enumerated().map { index, text in
            ScriptPainter.Event(bytes: Array("\(index),0,Default,,0,0,0,,\(text)".utf8), start: 0, duration: length)
        }
        // Each call uses a new set of events.
        return painter.draw(events, numbers: [UInt64.random(in: 1 ... .max)], at: moment, in: frame)
    }

    @Test func anEventIsPlacedByItsStyleInThePictureNotTheWindow() throws {
        let line = try #require(draw("line").first)
        #expect(abs(line.rect.x + line.rect.width / 2 - 320) <= 2)
        // Ten pixels above the frame's lower edge, plus the line's descent.
        #expect((330...370).contains(line.rect.y + line.rect.height))
    }

    @Test func distantGlyphsAreSeparateImages() {
        let images = draw("below", "{\\an8}above")
        #expect(images.count == 2)
        #expect(images.allSatisfy { $0.rect.height < 80 })
    }

    @Test func aCommandThatMovesIsSeenAtItsMoment() throws {
        let early = try #require(draw("{\\move(100,100,500,100)}x", at: 0).first)
        let late = try #require(draw("{\\move(100,100,500,100)}x", at: 990).first)
        #expect(late.rect.x - early.rect.x > 350)
    }

    @Test func anEventBehindItsEndIsNotSeen() { #expect(draw("gone", at: 1000).isEmpty) }

    @Test(arguments: [
        "", "{", "{\\", "{\\t(", "{\\p1}m 0 0 l", "{\\fs99999}x", "{\\blur9999}x", "{\\fscx1000000\\fscy1000000}x",
        "{\\pos(1e30,-1e30)}x", "\u{0}", String(repeating: "{\\t(\\frz3600)}x", count: 500),
    ])
    func whatMakesNoSenseIsDrawnSomehowOrNotAtAll(_ text: String) {
        for image in draw(text) {
            #expect(image.rect.isInside(PixelRect(x: 0, y: 0, width: 640, height: 400)))
        }
    }

    @Test func aDamagedHeaderAndADamagedFontDoNoHarm() {
        painter.use(
            header: [0, 255, 10, 91, 93, 10], fonts: [EmbeddedFont(name: "broken.ttf", bytes: [0, 1, 0, 0, 0, 9, 9])])
        _ = draw("words")
        painter.use(header: Array(header.utf8), fonts: [])
        #expect(!draw("words").isEmpty)
    }

    @Test func aHundredSimultaneousLinesAreDrawnAndALongOneOmitted() {
        let events = (0..<100).map { index in
            ScriptPainter.Event(bytes: Array("\(index),0,Default,,0,0,0,,line \(index)".utf8), start: 0, duration: 1000)
        }
        #expect(!painter.draw(events, numbers: [1], at: 0, in: frame).isEmpty)
        #expect(draw(String(repeating: "x", count: 70_000)).isEmpty)
    }
}
