import MediaCore
import Testing

@testable import ScreenOutput
@testable import SyncRendering

@Suite struct ScreenGeometryTests {
    private let glass = PixelSize(width: 1920, height: 1080)

    private func geometry(
        _ rotation: Int = 0, _ overscan: ScreenArrangement.Overscan = .none, titleSafe: Double = 0
    ) -> ScreenGeometry {
        var arrangement = ScreenArrangement()
        (arrangement.rotation, arrangement.overscan, arrangement.titleSafe) = (rotation, overscan, titleSafe)
        return ScreenGeometry(arrangement, on: glass)
    }

    private func numbers(_ rect: PixelRect) -> [Int] { [rect.x, rect.y, rect.width, rect.height] }

    @Test func anOrdinaryScreenIsItsOwnCanvas() {
        let plain = geometry()
        #expect(plain.isPlain)
        #expect(plain.canvas == glass)
        #expect(numbers(plain.titleSafe) == [0, 0, 1920, 1080])
        let image = OverlayImage(rect: PixelRect(x: 1, y: 2, width: 1, height: 1), pixels: [1, 2, 3, 4])
        var turning = OverlayTurning()
        #expect(turning.onGlass([image], plain).first === image)
    }

    @Test func cornersOfTheCanvasFollowTheRotation() {
        let corner = PixelRect(x: 0, y: 0, width: 10, height: 20)
        #expect(numbers(geometry(0).onGlass(corner)) == [0, 0, 10, 20])
        #expect(numbers(geometry(90).onGlass(corner)) == [1900, 0, 20, 10])
        #expect(numbers(geometry(180).onGlass(corner)) == [1910, 1060, 10, 20])
        #expect(numbers(geometry(270).onGlass(corner)) == [0, 1070, 20, 10])
        #expect(geometry(90).canvas == PixelSize(width: 1080, height: 1920))
        // A rotation of 45 degrees is ignored.
        #expect(geometry(45).isPlain)
    }

    @Test(arguments: [0, 90, 180, 270]) func aPointerIsWhereWhatItPointsAtWasDrawn(_ rotation: Int) {
        let geometry = geometry(rotation, .scale(5))
        for place in [(0, 0), (17, 400), (300, 1), (geometry.canvas.width - 1, geometry.canvas.height - 1)] {
            let drawn = geometry.onGlass(PixelRect(x: place.0, y: place.1, width: 1, height: 1))
            let found = geometry.onCanvas(x: drawn.x, y: drawn.y)
            #expect(found == place)
        }
    }

    @Test func eachOverscanPolicyKeepsOtherThingsFromTheEdges() {
        let scaled = geometry(0, .scale(5))
        #expect(numbers(scaled.field) == [96, 54, 1728, 972])
        #expect(scaled.canvas == PixelSize(width: 1728, height: 972))
        #expect(numbers(scaled.titleSafe) == [0, 0, 1728, 972])
        // UIScreen.OverscanCompensation: smaller bounds with all pixels visible …
        let bounds = geometry(0, .insetBounds(5))
        #expect(numbers(bounds.field) == [96, 54, 1728, 972])
        #expect(bounds.canvas == PixelSize(width: 1728, height: 972) && bounds.titleSafe == bounds.visible)
        // … and the whole screen, of which only a part is safe.
        let frame = geometry(0, .insetApplicationFrame(5))
        #expect(frame.canvas == glass && numbers(frame.visible) == [0, 0, 1920, 1080])
        #expect(numbers(frame.titleSafe) == [96, 54, 1728, 972])
        // After a rotation by 90 degrees the canvas's width is the screen's height.
        #expect(numbers(geometry(90, .insetApplicationFrame(5)).titleSafe) == [54, 96, 972, 1728])
    }

    @Test func theTitleSafeAreaIsInsideTheOverscanArea() {
        #expect(numbers(geometry(0, .none, titleSafe: 5).titleSafe) == [96, 54, 1728, 972])
        #expect(numbers(geometry(0, .insetApplicationFrame(10), titleSafe: 10).titleSafe) == [346, 194, 1228, 692])
        #expect(numbers(geometry(0, .scale(10), titleSafe: 10).titleSafe) == [154, 86, 1228, 692])
    }

    @Test func absurdSharesAndTinyWindowsLeaveSomething() {
        for share in [-5, Double.nan, .infinity, 1e300, 21] {
            for overscan in [
                ScreenArrangement.Overscan.scale(share), .insetBounds(share), .insetApplicationFrame(share),
            ] {
                var arrangement = ScreenArrangement()
                (arrangement.overscan, arrangement.titleSafe, arrangement.rotation) = (overscan, share, 90)
                for side in [1, 2, 1000] {
                    let geometry = ScreenGeometry(arrangement, on: PixelSize(width: side, height: side))
                    #expect(!geometry.titleSafe.isEmpty && !geometry.visible.isEmpty && !geometry.field.isEmpty)
                    #expect(geometry.titleSafe.width * 2 >= side / 3)
                }
            }
        }
    }

