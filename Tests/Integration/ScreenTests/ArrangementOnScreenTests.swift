import Testing

@testable import ProgramTestSupport

/// A rotated screen, and a screen with overscan.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(2)))
struct ArrangementOnScreenTests {
    /// Returns the pixels of a screen content, rotated clockwise.
    private func turned(_ picture: DisplayPicture, _ rotation: Int) -> [DisplayPicture.Color] {
        let side = picture.width
        return (0..<side * side).map { index in
            let (x, y) = (index % side, index / side)
            switch rotation {
            case 90: return picture.color(y, side - 1 - x)
            case 180: return picture.color(side - 1 - x, side - 1 - y)
            case 270: return picture.color(side - 1 - y, x)
            default: return picture.color(x, y)
            }
        }
    }

    private func colors(_ picture: DisplayPicture) -> [DisplayPicture.Color] { turned(picture, 0) }

    @Test(arguments: ["surface", "texture", "placebo"])
    func pictureAndWordsAreTurnedWithTheScreen(presentation: String) throws {
        let display = try VirtualDisplay("400x400")
        // The pointer would cover the frame.
        try display.run("xdotool", "mousemove", "399", "399")
        let probe = try Probe(on: display.name, "size=400x400", "presentation=\(presentation)")
        try probe.tell("picture 400x200")
        let bare = try display.picture().lit
        #expect(bare == [0, 100, 400, 300])
        try probe.tell("message Turned words")
        try eventually("the words are there") { try display.picture().lit[1] < 100 }
        let upright = try display.picture()
        // A difference of one per dithering and scaling with a graphics processor; window memory is exact.
        let tolerance = presentation == "surface" ? 0 : 3
        for rotation in [90, 180, 270] {
            try probe.tell("arrange rotate=\(rotation)")
            let wanted = turned(upright, rotation)
            var differing = Int.max
            try eventually("all is turned by \(rotation), \(differing) pixels differ") {
                let found = try display.picture()
                differing = zip(colors(found), wanted).filter { $0.distance(to: $1) > tolerance }.count
                // Edges of the quarters are blurred by one more pixel.
                return differing <= (presentation == "surface" ? 0 : 1200)
            }
        }
        try probe.tell("arrange rotate=0")
        try eventually("it is upright again") { try display.picture().bytes == upright.bytes }
        #expect(try probe.quit() == 0)
    }

    @Test func aFilmsOwnTurnAndAPersonsComeOnTopOfTheScreens() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360", "rotate=90")
        // Upright on a canvas of 360x640.
        #expect(try probe.tell("picture 640x360")["area"] == "360x640")
        #expect(try display.picture().lit == [219, 0, 422, 360])
        try probe.tell("picture 640x360 rotation=270")
        #expect(try display.picture().lit == [0, 0, 640, 360])
        let picture = try display.picture()
        // The rotations cancel each other: red is at the upper left again.
        #expect(picture.color(20, 20).distance(to: DisplayPicture.Color(red: 200, green: 30, blue: 40)) < 4)
        try probe.tell("view rotate=180")
        let turned = try display.picture()
        #expect(turned.color(620, 340).distance(to: DisplayPicture.Color(red: 200, green: 30, blue: 40)) < 4)
    }

    @Test func aWindowOnItsSideOpensInTheShapeOfItsPictures() throws {
        let display = try VirtualDisplay("640x640")
        let probe = try Probe(on: display.name, "rotate=90")
        #expect(try probe.tell("picture 320x180")["area"] == "320x180")
        let lit = try display.picture().lit
        #expect(lit[2] - lit[0] == 180 && lit[3] - lit[1] == 320)
        #expect(try probe.tell("open 200x100")["area"] == "200x100")
    }

    @Test(arguments: ["surface", "texture", "placebo"])
    func eachOverscanPolicyShowsThePictureAsItSays(presentation: String) throws {
        let display = try VirtualDisplay("640x360")
        try display.run("xdotool", "mousemove", "639", "359")
        let probe = try Probe(on: display.name, "size=640x360", "presentation=\(presentation)", "overscan=scale:10")
        #expect(try probe.tell("picture 640x360")["area"] == "512x288")
        let scaled = try display.picture()
        #expect(scaled.lit == [64, 36, 576, 324])
        // Zoomed in, the frame is clipped at the overscan border.
        try probe.tell("view zoom=1")
        #expect(try display.picture().lit == [64, 36, 576, 324])
        try probe.tell("view zoom=0")
        try probe.tell("arrange overscan=bounds:10")
        try eventually("all of it lies within the bounds") { try display.picture().lit == [64, 36, 576, 324] }
        for rotation in [0, 90, 180, 270] {
            try probe.tell("arrange overscan=frame:10 rotate=\(rotation)")
            try probe.tell("gravity resize")
            try eventually("turned by \(rotation), it fills the screen") {
                try display.picture().lit == [0, 0, 640, 360]
            }
            let picture = try display.picture()
            let corners = [(316, 176), (323, 176), (316, 183), (323, 183)].map { picture.color($0.0, $0.1) }
            #expect(Set(corners.map(\.description)).count == 4, "\(corners)")
        }
    }

    @Test func wordsKeepAwayFromTheEdgesThatAreNotSeen() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360")
        try probe.tell("open 640x360")
        func place(_ arrangement: String, _ command: String) throws -> [Int] {
            try probe.tell("arrange \(arrangement)")
            try probe.tell("mark")
            try probe.tell("brief")
            try eventually("all words are gone") { try display.picture().lit[2] == 0 }
            try probe.tell(command)
            try eventually("words are there") { try display.picture().lit[2] != 0 }
            return try display.picture().lit
        }
        for arrangement in ["overscan=bounds:10", "overscan=frame:10", "safe=10", "overscan=scale:10"] {
            let message = try place(arrangement, "message Words at the top")
            #expect(message[0] >= 64 && message[1] >= 36 && message[1] < 72, "\(arrangement): \(message)")
            let mark = try place(arrangement, "mark Corner")
            #expect(mark[2] <= 576 && mark[3] <= 324 && mark[3] > 290, "\(arrangement): \(mark)")
        }
        let free = try place("rotate=0", "mark Corner")
        #expect(free[2] > 600 && free[3] > 340)
    }

    @Test func aPointerHitsWhatItPointsAtOnATurnedScreen() throws {
        let display = try VirtualDisplay("400x400")
        let probe = try Probe(on: display.name, "size=400x400")
        try probe.tell("open 400x400")
        try probe.tell("panel first second third fourth fifth")
        try eventually("the panel is there") { try display.picture().lit[2] != 0 }
        let rect = try display.picture().lit
        // In the second row of the panel, and not in the middle of the window.
        let (x, y) = ((rect[0] + rect[2]) / 2 + 7, rect[1] + (rect[3] - rect[1]) * 2 / 5)
        try display.run("xdotool", "mousemove", "\(x)", "\(y)", "click", "1")
        try probe.waitForInput("panel(row: 1,")
        for (rotation, place) in [(90, (399 - y, x)), (180, (399 - x, 399 - y)), (270, (y, 399 - x))] {
            probe.forgetInputs()
            try probe.tell("arrange rotate=\(rotation)")
            try display.run("xdotool", "mousemove", "\(place.0)", "\(place.1)", "click", "1")
            try probe.waitForInput("panel(row: 1,")
        }
    }
}
