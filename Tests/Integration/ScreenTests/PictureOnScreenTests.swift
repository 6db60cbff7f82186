import Testing

@testable import ProgramTestSupport

/// The contents of an X server's framebuffer after a frame was presented.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(2)))
struct PictureOnScreenTests {
    private typealias Color = DisplayPicture.Color
    /// The probe's frames: red and green above, blue and grey below.
    private static let quarters = [
        Color(red: 200, green: 30, blue: 40), Color(red: 40, green: 180, blue: 60),
        Color(red: 50, green: 60, blue: 190), Color(red: 128, green: 128, blue: 128),
    ]

    /// Returns the colours at the centres of the four quarters of a rectangle.
    private func colors(_ picture: DisplayPicture, _ rect: [Int]) -> [Color] {
        let (left, top, right, bottom) = (rect[0], rect[1], rect[2], rect[3])
        let (w, h) = ((right - left) / 4, (bottom - top) / 4)
        return [(left + w, top + h), (right - w, top + h), (left + w, bottom - h), (right - w, bottom - h)]
            .map { picture.color($0.0, $0.1) }
    }

    private func expect(
        _ found: [Color], are order: [Int], within tolerance: Int = 3, _ comment: Comment? = nil,
        at location: SourceLocation = #_sourceLocation
    ) {
        for (color, index) in zip(found, order) {
            #expect(
                color.distance(to: Self.quarters[index]) <= tolerance, "\(color), wanted \(Self.quarters[index])",
                sourceLocation: location)
        }
    }

    @Test(arguments: ["surface", "texture", "placebo"])
    func everyMatrixAndRangeGivesTheColoursThatWereMeant(presentation: String) throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360", "presentation=\(presentation)")
        for matrix in [5, 1, 9] {
            for full in [0, 1] {
                for format in ["yuv420p", "nv12"] {
                    let answer = try probe.tell("picture 640x360 matrix=\(matrix) full=\(full) format=\(format)")
                    #expect(answer["shown"] != "0")
                    let found = colors(try display.picture(), [0, 0, 640, 360])
                    expect(found, are: [0, 1, 2, 3], within: 4, "matrix \(matrix), full range \(full), \(format)")
                }
            }
        }
        #expect(try probe.quit() == 0)
    }

    /// A change of the view replaces a frame that waits for its presentation.
    @Test(arguments: ["surface", "texture", "placebo"])
    func barsAreBlackAfterAPreparedPictureWasReplaced(presentation: String) throws {
        let display = try VirtualDisplay("640x640")
        let probe = try Probe(on: display.name, "replace", "size=640x640", "presentation=\(presentation)")
        try eventually("only the wide picture is seen") { try display.picture().lit == [0, 160, 640, 480] }
        #expect(try probe.quit() == 0)
    }

    @Test func aFilmThatDoesNotSayItsMatrixIsTakenByItsSize() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360")
        for size in ["720x576", "1280x720", "1280x544"] {
            try probe.tell("picture \(size)")
            let picture = try display.picture()
            expect(colors(picture, picture.lit), are: [0, 1, 2, 3], within: 4)
        }
    }

    @Test(arguments: ["surface", "texture", "placebo"])
    func gravityAppliesToAStillPicture(presentation: String) throws {
        let display = try VirtualDisplay("640x640")
        let probe = try Probe(on: display.name, "size=640x640", "presentation=\(presentation)")
        try probe.tell("picture 640x360")
        #expect(try display.picture().lit == [0, 140, 640, 500])
        try probe.tell("gravity resize")
        try eventually("it is stretched") { try display.picture().lit == [0, 0, 640, 640] }
        expect(colors(try display.picture(), [0, 0, 640, 640]), are: [0, 1, 2, 3], within: 4)
        // The middle of the frame fills the height of the window.
        try probe.tell("gravity resizeAspectFill")
        try eventually("the edges are cut off") {
            let picture = try display.picture()
            return picture.lit == [0, 0, 640, 640] && picture.color(280, 40).distance(to: Self.quarters[0]) <= 4
                && picture.color(360, 600).distance(to: Self.quarters[3]) <= 4
        }
        for turn in [90, 180] {
            try probe.tell("picture 640x360 rotation=\(turn)")
            #expect(try display.picture().lit == [0, 0, 640, 640], "turned by \(turn)")
        }
        #expect(try probe.quit() == 0)
    }

    @Test(arguments: ["surface", "texture", "placebo"])
    func aFlushThatRemovesTheImageLeavesBlackUntilTheNext(presentation: String) throws {
        let display = try VirtualDisplay("320x180")
        let probe = try Probe(on: display.name, "size=320x180", "presentation=\(presentation)")
        try probe.tell("picture 320x180")
        try probe.tell("remove")
        try eventually("it is black") {
            let picture = try display.picture()
            return picture.color(80, 45).distance(to: Color(red: 0, green: 0, blue: 0)) <= 4
        }
        try probe.tell("picture 320x180")
        expect(colors(try display.picture(), [0, 0, 320, 180]), are: [0, 1, 2, 3], within: 4)
        #expect(try probe.quit() == 0)
    }

    /// Before a window exists, and while a still frame is shown.
    @Test func theMainQueueAndTheMainActorAreServedByTheScreensLoop() throws {
        let display = try VirtualDisplay("320x180")
        let probe = try Probe(on: display.name, "size=320x180")
        #expect(try probe.tell("main")["main"] == "1")
        try probe.tell("picture 320x180")
        #expect(try probe.tell("main")["main"] == "1")
        #expect(try probe.quit() == 0)
    }

    /// Returns the index at which the pixels of a row or column become more like the second colour than the first.
    private func border(_ colors: [Color], _ first: Int, _ second: Int) -> Int? {
        colors.firstIndex { $0.distance(to: Self.quarters[second]) < $0.distance(to: Self.quarters[first]) }
    }

    @Test(arguments: ["surface", "texture", "placebo"])
    func theViewIsPlacedAlikeByEveryPresenter(presentation: String) throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360", "presentation=\(presentation)")
        try probe.tell("picture 640x360")
        // Half the size; the area around it is black again.
        try probe.tell("view zoom=-1")
        try eventually("it is small") { try display.picture().lit == [160, 90, 480, 270] }
        try probe.tell("view zoom=-1 panx=0.25 pany=-0.5")
        try eventually("it is moved") { try display.picture().lit == [240, 0, 560, 180] }
        // Larger than the window: the centre of the frame is at the computed position, within two pixels.
        for (zoom, panX, panY, x, y) in [(1, 0.1, -0.15, 448, 72), (2, -0.05, 0.06, 192, 266)] {
            let answer = try probe.tell("view zoom=\(zoom) panx=\(panX) pany=\(panY)")
            // Snapshots have the film's own size.
            #expect(answer["picture"] == "640x360")
            try eventually("its middle lies at \(x), \(y)") {
                let picture = try display.picture()
                guard let across = border((0..<640).map { picture.color($0, y - 30) }, 0, 1),
                    let along = border((0..<360).map { picture.color(x - 30, $0) }, 0, 2)
                else { return false }
                return abs(across - x) <= 2 && abs(along - y) <= 2
            }
        }
        try probe.tell("view aspect=1")
        try eventually("it is square") { try display.picture().lit == [140, 0, 500, 360] }
        try probe.tell("view aspect=1 panscan=1")
        try eventually("it fills the window") { try display.picture().lit == [0, 0, 640, 360] }
        try probe.tell("view rotate=90")
        try eventually("it is turned") { try display.picture().lit == [218, 0, 421, 360] }
        expect(colors(try display.picture(), [218, 0, 421, 360]), are: [2, 0, 3, 1], within: 6)
        try probe.tell("view rotate=90 zoom=2")
        try eventually("it is turned and large") {
            let picture = try display.picture()
            guard let across = border((0..<640).map { picture.color($0, 100) }, 2, 0),
                let along = border((0..<360).map { picture.color(250, $0) }, 2, 3)
            else { return false }
            return abs(across - 320) <= 2 && abs(along - 180) <= 2
        }
        try probe.tell("view")
        try eventually("it is as it was") { try display.picture().lit == [0, 0, 640, 360] }
        #expect(try probe.quit() == 0)
    }

    @Test(arguments: ["surface", "texture", "placebo"])
    func aPictureKeepsItsShapeBetweenBlackBars(presentation: String) throws {
        let display = try VirtualDisplay("800x600")
        let probe = try Probe(on: display.name, "size=800x600", "presentation=\(presentation)")
        // Wide, tall, wide again: the bars of one frame must not show the previous one.
        try probe.tell("picture 320x180")
        #expect(try display.picture().lit == [0, 75, 800, 525])
        try probe.tell("picture 180x320")
        #expect(try display.picture().lit == [231, 0, 569, 600])
        try probe.tell("picture 320x180 aspect=4:3")
        #expect(try display.picture().lit == [0, 131, 800, 468])
        try probe.tell("picture 320x180 aspect=1:2")
        #expect(try display.picture().lit == [133, 0, 666, 600])
    }

    @Test(arguments: ["surface", "texture", "placebo"])
    func aRotatedPictureIsUpright(presentation: String) throws {
        let display = try VirtualDisplay("800x600")
        let probe = try Probe(on: display.name, "size=800x600", "presentation=\(presentation)")
        for (rotation, order) in [(0, [0, 1, 2, 3]), (90, [2, 0, 3, 1]), (180, [3, 2, 1, 0]), (270, [1, 3, 0, 2])] {
            try probe.tell("picture 320x180 rotation=\(rotation)")
            let picture = try display.picture()
            let lit = picture.lit
            #expect(lit == (rotation % 180 == 0 ? [0, 75, 800, 525] : [231, 0, 569, 600]), "turned \(rotation)")
            expect(colors(picture, lit), are: order, within: 4, "turned \(rotation)")
        }
        // A snapshot is rotated and has square pixels as well.
        #expect(try probe.tell("picture 320x180 rotation=90 aspect=2:1")["picture"] == "180x640")
    }

    @Test func aPictureThatCannotBeDrawnLeavesTheWindowBlackAndIsSaidOnce() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360")
        try probe.tell("picture 640x360 format=other")
        #expect(try probe.tell("picture 640x360 format=other")["shown"] == "0")
        #expect(try display.picture().lit == [640, 360, 0, 0])
        #expect(probe.inputs.filter { $0.contains("cannot be drawn") }.count == 1)
    }

    /// Text and its box have the same pixels in each presentation.
    @Test func aMessageIsPlacedAlikeByEveryPresenter() throws {
        let displays = [try VirtualDisplay("320x180"), try VirtualDisplay("320x180")]
        let probes = try zip(displays, ["surface", "placebo"]).map {
            try Probe(on: $0.0.name, "size=320x180", "presentation=\($0.1)")
        }
        // Away from the borders of the film's quarters, where only one presentation interpolates.
        func corner(_ display: VirtualDisplay) throws -> [Color] {
            let picture = try display.picture()
            return (0..<60).flatMap { y in (0..<120).map { picture.color($0, y) } }
        }
        for probe in probes { try probe.tell("picture 320x180") }
        let bare = try corner(displays[0])
        for probe in probes { try probe.tell("message Volume: 50%") }
        try eventually("both show the message, and the same") {
            let (one, other) = (try corner(displays[0]), try corner(displays[1]))
            return one != bare && zip(one, other).allSatisfy { $0.distance(to: $1) <= 4 }
        }
        for probe in probes { #expect(try probe.quit() == 0) }
    }

    @Test func aScreenThatMapsTonesSaysNothingOfThem() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360", "presentation=placebo")
        try probe.tell("picture 640x360 matrix=9 transfer=16")
        #expect(probe.inputs.filter { $0.contains("HDR") }.isEmpty)
    }

    @Test func withoutOpenGLWindowMemoryTakesOverAndOneSentenceSaysWhy() throws {
        let display = try VirtualDisplay("640x360", hasOpenGL: false)
        let probe = try Probe(on: display.name, "size=640x360", "presentation=placebo")
        try probe.tell("picture 640x360")
        expect(colors(try display.picture(), [0, 0, 640, 360]), are: [0, 1, 2, 3], within: 4)
        try probe.tell("picture 640x360")
        #expect(
            probe.inputs.filter { $0.contains("libplacebo is not used") && $0.contains("window memory") }.count == 1)
    }

    @Test func highDynamicRangeIsSaidOnceForEachFilm() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360")
        try probe.tell("picture 640x360 matrix=9 transfer=16")
        try probe.tell("picture 640x360 matrix=9 transfer=16")
        #expect(probe.inputs.filter { $0.contains("HDR (PQ)") }.count == 1)
    }
}
