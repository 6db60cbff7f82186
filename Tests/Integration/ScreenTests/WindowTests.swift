import Foundation
import Testing

@testable import ProgramTestSupport

/// Reactions of the window to input and to the window system.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(2)))
struct WindowTests {
    @Test func aWindowIsAsLargeAsItsPicturesAndNoLargerThanTheDisplay() throws {
        let display = try VirtualDisplay("800x600")
        let small = try Probe(on: display.name)
        #expect(try small.tell("picture 320x180 aspect=2:1")["area"] == "640x180")
        #expect(try small.quit() == 0)
        let large = try Probe(on: display.name)
        #expect(try large.tell("picture 1920x1080")["area"] == "800x450")
        // The frames of the next film have another aspect ratio.
        #expect(try large.tell("open 640x480")["area"] == "640x480")
    }

    @Test func aBareServerPacesNothing() throws {
        let display = try VirtualDisplay("640x360")
        let answer = try Probe(on: display.name).tell("picture 640x360")
        #expect(answer["refresh"] == "unpaced")
        #expect(answer.line.hasSuffix("by=window memory on x11"))
    }

    @Test func aFilmFillsTheDisplayWithoutAWindowManagerAndGoesBack() throws {
        let display = try VirtualDisplay("800x600")
        let probe = try Probe(on: display.name)
        try probe.tell("picture 320x180")
        let window = try display.picture().lit
        #expect(window == [240, 210, 560, 390])
        #expect(try probe.tell("fullscreen 1")["fullscreen"] == "true")
        try eventually("the display is filled") { try display.picture().lit == [0, 75, 800, 525] }
        #expect(try probe.tell("fullscreen 0")["fullscreen"] == "false")
        try eventually("the window is back") { try display.picture().lit == window }
        let direct = try Probe(on: display.name, "fs=1")
        #expect(try direct.tell("picture 320x180")["area"] == "800x600")
    }

    @Test(.enabled(if: WindowManager.isInstalled, "no openbox here"))
    func aLargerFilmThatFollowsKeepsTheWindowWithItsFrameOnTheDisplay() throws {
        let display = try VirtualDisplay("1000x700")
        let manager = try WindowManager(on: display)
        defer { manager.stop() }
        let probe = try Probe(on: display.name)
        try probe.tell("picture 320x200")
        try eventually("it has a frame") { (try manager.place?.frame.top ?? 0) > 5 }
        let window = try #require(try manager.window)
        try display.run("xdotool", "windowmove", "--sync", window, "650", "450")
        try eventually("it is near the corner") { (try manager.place?.x ?? 0) > 600 }
        try probe.tell("open 640x400")
        try eventually("it is as large as the film, and on the display") {
            guard let place = try manager.place else { return false }
            return (place.width, place.height) == (640, 400) && place.isWithin(1000, 700)
        }
        let place = try #require(try manager.place)
        #expect(place.x > 330 && place.y > 250, "it moves no further than it must: \(place)")
        // A film as high as the display.
        try probe.tell("open 1000x700")
        try eventually("it fits with its frame") {
            guard let place = try manager.place else { return false }
            return place.width > 900 && place.isWithin(1000, 700)
        }
    }

    @Test func wordsAppearOverAStandingPictureAndLeaveAgain() throws {
        let display = try VirtualDisplay("640x480")
        let probe = try Probe(on: display.name, "size=640x480")
        try probe.tell("picture 640x360")
        let before = try display.picture()
        try probe.tell("message Volume 80 %")
        // The message extends into the bar above the frame, which must be black again afterwards.
        try eventually("the words are there") { try display.picture().lit[1] < before.lit[1] }
        try probe.tell("brief Volume 85 %")
        try eventually("the words are gone") { try display.picture().bytes == before.bytes }
        // A mark is permanent, below a message while that is shown.
        try probe.tell("mark No sound: Kitchen")
        var marked = before
        try eventually("the mark is there") {
            marked = try display.picture()
            return marked.bytes != before.bytes
        }
        try probe.tell("brief Volume 90 %")
        try eventually("the mark is there again") { try display.picture().bytes == marked.bytes }
        try probe.tell("mark")
        try eventually("the mark is gone") { try display.picture().bytes == before.bytes }
    }

