import MediaCore
import Testing

@testable import ScreenOutput
@testable import Text

@Suite struct BarLayoutTests {
    /// Letters are half as wide as high.
    private let width: BarLayout.Width = { Double($0.count) * 5.5 }
    private let full: ScreenBar = {
        var bar = ScreenBar(
            isPlaying: true, position: 0.25, loaded: 0.6, handed: 0.5, chapters: [0, 0.4], time: "00:01:02 / 01:02:03",
            buttons: [
                .chapters: ["3/12 The storm", "3/12"], .audio: ["Sound: eng, commentary of the director", "Sound"],
                .subtitles: ["Subtitles: eng", "Subs: eng", "Subs"], .rooms: ["Living room, Kitchen", ""],
                .speed: ["×1"], .fullScreen: [],
            ], hasPrevious: true, hasNext: true, volume: ScreenBar.Volume(percent: 80, isMuted: false))
        bar.output = ScreenBar.Output(symbol: .speaker, isElsewhere: true)
        return bar
    }()

    private static let windows = [(200, 150), (320, 240), (640, 360), (720, 1280), (1920, 1080), (3840, 2160)]

    @Test(arguments: windows) func nothingIsTruncatedOrOverlaps(_ wide: Int, _ high: Int) throws {
        let area = PixelSize(width: wide, height: high)
        let layout = try #require(BarLayout(full, in: area, width: width))
        let all =
            layout.elements.map(\.rect) + [layout.time, layout.volume?.slider, layout.volume?.number].compactMap { $0 }
        for (index, rect) in all.enumerated() {
            #expect(rect.isInside(layout.rect), "\(rect)")
            for other in all[(index + 1)...] { #expect(rect.intersection(other).isEmpty, "\(rect) and \(other)") }
        }
        #expect(layout.rect.isInside(PixelRect(x: 0, y: 0, width: wide, height: high)))
        #expect(layout.elements.contains { $0.control == .play })
    }

    @Test func theLeastImportantPartIsOmittedFirst() throws {
        let small = try #require(BarLayout(full, in: PixelSize(width: 200, height: 150), width: width))
        let kinds = small.elements.map(\.control)
        #expect(!kinds.contains(.button(.speed)))
        let large = try #require(BarLayout(full, in: PixelSize(width: 1280, height: 720), width: width))
        #expect(large.elements.count == 10)
        #expect(large.time != nil && large.volume != nil)
        let wide = try #require(BarLayout(full, in: PixelSize(width: 2560, height: 1080), width: width))
        let narrow = try #require(BarLayout(full, in: PixelSize(width: 320, height: 240), width: width))
        let usual = try #require(BarLayout(full, in: PixelSize(width: 640, height: 360), width: width))
        func words(_ layout: BarLayout) -> [String] { layout.elements.map(\.label).filter { !$0.isEmpty } }
        #expect(words(wide).contains("Subtitles: eng"))
        #expect(words(narrow).contains { $0.hasPrefix("Subs") })
        // Names are shortened before any of them is removed.
        #expect(usual.elements.count == 10 && usual.volume != nil)
        #expect(words(usual).filter { $0.contains("…") }.count >= 2)
        #expect(!words(usual).contains("3/12") && !words(usual).contains("Sound"))
    }

    @Test func namesAreAsLongAsThereIsRoom() throws {
        var bar = full
        bar.buttons[.rooms] = ["This computer, and the very long name of a speaker in the attic", ""]
        for wide in [640, 960, 1280, 1920] {
            let area = PixelSize(width: wide, height: wide * 9 / 16)
            let layout = try #require(BarLayout(bar, in: area, width: width))
            let isShort = layout.elements.contains { $0.label.contains("…") }
            let time = try #require(layout.time)
            let left = layout.elements.filter { $0.rect.x > time.x }.map(\.rect.x).min() ?? 0
            let free = Double(left - time.x - time.width) / layout.scale
            #expect(!isShort || free < 40, "\(free) units are free beside a name that was cut, at \(wide)")
        }
    }

    // feature: bar
    @Test func aNarrowWindowShowsTheLanguagesWhole() throws {
        var bar = full
        bar.buttons[.audio] = ["Sound: English, commentary of the director", "Sound: English", "Sound"]
        bar.buttons[.subtitles] = [
            "Subtitles: German, for the hard of hearing", "Subs: German, for the hard of hearing", "Subs: German",
            "Subs",
        ]
        let drawing = BarDrawing(painter: try #require(TextPainter()))
        let layout = try #require(BarLayout(bar, in: PixelSize(width: 594, height: 334), width: drawing.width))
        let words = layout.elements.map(\.label)
        #expect(words.contains("Sound: English") && words.contains("Subs: German"), "\(words)")
        #expect(layout.time != nil && layout.volume != nil && words.contains { $0.hasPrefix("3/12") }, "\(words)")
    }

    /// The edges of a screen stop the pointer: the outermost pixels belong to the nearest part.
    // feature: bar
    @Test(arguments: windows) func theLowestRowAndTheOutermostColumnsBelongToTheParts(_ wide: Int, _ high: Int) throws {
        let layout = try #require(BarLayout(full, in: PixelSize(width: wide, height: high), width: width))
        for place in layout.elements {
            #expect(layout.hit(x: place.rect.x + place.rect.width / 2, y: high - 1) == place.control)
        }
        let ends = layout.elements.sorted { $0.rect.x < $1.rect.x }
        #expect(layout.hit(x: 0, y: high - 1) == ends.first?.control)
        #expect(layout.hit(x: wide - 1, y: high - 1) == ends.last?.control)
        let line = try #require(layout.seekBar)
        #expect(layout.hit(x: 0, y: line.y + line.height / 2) == .position(0))
        #expect(layout.hit(x: wide - 1, y: line.y + line.height / 2) == .position(1))
    }

    @Test func aPointerFindsThePartBelowIt() throws {
        let layout = try #require(BarLayout(full, in: PixelSize(width: 1280, height: 720), width: width))
        for place in layout.elements {
            let rect = place.rect
            #expect(layout.hit(x: rect.x + rect.width / 2, y: rect.y + rect.height / 2) == place.control)
        }
        let volume = try #require(layout.volume)
        #expect(layout.hit(x: volume.slider.x, y: volume.slider.y + 3) == .volume(0))
        for x in [volume.slider.x + volume.slider.width, volume.number.x, volume.number.x + volume.number.width - 1] {
            #expect(layout.hit(x: x, y: volume.number.y + 3) == .volumeNumber, "the wheel changes the volume here")
        }
        #expect(ScreenBar.Control.volumeNumber.isVolume)
        let line = try #require(layout.seekBar)
        #expect(layout.hit(x: line.x, y: line.y + 2) == .position(0))
        #expect(layout.hit(x: line.x + line.width - 1, y: line.y + 2) == .position(1))
        #expect(layout.hit(x: 640, y: 100) == nil)
        #expect(
            layout.drag(.position(0.5), to: -50) == .position(0)
                && layout.drag(.position(0.5), to: 5000) == .position(1))
        #expect(layout.drag(.volume(0), to: 5000) == .volume(1))
        #expect(layout.drag(.play, to: 5) == nil)
    }

    // feature: rooms
    @Test func theIconOfTheOutputIsBeforeItsNameAndRemainsWithoutIt() throws {
        func button(_ bar: ScreenBar, _ wide: Int, _ high: Int) throws -> BarLayout.Element? {
            let layout = try #require(BarLayout(bar, in: PixelSize(width: wide, height: high), width: width))
            return layout.elements.first { $0.control == .button(.rooms) }
        }
        let named = try #require(try button(full, 2560, 1080))
        #expect(named.label == "Living room, Kitchen")
        #expect(named.icon.x == named.rect.x && named.icon.x + named.icon.width == named.text.x)
        #expect(named.text.x + named.text.width == named.rect.x + named.rect.width)
        var here = full
        here.buttons[.rooms] = []
        let alone = try #require(try button(here, 2560, 1080))
        #expect(alone.label.isEmpty && alone.icon == alone.rect)
        #expect(alone.rect.width < named.rect.width / 3)
        // A small window shows the icon alone instead of the name.
        var crowded = full
        crowded.buttons[.audio] = nil
        let small = try #require(try button(crowded, 230, 172))
        #expect(small.label.isEmpty && small.lead == 0)
    }

    // feature: rooms
    @Test func theButtonOfTheOutputsIsBlueWhileSoundPlaysElsewhere() throws {
        let drawing = BarDrawing(painter: try #require(TextPainter()))
        let area = PixelSize(width: 1280, height: 720)
        /// Returns the numbers of white and of blue pixels of the button.
        func colors(_ output: ScreenBar.Output, _ texts: [String]) throws -> (white: Int, blue: Int) {
            var bar = full
            (bar.output, bar.buttons[.rooms]) = (output, texts)
            let layout = try #require(BarLayout(bar, in: area, width: drawing.width))
            let button = try #require(layout.elements.first { $0.control == .button(.rooms) }?.rect)
            let image = try #require(drawing.overlay(bar, in: layout, of: area))
            var (white, blue) = (0, 0)
            for y in button.y..<(button.y + button.height) {
                for x in button.x..<(button.x + button.width) {
                    // BGRA.
                    let index = ((y - image.rect.y) * image.rect.width + x - image.rect.x) * 4
                    let (low, high) = (image.pixels[index + 2], image.pixels[index])
                    if low > 200 { white += 1 } else if high > 200, low < 130 { blue += 1 }
                }
            }
            return (white, blue)
        }
        let elsewhere = try colors(ScreenBar.Output(symbol: .speaker, isElsewhere: true), ["Kitchen", ""])
        #expect(elsewhere.white == 0 && elsewhere.blue > 100)
        let here = try colors(ScreenBar.Output(symbol: .computer, isElsewhere: false), [])
        #expect(here.white > 50 && here.blue == 0)
        let symbols = try [OutputSymbol.computer, .television, .speaker].map {
            try colors(ScreenBar.Output(symbol: $0, isElsewhere: false), []).white
        }
        #expect(Set(symbols).count == 3 && symbols.allSatisfy { $0 > 50 }, "\(symbols)")
    }

    @Test func aFilmOfUnknownLengthHasNoLine() throws {
        var live = full
        live.position = nil
        #expect(try #require(BarLayout(live, in: PixelSize(width: 1280, height: 720), width: width)).seekBar == nil)
    }

    @Test func aBarIsDrawnAndChangesWithThePosition() throws {
        let painter = try #require(TextPainter())
        let drawing = BarDrawing(painter: painter)
        let area = PixelSize(width: 640, height: 360)
        func image(_ bar: ScreenBar) throws -> OverlayImage {
            let layout = try #require(BarLayout(bar, in: area, width: drawing.width))
            return try #require(drawing.overlay(bar, in: layout, of: area))
        }
        var later = full
        later.position = 0.6
        var paused = full
        paused.isPlaying = false
        var waiting = full
        waiting.isWaiting = true
        var aimed = full
        aimed.aim = ScreenBar.Aim(position: 0.999, text: "01:00:00  The end of the long journey home")
        var quiet = full
        quiet.volume?.percent = 20
        var unknown = full
        unknown.volume?.percent = nil
        let first = try image(full)
        #expect(first.rect.width == 640 && first.rect.y + first.rect.height == 360)
        #expect(try image(later).pixels != first.pixels)
        #expect(try image(paused).pixels != first.pixels)
        #expect(try image(waiting).pixels != first.pixels)
        #expect(try image(quiet).pixels != first.pixels)
        #expect(try image(unknown).pixels != first.pixels)
        #expect(try image(aimed).rect.height > first.rect.height)
        #expect(try image(full).pixels == first.pixels)
    }

    @Test func wordsKeepAboveTheBarWhereTheyWouldLieUnderIt() {
        let area = PixelSize(width: 640, height: 360)
        func words(_ y: Int) -> OverlayImage {
            OverlayImage(
                rect: PixelRect(x: 10, y: y, width: 2, height: 20), pixels: [UInt8](repeating: 255, count: 160))
        }
        #expect(words(330).raised(above: 320, in: area).rect.y == 300)
        #expect(words(290).raised(above: 320, in: area).rect.y == 290, "above it already")
        #expect(words(330).raised(above: nil, in: area).rect.y == 330, "no bar")
        #expect(words(20).raised(above: 320, in: area).rect.y == 20, "a line at the top")
    }

    @Test func lettersOnAPortraitScreenAreAtLeastHalfAsLarge() throws {
        let upright = try #require(BarLayout(full, in: PixelSize(width: 1080, height: 1920), width: width))
        let lying = try #require(BarLayout(full, in: PixelSize(width: 1920, height: 1080), width: width))
        #expect(upright.scale >= lying.scale * 0.4)
    }
}
