import MediaCore
import SyncRendering
import Testing

@testable import LocalOutput

@Suite struct PicturePlacementTests {
    private func rect(_ size: (Int, Int), aspect: Ratio = .one, rotation: Int = 0, in area: (Int, Int)) -> [Int] {
        let placement = PicturePlacement(
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
            let placement = PicturePlacement(
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
        // Nobody turns by 45 degrees.
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
            Screen.initialSize(of: PixelSize(width: width, height: height), wish: wish, within: display)
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
}
