import MediaCore
import Testing

@testable import Text

/// Memory of scripts that no author has written, on a frame of 1920 × 1080. Serialized: each may use 384 MB.
@Suite(.serialized) struct ScriptMemoryTests {
    private let frame = ScriptPainter.Frame(
        area: PixelSize(width: 1920, height: 1080), video: PixelRect(x: 0, y: 0, width: 1920, height: 1080),
        storage: PixelSize(width: 1920, height: 1080))

    private func painter(memory: Int? = nil) throws -> ScriptPainter {
        let painter = try #require(memory.map { ScriptPainter(memory: $0) } ?? ScriptPainter())
        let header = """
            [Script Info]
            ScriptType: v4.00+
            PlayResX: 1920
            PlayResY: 1080
            [V4+ Styles]
            Format: Name, Fontname, Fontsize, PrimaryColour, OutlineColour, BackColour, Bold, Italic, BorderStyle, \
            Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
            Style: Default,sans-serif,60,&H00FFFFFF,&H00000000,&H00000000,0,0,1,2,2,2,10,10,10,1
            [Events]
            Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text

            """
        painter.use(header: Array(header.utf8), fonts: [])
        return painter
    }

    private func draw(
        _ texts: [String], with painter: ScriptPainter, at moment: Int64 = 500, numbers: UInt64? = nil
    ) -> [OverlayImage] {
        let events = texts.enumerated().map { index, text in
            ScriptPainter.Event(bytes: Array("\(index),0,Default,,0,0,0,,\(text)".utf8), start: 0, duration: 10_000)
        }
        return painter.draw(events, numbers: [numbers ?? .random(in: 1 ... .max)], at: moment, in: frame)
    }

    private func pixels(_ images: [OverlayImage]) -> [[UInt8]] {
        images.map { image in "\(image.rect)".utf8 + image.pixels }
    }

    private static func repeated(_ start: String, _ part: String, _ count: Int) -> [String] {
        [start + String(repeating: part, count: count)]
    }

    /// Without a limit they need up to 8 GB (libass 0.17.1).
    private static let hostile: [[String]] = [
        ["{\\fs99999}x"],
        repeated("{\\fs9999\\q2}", "xabcdefghi", 10),
        repeated("{\\fs2000\\q2}", "xabcdefghi", 100),
        ["{\\fs30000\\bord500\\shad30}x"],
        ["{\\fscx40000\\fscy40000}abc"],
        repeated("{\\bord9999\\q2}", "xabcdefghi", 100),
        ["{\\p1}m 0 0 l 40000 0 40000 40000 0 40000"],
        repeated("{\\p1}m 0 0 b ", "40000 0 0 40000 40000 40000 ", 2300),
        ["{\\q2\\frz45\\fsp60000}WW"],
        ["{\\fs500\\fax500\\blur100}abcdefghijklmnop"],
        ["{\\fs100\\t(0,10000,-1.5,\\fs300)}abcdefghi"],
        ["{\\fs3000\\clip(m 0 0 l 40000 0 40000 40000 0 40000)}abc"],
    ]

    @Test(arguments: hostile) func memoryIsBoundedForAnyEvent(_ texts: [String]) throws {
        let painter = try painter()
        for moment in Int64(0)..<2 {
            _ = draw(texts, with: painter, at: 500 + moment, numbers: 1)
            // Blocks of realloc may exceed it.
            #expect(painter.engine.usedMemory < 450 << 20)
        }
        #expect(painter.isIncomplete)
    }

    @Test func linesAfterAnExhaustingEventAreComplete() throws {
        let (painter, other) = (try painter(), try painter())
        let line = ["ﷺ office AVATAR ({\\i1}words{\\i0})"]
        _ = draw(["{\\fs99999}" + line[0]], with: painter)
        #expect(painter.isIncomplete)
        #expect(pixels(draw(line, with: painter)) == pixels(draw(line, with: other)))
        #expect(!painter.isIncomplete)
    }

    @Test func cachesOfEarlierEventsDoNotExhaustTheMemory() throws {
        let (painter, other) = (try painter(memory: 24 << 20), try painter())
        for size in 100..<140 {
            let line = ["{\\fs\(size)\\blur3\\pos(900,900)}abcdefghijkl"]
            #expect(pixels(draw(line, with: painter)) == pixels(draw(line, with: other)))
            #expect(!painter.isIncomplete)
        }
    }

    /// Signs, drawings and karaoke as in authored scripts.
    private static let authored: [[String]] = [
        ["{\\fs300\\bord8\\shad6\\blur4\\fad(200,200)}SIGN", "{\\an8}dialogue"],
        ["{\\an7\\pos(200,300)\\fscx1000\\fscy1200\\p1\\bord0\\1c&H3040F0&}m 0 0 l 120 0 120 40 0 40"],
        [
            "{\\an7\\pos(0,0)\\p4}m 0 0 b "
                + (0..<3000).map { "\($0 * 5 % 15000) \($0 * 37 % 8000)" }.joined(separator: " ")
        ],
        (0..<50).map { "{\\pos(\(40 * $0),\(20 * $0 + 60))\\frz\($0 * 7)\\frx20\\fry\($0)\\blur2\\bord3}sign \($0)" },
        ["{\\org(0,0)\\frx40\\fry30\\fs150\\fax0.4}perspective", "{\\k50}ka{\\kf50}ra{\\ko50}o{\\k50}ke"],
        ["{\\t(0,1000,0.5,\\fscx400\\fscy400\\blur20\\1c&H0000FF&)}growing"],
        ["{\\fs200\\clip(3,m 0 0 l 8000 0 4000 6000)}clipped", "{\\iclip(100,100,900,900)\\fs1000}W"],
        ["{\\fs1\\fscx20000\\fscy20000\\be5}tiny font"],
    ]

    @Test(arguments: authored) func authoredEventsAreDrawnAsWithoutALimit(_ texts: [String]) throws {
        let (painter, other) = (try painter(), try painter(memory: .max))
        for moment in [Int64(100), 600] {
            let images = draw(texts, with: painter, at: moment, numbers: 1)
            #expect(!images.isEmpty)
            #expect(pixels(images) == pixels(draw(texts, with: other, at: moment, numbers: 1)))
        }
        #expect(!painter.isIncomplete)
    }

    @Test func imagesThatShareABitmapAreBounded() throws {
        let painter = try painter()
        // 3 images of up to two million pixels each, barely visible: libass 0.17.5 leaves out invisible ones.
        let cover = "{\\fs1500\\pos(960,1080)\\alpha&HFE&}M"
        for (count, areWordsDrawn) in [(10, true), (1000, false)] {
            let covers = Array(repeating: cover, count: count)
            let (alone, followed) = (draw(covers, with: painter), draw(covers + ["words"], with: painter))
            #expect((pixels(alone) != pixels(followed)) == areWordsDrawn)
        }
    }
}
