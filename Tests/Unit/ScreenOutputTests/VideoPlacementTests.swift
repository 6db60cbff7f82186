import MediaCore
import SyncRendering
import Testing

@testable import ScreenOutput

@Suite struct VideoPlacementTests {
    private func rect(_ size: (Int, Int), aspect: Ratio = .one, rotation: Int = 0, in area: (Int, Int)) -> [Int] {
        let placement = VideoPlacement(
            size: PixelSize(width: size.0, height: size.1), pixelAspect: aspect, rotation: rotation,
            in: PixelSize(width: area.0, height: area.1))
        return [placement.rect.x, placement.rect.y, placement.rect.width, placement.rect.height]
    }

    @Test func aPictureFillsAsMuchAsItsShapeAllows() {
        #expect(rect((1920, 1080), in: (1920, 1080)) == [0, 0, 1920, 1080])
        #expect(rect((1920, 800), in: (1920, 1080)) == [0, 140, 1920, 800])
        #expect(rect((640, 480), in: (1920, 1080)) == [240, 0, 1440, 1080])
        // PAL in 16:9 (ITU-R BT.1700 samples, pixels 64 to 45).
        #expect(rect((720, 576), aspect: Ratio(64, 45), in: (1024, 576)) == [0, 0, 1024, 576])
    }

    @Test func gravitySaysWhetherThereAreBarsOrEdgesThatAreNotSeen() {
        func rect(_ gravity: VideoGravity, rotation: Int = 0) -> [Int] {
            let placement = VideoPlacement(
                size: PixelSize(width: 1920, height: 800), pixelAspect: .one, rotation: rotation, gravity: gravity,
                in: PixelSize(width: 960, height: 540))
            return [placement.rect.x, placement.rect.y, placement.rect.width, placement.rect.height]
        }
        #expect(rect(.resizeAspect) == [0, 70, 960, 400])
        #expect(rect(.resizeAspectFill) == [-168, 0, 1296, 540])
        #expect(rect(.resize) == [0, 0, 960, 540])
        #expect(rect(.resize, rotation: 90) == [0, 0, 960, 540])
        #expect(rect(.resizeAspectFill, rotation: 90) == [0, -882, 960, 2304])
    }

    @Test func aBarOfOnePixelIsNotWorthARescale() {
        #expect(rect((1366, 768), in: (1367, 768)) == [0, 0, 1367, 768])
    }

    @Test func aTurnedPictureSwapsItsSides() {
        #expect(rect((1920, 1080), rotation: 90, in: (1080, 1920)) == [0, 0, 1080, 1920])
        #expect(rect((1920, 1080), rotation: -90, in: (1080, 1920)) == [0, 0, 1080, 1920])
        // A rotation of 45 degrees is ignored.
        #expect(rect((1920, 1080), rotation: 45, in: (1920, 1080)) == [0, 0, 1920, 1080])
    }

    @Test func absurdSizesAndRatiosStayInsideTheWindow() {
        for (size, aspect) in [((1, 30000), Ratio.one), ((30000, 1), Ratio(Int.max, 1)), ((0, 0), Ratio(1, Int.max))] {
            let found = rect(size, aspect: aspect, in: (640, 360))
            #expect(found[0] >= 0 && found[1] >= 0 && found[2] >= 1 && found[3] >= 1)
            #expect(found[0] + found[2] <= 640 && found[1] + found[3] <= 360)
        }
    }

