import MediaCore
import Testing

@testable import LocalOutput
@testable import Text

@Suite struct BarLayoutTests {
    /// Half as wide as high.
    private let width: BarLayout.Width = { Double($0.count) * 5.5 }
    private let full = ScreenBar(
        isPlaying: true, place: 0.25, handed: 0.5, chapters: [0, 0.4], time: "00:01:02 / 01:02:03",
        buttons: [.sound: "Sound 1/3", .subtitles: "Subtitles 1/2", .rooms: "Rooms", .speed: "×1", .fullScreen: ""],
        hasPrevious: true, hasNext: true)

    private static let windows = [(200, 150), (320, 240), (640, 360), (720, 1280), (1920, 1080), (3840, 2160)]

    @Test(arguments: windows) func nothingIsCutAndNothingLiesOverAnything(_ wide: Int, _ high: Int) throws {
        let area = PixelSize(width: wide, height: high)
        let layout = try #require(BarLayout(full, in: area, width: width))
        let all = layout.parts.map(\.rect) + [layout.time].compactMap { $0 }
        for (index, rect) in all.enumerated() {
            #expect(rect.isInside(layout.rect), "\(rect)")
            for other in all[(index + 1)...] { #expect(rect.intersection(other).isEmpty, "\(rect) and \(other)") }
        }
        #expect(layout.rect.isInside(PixelRect(x: 0, y: 0, width: wide, height: high)))
        #expect(layout.parts.contains { $0.part == .play })
    }

    @Test func whatMattersLeastIsLeftOutFirst() throws {
        let small = try #require(BarLayout(full, in: PixelSize(width: 200, height: 150), width: width))
        let kinds = small.parts.map(\.part)
        #expect(!kinds.contains(.button(.speed)))
        let large = try #require(BarLayout(full, in: PixelSize(width: 1280, height: 720), width: width))
        #expect(large.parts.count == 8)
        #expect(large.time != nil)
    }

    @Test func aPointerFindsThePartThatItLiesOn() throws {
        let layout = try #require(BarLayout(full, in: PixelSize(width: 1280, height: 720), width: width))
        for place in layout.parts {
            let rect = place.rect
            #expect(layout.hit(x: rect.x + rect.width / 2, y: rect.y + rect.height / 2) == place.part)
        }
        let line = try #require(layout.line)
        #expect(layout.hit(x: line.x, y: line.y + 2) == .place(0))
        #expect(layout.hit(x: line.x + line.width - 1, y: line.y + 2) == .place(1))
        #expect(layout.hit(x: 640, y: 100) == nil)
        #expect(layout.share(of: -50) == 0 && layout.share(of: 5000) == 1)
    }

    @Test func aFilmOfUnknownLengthHasNoLine() throws {
        var live = full
        live.place = nil
        #expect(try #require(BarLayout(live, in: PixelSize(width: 1280, height: 720), width: width)).line == nil)
    }

    @Test func aBarIsDrawnAndLooksAnotherWayWhereItStandsElsewhere() throws {
        let painter = try #require(TextPainter())
        let drawing = BarDrawing(painter: painter)
        let area = PixelSize(width: 640, height: 360)
        func image(_ bar: ScreenBar) throws -> OverlayImage {
            let layout = try #require(BarLayout(bar, in: area, width: drawing.width))
            return try #require(drawing.overlay(bar, in: layout, of: area))
        }
        var later = full
        later.place = 0.6
        var paused = full
        paused.isPlaying = false
        let first = try image(full)
        #expect(first.rect.width == 640 && first.rect.y + first.rect.height == 360)
        #expect(try image(later).pixels != first.pixels)
        #expect(try image(paused).pixels != first.pixels)
        #expect(try image(full).pixels == first.pixels)
    }
}
