import Foundation
import Testing

@testable import ProgramTestSupport

/// The program and the screen on a Wayland compositor.
@Suite(.serialized, .enabled(if: Compositor.isWanted, "no sway or grim here"), .timeLimit(.minutes(2)))
struct WaylandTests {
    private static let shared = Result { try Compositor() }

    private static let red = DisplayPicture.Color(red: 200, green: 30, blue: 40)
    private static let grey = DisplayPicture.Color(red: 128, green: 128, blue: 128)

    private func expect(
        _ compositor: Compositor, red: (Int, Int), grey: (Int, Int), black: (Int, Int)? = nil, _ what: String
    ) throws {
        try eventually(what) {
            let picture = try compositor.picture()
            return picture.color(red.0, red.1).distance(to: Self.red) <= 4
                && picture.color(grey.0, grey.1).distance(to: Self.grey) <= 4
                && black.map { picture.color($0.0, $0.1) == .black } ?? true
        }
    }

    @Test(arguments: ["automatic", "placebo"])
    func picturesFillTheCompositorsOutputUprightAndTurned(presentation: String) throws {
        let compositor = try Self.shared.get()
        let probe = try Probe(in: compositor.environment, "fs=1", "presentation=\(presentation)")
        #expect(try probe.tell("picture 640x360").line.hasSuffix("on wayland"))
        try expect(compositor, red: (5, 25), grey: (634, 374), black: (320, 10), "the picture is there")
        try probe.tell("arrange rotate=180")
        try expect(compositor, red: (634, 374), grey: (5, 25), black: (320, 390), "it is turned")
        try probe.tell("arrange rotate=90 overscan=frame:10")
        // 400x225 on a canvas of 400x640, so 225x400 in the middle of the output, as without overscan.
        try expect(compositor, red: (425, 5), grey: (215, 395), black: (100, 30), "it is turned and whole")
        try probe.tell("arrange rotate=90 overscan=bounds:10")
        // 320x180 on a canvas of 320x512, so 180x320 in the middle of the output.
        try expect(compositor, red: (405, 45), grey: (235, 355), black: (320, 30), "it is turned and smaller")
        #expect(try probe.quit() == 0)
    }

    @Test func wordsLieOverThePicture() throws {
        let compositor = try Self.shared.get()
        let probe = try Probe(in: compositor.environment, "fs=1")
        try probe.tell("picture 640x400")
        try expect(compositor, red: (5, 100), grey: (634, 374), "the picture is there")
        let before = try compositor.picture()
        try probe.tell("message Words over the film")
        try eventually("words are there") {
            let now = try compositor.picture()
            return now.bytes != before.bytes && !now.bright.isEmpty
        }
    }

    @Test func aScreenThatIsOffIsBlackWhereItCannotBeSwitchedOff() throws {
        let compositor = try Self.shared.get()
        let probe = try Probe(in: compositor.environment, "fs=1")
        try probe.tell("picture 640x400")
        try expect(compositor, red: (5, 5), grey: (634, 394), "the picture is there")
        try probe.tell("power 0")
        try probe.waitForInput("the display cannot be turned off from this program (wayland)")
        try eventually("all is black") { try compositor.picture().lit[2] == 0 }
        try probe.tell("power 1")
        try expect(compositor, red: (5, 5), grey: (634, 394), "the picture is back")
    }

    @Test(arguments: ["placed=0", "placed=1"])
    func anOutputThatGoesAndReturnsShowsTheFilmAgain(_ placed: String) throws {
        let compositor = try Self.shared.get()
        let probe = try Probe(in: compositor.environment, "fs=1", "follow=1", placed)
        try probe.tell("picture 640x400")
        try expect(compositor, red: (5, 5), grey: (634, 394), "the picture is there")
        for _ in 0..<2 {
            try compositor.tell("output HEADLESS-1 disable")
            // Playback continues.
            #expect(try probe.tell("picture 320x200")["picture"] == "320x200")
            try compositor.tell("output HEADLESS-1 enable")
            try expect(compositor, red: (5, 5), grey: (634, 394), "the picture is back")
        }
        #expect(try probe.quit() == 0)
    }

    @Test func aBoardFillsTheDisplayBesideTheFilmComesAndGoesWithItAndLeavesAThirdAlone() throws {
        let compositor = try Compositor()
        defer { compositor.stop() }
        let probe = try Probe(in: compositor.environment, "fs=1", "follow=1", "board=other")
        try probe.tell("board words that are to be read")
        try probe.tell("picture 640x400")
        try expect(compositor, red: (5, 5), grey: (634, 394), "the film is there")
        let empty = DisplayPicture.Color(red: 0x20, green: 0x30, blue: 0x40)
        func hasBoard(_ output: String) throws -> Bool {
            let picture = try compositor.picture(output)
            return picture.color(2, 2) == .black && picture.lit[2] > picture.width / 8
        }
        try compositor.tell("create_output")
        try eventually("the board is there") { try hasBoard("HEADLESS-2") }
        try compositor.tell("create_output")
        try expect(compositor, red: (5, 5), grey: (634, 394), "the film stays beside a third display")
        // The background is drawn by a program of its own.
        try eventually("the third display is left alone") {
            try compositor.picture("HEADLESS-3").color(2, 2) == empty
        }
        try compositor.tell("output HEADLESS-3 disable")
        for _ in 0..<2 {
            try compositor.tell("output HEADLESS-2 disable")
            try expect(compositor, red: (5, 5), grey: (634, 394), "the film stays where the board went")
            #expect(try probe.tell("picture 640x400")["visible"] == "true")
            try compositor.tell("output HEADLESS-2 enable")
            try eventually("the board is back") { try hasBoard("HEADLESS-2") }
            try expect(compositor, red: (5, 5), grey: (634, 394), "the film stays")
        }
        #expect(try probe.quit() == 0)
    }

    @Test func aCompositorThatEndsDoesNotEndTheFilm() throws {
        let first = try Compositor()
        let probe = try Probe(in: first.environment, "fs=1", "follow=1")
        try probe.tell("picture 640x400")
        first.stop()
        try probe.waitForInput("away(")
        // Playback continues.
        #expect(try probe.tell("picture 320x200")["shown"] == "2")
        #expect(try probe.quit() == 0)
    }

    @Test func theProgramPlaysAFilm() throws {
        let compositor = try Self.shared.get()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("film-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let film = folder.appendingPathComponent("film.mkv").path
        try PlayedFilm.make(["-f", "lavfi", "-i", "color=red:s=320x200:d=5:r=25", "-c:v", "mpeg4", "-q:v", "2", film])
        let player = Process()
        player.executableURL = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("talkie")
        player.arguments = ["play", "--no-config", "--really-quiet", "--fs", "--no-audio", "--loop-file=inf", film]
        player.environment = compositor.environment.merging(["PATH": "/usr/bin:/bin", "HOME": folder.path]) { $1 }
        player.standardInput = FileHandle.nullDevice
        try player.run()
        defer {
            kill(player.processIdentifier, SIGKILL)
            player.waitUntilExit()
        }
        let red = DisplayPicture.Color(red: 254, green: 0, blue: 0)
        try eventually("the output is red") {
            let picture = try compositor.picture()
            return [(3, 3), (320, 200), (636, 396)].allSatisfy { picture.color($0.0, $0.1).distance(to: red) < 12 }
        }
    }
}