    @Test func keysArriveByTheNamesThatPeopleKnow() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360")
        try probe.tell("picture 640x360")
        for (key, name) in [
            ("q", "\"q\""), ("Q", "\"Q\""), ("space", "\"SPACE\""), ("shift+Right", "\"Shift+RIGHT\""),
            ("ctrl+h", "\"Ctrl+h\""), ("Escape", "\"ESC\""), ("numbersign", "\"SHARP\""), ("F9", "\"F9\""),
        ] {
            try display.run("xdotool", "key", key)
            try probe.waitForInput("key(\(name)")
        }
        try display.run("xdotool", "mousemove", "100", "100", "click", "4")
        try probe.waitForInput("key(\"WHEEL_UP\"")
        try display.run("xdotool", "click", "--repeat", "2", "1")
        try probe.waitForInput("key(\"MBTN_LEFT_DBL\"")
    }

    @Test func titlesOfEveryScriptReachTheWindowManager() throws {
        let display = try VirtualDisplay("640x360")
        // With an ASCII locale, as services have.
        let probe = try Probe(on: display.name, "size=640x360")
        for title in ["千と千尋–film.mkv", "Amélie"] {
            try probe.tell("title \(title)")
            try probe.tell("picture 640x360")
            let window = try display.run("xdotool", "search", "--class", "screen-probe").split(separator: "\n")
            let properties = try display.run(
                "xprop", "-id", String(try #require(window.first)), "_NET_WM_NAME", "WM_NAME")
            #expect(properties.contains("_NET_WM_NAME(UTF8_STRING) = \"\(title)\""), "\(properties)")
        }
    }

    @Test func aHiddenWindowTakesPicturesAndShowsTheLatestWhenItIsBack() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360")
        try probe.tell("picture 640x360")
        try display.run("xdotool", "search", "--class", "screen-probe", "windowunmap", "--sync")
        try probe.waitForInput("visible(false)")
        #expect(try probe.tell("picture 320x360")["shown"] == "2")
        try display.run("xdotool", "search", "--class", "screen-probe", "windowmap")
        try probe.waitForInput("visible(true)")
        try eventually("the second picture") { try display.picture().lit == [160, 0, 480, 360] }
    }

    @Test func aStandingFilmCostsNothing() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360")
        try probe.tell("picture 640x360")
        let rested = try probe.tell("rest").line.split(separator: " ").last.flatMap { Double($0) }
        #expect(try #require(rested) < 20, "milliseconds of processor time in a second")
    }

    @Test func aDisplayThatGoesAwayTakesThePictureButNotTheProgram() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360")
        try probe.tell("picture 640x360")
        display.stop()
        try probe.waitForInput("lost(the display was disconnected")
        #expect(try probe.tell("picture 640x360")["shown"] == "2")
        let rested = try probe.tell("rest").line.split(separator: " ").last.flatMap { Double($0) }
        #expect(try #require(rested) < 20, "milliseconds of processor time in a second")
        #expect(try probe.quit() == 0)
    }

    /// As at the end of a session, when all its programs are terminated at once.
    @Test func aDisplayLostDuringCloseDoesNotBlockTheEnd() throws {
        let display = try VirtualDisplay("640x360")
        // Opcode of UnmapWindow.
        let server = try RecordingServer(before: display, endingAt: 10)
        defer { server.stop() }
        let probe = try Probe(on: server.name, "size=640x360")
        try probe.tell("picture 640x360")
        #expect(try probe.quit(atMost: .seconds(10)) == 0)
    }

    @Test func withoutADisplayPicturesPassAndAPersonHearsWhatToDo() throws {
        let probe = try Probe(on: nil)
        #expect(try probe.tell("picture 640x360")["shown"] == "1")
        try probe.waitForInput("set DISPLAY or WAYLAND_DISPLAY")
        #expect(try probe.quit() == 0)
    }

    @Test func aDisplayThatRefusesIsNamedWithWhatIsWrong() throws {
        let absent = try Probe(on: ":4077")
        try absent.tell("picture 640x360")
        try absent.waitForInput("DISPLAY is ':4077', and no X server runs there")
        let locked = try VirtualDisplay("640x360", isLocked: true)
        let refused = try Probe(on: locked.name)
        try refused.tell("picture 640x360")
        try refused.waitForInput("DISPLAY is '\(locked.name)', and the X server there denies access to this program")
    }

    @Test func aDisplayThatDoesNotExistIsRefusedWithThoseThatDo() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "screen=7")
        try probe.tell("picture 640x360")
        try probe.waitForInput("there is no screen 7; choose one of 0 (")
    }
}