    @Test func overlaysAreRotatedOnceAndClippedToTheVisiblePart() {
        let pixels: [UInt8] = [1, 1, 1, 1, 2, 2, 2, 2]
        let image = OverlayImage(rect: PixelRect(x: 0, y: 0, width: 2, height: 1), pixels: pixels)
        var arrangement = ScreenArrangement()
        arrangement.rotation = 90
        let small = PixelSize(width: 10, height: 10)
        var turning = OverlayTurning()
        let first = turning.onGlass([image], ScreenGeometry(arrangement, on: small))
        #expect(first.map { numbers($0.rect) } == [[9, 0, 1, 2]])
        #expect(first.first?.pixels == pixels)
        #expect(turning.onGlass([image], ScreenGeometry(arrangement, on: small)).first === first.first)
        arrangement.rotation = 180
        #expect(
            turning.onGlass([image], ScreenGeometry(arrangement, on: small)).first?.pixels == [2, 2, 2, 2, 1, 1, 1, 1])
        // A tenth of each side is one pixel: half of one image is outside of a canvas of eight pixels, the other one
        // completely.
        (arrangement.rotation, arrangement.overscan) = (0, .scale(10))
        let half = OverlayImage(rect: PixelRect(x: -1, y: 5, width: 2, height: 1), pixels: pixels)
        let outside = OverlayImage(rect: PixelRect(x: 8, y: 5, width: 2, height: 1), pixels: pixels)
        let cut = turning.onGlass([half, outside], ScreenGeometry(arrangement, on: small))
        #expect(cut.map { numbers($0.rect) } == [[1, 6, 1, 1]])
        #expect(cut.first?.pixels == [2, 2, 2, 2])
    }

    @Test func aPictureIsTurnedByTheFilmAndByTheScreen() {
        let canvas = PixelSize(width: 1080, height: 1920)
        let upright = VideoPlacement(
            size: PixelSize(width: 1920, height: 1080), pixelAspect: .one, rotation: 90, in: canvas)
        let hung = upright.onGlass(geometry(90))
        #expect(hung.rotation == 180 && hung.rect.size == glass && hung.area == glass)
        #expect(upright.onGlass(geometry(270)).rotation == 0)
    }

    @Test func plainSubtitlesKeepToThePartForWordsAndAuthoredOnesToThePicture() {
        let header = """
            [Script Info]
            ScriptType: v4.00+
            PlayResX: 640
            PlayResY: 360
            [V4+ Styles]
            Format: Name, Fontname, Fontsize, PrimaryColour, Bold, BorderStyle, Outline, Alignment, MarginL, MarginR, MarginV
            Style: Default,sans,24,&H00FFFFFF,0,1,0,2,0,0,0
            [Events]
            Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text

            """
        func bottom(isAuthored: Bool) -> Int {
            let sheet = SubtitleStyleSheet(header: Array(header.utf8), isAuthored: isAuthored)
            let cue = SubtitleCue(.script(Array("0,0,Default,,0,0,0,,Word".utf8), sheet))
            let area = PixelSize(width: 640, height: 360)
            let canvas = SubtitleCanvas(
                area: area, video: PixelRect(x: 0, y: 0, width: 640, height: 360), storage: area,
                textArea: PixelRect(x: 64, y: 72, width: 512, height: 216))
            let images = SubtitlePainter().draw(
                [ActiveCue(cue: cue, start: .zero, end: nil, number: 1)], at: .zero, on: canvas)
            let seen = images.reduce(PixelRect(x: 0, y: 0, width: 0, height: 0)) { $0.union($1.rect) }
            return seen.y + seen.height
        }
        #expect((240...288).contains(bottom(isAuthored: false)))
        #expect((300...360).contains(bottom(isAuthored: true)))
    }

    /// Returns where a white rectangle of a subtitle plane is drawn in a window.
    private func drawn(
        _ rects: [PixelRect], of plane: PixelSize, picture: PixelSize, in area: PixelSize? = nil
    ) -> [PixelRect] {
        let area = area ?? picture
        let canvas = SubtitleCanvas(
            area: area,
            video: PixelRect(
                x: (area.width - picture.width) / 2, y: (area.height - picture.height) / 2, width: picture.width,
                height: picture.height), storage: picture)
        let images = rects.map {
            OverlayImage(rect: $0, pixels: .init(repeating: 255, count: $0.width * $0.height * 4))
        }
        let cue = ActiveCue(
            cue: SubtitleCue(.images(images, canvas: plane)), start: .zero, end: nil, number: 1)
        return SubtitlePainter().draw([cue], at: .zero, on: canvas).map(\.rect)
    }

    @Test(arguments: [
        (PixelSize(width: 1024, height: 576), 500), (PixelSize(width: 768, height: 576), 500),
        (PixelSize(width: 480, height: 270), 234), (PixelSize(width: 640, height: 400), 347),
    ])
    func thePlaneOfADVDCoversPicturesOfBothItsShapes(_ picture: PixelSize, _ top: Int) {
        let rect = PixelRect(x: 330, y: 500, width: 60, height: 30)
        let drawn = drawn([rect], of: PixelSize(width: 720, height: 576), picture: picture)
        #expect(drawn.map(\.y) == [top])
        #expect(drawn.map { abs($0.x + $0.width / 2 - picture.width / 2) <= 1 } == [true])
    }

    @Test func bitmapsBelowAPictureWhoseBarsWereCutOffAreMovedIntoTheWindowTogether() {
        let plane = PixelSize(width: 1920, height: 1080)
        let rects = [940, 1000].map { PixelRect(x: 900, y: $0, width: 100, height: 40) }
        let picture = PixelSize(width: 1920, height: 800)
        #expect(drawn(rects, of: plane, picture: picture).map(\.y) == [700, 760])
        #expect(drawn(rects, of: plane, picture: picture, in: plane).map(\.y) == [940, 1000], "on the bars")
    }
}