    @Test func aWindowBeginsAtThePicturesSizeOrWhatTheDisplayHasRoomFor() {
        let display = PixelSize(width: 1920, height: 1040)
        func initial(_ width: Int, _ height: Int, wish: PixelSize? = nil) -> PixelSize {
            WindowSizing.initialSize(of: PixelSize(width: width, height: height), request: wish, within: display)
        }
        #expect(initial(1280, 720) == PixelSize(width: 1280, height: 720))
        #expect(initial(3840, 2160) == PixelSize(width: 1849, height: 1040))
        #expect(
            initial(1280, 720, wish: PixelSize(width: 300, height: 200)) == PixelSize(width: 300, height: 200))
    }

    @Test func pixelsTurnClockwise() {
        let source: [UInt32] = [1, 2, 3, 4, 5, 6]  // 1 2 3 over 4 5 6
        func turned(_ rotation: Int, stride: Int) -> [UInt32] {
            var target = [UInt32](repeating: 0, count: 6)
            PixelRotation.copy(
                from: source, stride: 3, size: PixelSize(width: 3, height: 2), turned: rotation, to: &target,
                stride: stride)
            return target
        }
        #expect(turned(90, stride: 2) == [4, 1, 5, 2, 6, 3])
        #expect(turned(180, stride: 3) == [6, 5, 4, 3, 2, 1])
        #expect(turned(270, stride: 2) == [3, 6, 2, 5, 1, 4])
    }

    // MARK: User-provided view

    private func placed(
        _ size: (Int, Int), rotation: Int = 0, in area: (Int, Int), _ change: (inout VideoGeometry) -> Void
    ) -> VideoPlacement {
        var view = VideoGeometry()
        change(&view)
        return VideoPlacement(
            size: PixelSize(width: size.0, height: size.1), pixelAspect: .one, rotation: rotation, view: view,
            in: PixelSize(width: area.0, height: area.1))
    }

    private func numbers(_ rect: PixelRect) -> [Int] { [rect.x, rect.y, rect.width, rect.height] }

    @Test func zoomIsInPowersOfTwoAroundTheMiddle() {
        #expect(numbers(placed((640, 360), in: (640, 360)) { $0.zoom = 1 }.rect) == [-320, -180, 1280, 720])
        #expect(numbers(placed((640, 360), in: (640, 360)) { $0.zoom = -1 }.rect) == [160, 90, 320, 180])
    }

    @Test func panMovesByPartsOfTheShownPicture() {
        let placed = placed((640, 360), in: (640, 360)) { ($0.panX, $0.panY, $0.zoom) = (0.1, -0.25, 1) }
        #expect(numbers(placed.rect) == [-320 + 128, -180 - 180, 1280, 720])
    }

    @Test func panscanGoesFromBarsToEdgesThatAreNotSeen() {
        func rect(_ panscan: Double) -> [Int] {
            numbers(placed((1920, 800), in: (960, 540)) { $0.panscan = panscan }.rect)
        }
        #expect(rect(0) == [0, 70, 960, 400])
        #expect(rect(0.5) == [-84, 35, 1128, 470])
        #expect(rect(1) == [-168, 0, 1296, 540])
    }

    @Test func aShapeThatIsAskedForTakesTheFilmsPlace() {
        #expect(
            numbers(placed((720, 576), in: (1024, 576)) { $0.aspect = .ratio(16.0 / 9) }.rect) == [0, 0, 1024, 576])
        let stated = VideoPlacement(
            size: PixelSize(width: 720, height: 576), pixelAspect: Ratio(64, 45), rotation: 0,
            view: {
                var view = VideoGeometry(); view.aspect = .squarePixels; return view
            }(),
            in: PixelSize(width: 720, height: 576))
        #expect(numbers(stated.rect) == [0, 0, 720, 576])
        // The aspect ratio applies before the rotation.
        let turned = placed((640, 480), rotation: 90, in: (900, 1600)) { $0.aspect = .ratio(16.0 / 9) }
        #expect(numbers(turned.rect) == [0, 0, 900, 1600])
    }

    @Test func aTurnIsAddedToTheFilmsOrTakesItsPlace() {
        #expect(placed((640, 360), rotation: 90, in: (360, 640)) { $0.rotation = 270 }.rotation == 0)
        #expect(placed((640, 360), rotation: 90, in: (360, 640)) { $0.rotation = 90 }.rotation == 180)
        #expect(placed((640, 360), rotation: 90, in: (360, 640)) { $0.rotation = nil }.rotation == 0)
    }

    @Test func absurdViewsStayWithinReason() {
        let placed = placed((640, 360), in: (1920, 1080)) {
            ($0.zoom, $0.panX, $0.panY, $0.panscan, $0.aspect) = (.infinity, .nan, 1e9, -4, .ratio(.nan))
        }
        #expect(placed.rect.width <= 16384 && placed.rect.height <= 16384)
        let large = self.placed((640, 360), in: (1920, 1080)) { $0.zoom = 20 }
        #expect(large.rect.width == 16384 && large.rect.height == 9216)
        let small = self.placed((640, 360), in: (1920, 1080)) { $0.zoom = -20 }
        #expect(small.rect.width == 1 && small.rect.height == 1)
    }

    /// At any zoom, no more of the frame is drawn than the window shows.
    @Test(arguments: [0, 90, 180, 270]) func theVisiblePartKeepsItsPlaceInTheWhole(rotation: Int) throws {
        let size = PixelSize(width: 1920, height: 1080)
        for (zoom, panX, panY) in [(1.0, 0.0, 0.0), (3, 0.31, -0.2), (2.3, -0.1, 0.44)] {
            let placed = placed((1920, 1080), rotation: rotation, in: (800, 600)) {
                ($0.zoom, $0.panX, $0.panY) = (zoom, panX, panY)
            }
            let part = try #require(placed.visibleRegion(of: size, step: 16))
            #expect(part.source.isInside(PixelRect(x: 0, y: 0, width: 1920, height: 1080)))
            #expect(part.source.x % 16 == 0 && part.source.y % 16 == 0)
            #expect(part.source.width < 1920 || part.source.height < 1080)
            // The part covers what the window shows of the frame.
            let seen = placed.rect.intersection(PixelRect(x: 0, y: 0, width: 800, height: 600))
            #expect(seen.isInside(part.target))
            // Its corner is at the position in the whole frame, within half a pixel of the window.
            let (across, along) = (Double(part.source.x) / 1920, Double(part.source.y) / 1080)
            let (x, y) =
                switch rotation {
                case 90: (1 - along, across)
                case 180: (1 - across, 1 - along)
                case 270: (along, 1 - across)
                default: (across, along)
                }
            let corner = (
                Double(placed.rect.x) + x * Double(placed.rect.width),
                Double(placed.rect.y) + y * Double(placed.rect.height)
            )
            let found = (
                rotation == 90 || rotation == 180 ? part.target.x + part.target.width : part.target.x,
                rotation == 180 || rotation == 270 ? part.target.y + part.target.height : part.target.y
            )
            #expect(abs(Double(found.0) - corner.0) <= 0.51 && abs(Double(found.1) - corner.1) <= 0.51)
        }
    }

    @Test func aPictureThatWasMovedOutOfTheWindowHasNoPartInIt() {
        let placed = placed((640, 360), in: (640, 360)) { $0.panX = 1.5 }
        #expect(placed.visibleRegion(of: PixelSize(width: 640, height: 360), step: 16) == nil)
    }
}
