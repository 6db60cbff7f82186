import Foundation
import Testing

@testable import ProgramTestSupport

/// A display that changes its mode on request or on its own, or is disconnected.
@Suite(
    .serialized, .enabled(if: SwitchingDisplay.isWanted, "no Xorg here, or not for this user"), .timeLimit(.minutes(2)))
struct DisplayTests {
    @Test func aDisplayIsInTheModeThatIsWantedWhileTheWindowFillsIt() throws {
        let display = try SwitchingDisplay()
        let probe = try Probe(on: display.name, "fs=1", "mode=640x480@75")
        #expect(try probe.tell("picture 320x180")["area"] == "640x480")
        #expect(try display.mode == "640x480@75.00")
        // The window has the size of the frame.
        #expect(try probe.tell("fullscreen 0")["area"] == "320x180")
        #expect(try display.mode == "800x600@60.32")
        #expect(try probe.tell("fullscreen 1")["area"] == "640x480")
        #expect(try display.mode == "640x480@75.00")
        #expect(try probe.tell("mode current")["area"] == "800x600")
        #expect(try display.mode == "800x600@60.32")
        #expect(try probe.tell("mode 640x480")["area"] == "640x480")
        #expect(try display.mode == "640x480@85.01")
        #expect(try probe.quit() == 0)
        #expect(try display.mode == "800x600@60.32")
    }

    @Test func aFilmOf25PicturesGetsADisplayOf50() throws {
        let display = try SwitchingDisplay()
        let probe = try Probe(on: display.name, "fs=1", "mode=film")
        #expect(try probe.tell("picture 320x180")["area"] == "800x600")
        #expect(try display.mode == "800x600@60.32")
        try probe.tell("mode film 25")
        #expect(try display.mode == "800x600_50@50.00")
        // Of two modes that SDL reports as 60 Hz.
        try probe.tell("mode film 29.97")
        #expect(try display.mode == "800x600_5994@59.94")
        try probe.tell("mode film 30")
        #expect(try display.mode == "800x600_60@60.00")
        #expect(try probe.tell("mode film 24")["area"] == "800x600")
        try probe.waitForInput("has a refresh rate that is a multiple of 24 frames per second")
        #expect(try display.mode == "800x600@60.32")
    }

    @Test func thePreferredModeIsTheServersWord() throws {
        let display = try SwitchingDisplay()
        try display.randr("--output", "DUMMY0", "--mode", "640x480")
        let probe = try Probe(on: display.name, "fs=1", "mode=preferred")
        #expect(try probe.tell("picture 320x180")["area"] == "800x600")
        #expect(try display.mode == "800x600@60.32")
        #expect(try probe.quit() == 0)
        #expect(try display.mode.hasPrefix("640x480@"))
    }

    @Test func aDisplayThatIsChangedFromOutsideIsFilledAgain() throws {
        let display = try SwitchingDisplay()
        let probe = try Probe(on: display.name, "fs=1", "follow=1")
        try probe.waitForInput("displays(")
        #expect(try probe.tell("picture 320x180")["area"] == "800x600")
        try display.randr("--output", "DUMMY0", "--mode", "640x480")
        try probe.waitForInput("remade")
        let after = try probe.tell("sync")
        #expect(after["area"] == "640x480" && after["fullscreen"] == "true")
        // Playback continued: this is the frame that was shown before, and then another one.
        #expect(after["picture"] == "320x180")
        #expect(try probe.tell("picture 320x160")["picture"] == "320x160")
        // Mode changes by the program are not reported as external changes.
        probe.forgetInputs()
        #expect(try probe.tell("mode 640x480@85")["area"] == "640x480")
        try probe.tell("rest")
        #expect(!probe.inputs.contains { $0.contains("remade") })
        #expect(try probe.quit() == 0)
    }

    /// Without a window manager, which would resize the window.
    @Test(arguments: [true, false])
    func aWindowFillsADisplayThatBecomesSmallerAndLargerAgain(isRemade: Bool) throws {
        let display = try VirtualDisplay("1280x720")
        try display.run("xrandr", "--newmode", "small", "10", "800", "816", "832", "864", "600", "601", "602", "604")
        try display.run("xrandr", "--addmode", "screen", "small")
        let probe = try Probe(on: display.name, "fs=1", isRemade ? "follow=1" : "follow=0")
        #expect(try probe.tell("picture 320x180")["area"] == "1280x720")
        for (mode, area) in [("small", "800x600"), ("1280x720", "1280x720"), ("small", "800x600")] {
            try display.run("xrandr", "--output", "screen", "--mode", mode)
            try eventually("it fills \(mode)") { try probe.tell("sync")["area"] == area }
        }
        #expect(try probe.quit() == 0)
    }

    @Test func aBoardFillsTheSecondDisplayForAsLongAsItIsThere() throws {
        let display = try SwitchingDisplay()
        try display.randr("--addmode", "DUMMY1", "640x480")
        let probe = try Probe(on: display.name, "fs=1", "follow=1", "board=other")
        try probe.tell("board words")
        try probe.tell("picture 320x180")
        for _ in 0..<2 {
            try display.randr("--output", "DUMMY1", "--mode", "640x480", "--right-of", "DUMMY0")
            // This driver detects a connected display only when it is queried.
            try display.randr()
            try eventually("the board is there") { try display.windows["Talkie: operator"] == "640x480+800+0" }
            try display.randr("--output", "DUMMY1", "--off")
            try eventually("the board is gone") { try display.windows["Talkie: operator"] == nil }
            try eventually("the film is there") { try display.windows["Talkie"] == "800x600+0+0" }
        }
        #expect(try probe.quit() == 0)
    }

    @Test(arguments: ["placed=0", "placed=1"]) func aWindowIsThereAgainWhenItsDisplayIs(_ placed: String) throws {
        let display = try SwitchingDisplay()
        let probe = try Probe(on: display.name, "fs=1", "follow=1", placed, "nocursor=1", "awake=1")
        #expect(try probe.tell("picture 320x180")["area"] == "800x600")
        for _ in 0..<3 {
            probe.forgetInputs()
            try display.randr("--output", "DUMMY0", "--off")
            try probe.waitForInput("away(no display can be reached (none is connected and on)")
            #expect(try probe.tell("picture 320x160")["area"] == "none")
            try display.randr("--output", "DUMMY0", "--mode", "800x600")
            try probe.waitForInput("back")
            let back = try probe.tell("sync")
            #expect(back["area"] == "800x600" && back["picture"] == "320x160")
        }
        #expect(try probe.quit() == 0)
    }

    /// Without a window manager, which would move the window.
    @Test func aWindowOfAUserReturnsToTheRequestedDisplay() throws {
        let display = try SwitchingDisplay()
        try display.randr("--addmode", "DUMMY1", "640x480")
        func plug() throws {
            try display.randr("--output", "DUMMY1", "--mode", "640x480", "--right-of", "DUMMY0")
            // This driver detects a connected display only when it is queried.
            try display.randr()
        }
        try plug()
        let probe = try Probe(on: display.name, "fs=1", "follow=1", "placed=1", "screen=1")
        #expect(try probe.tell("picture 320x180")["area"] == "640x480")
        for _ in 0..<2 {
            try display.randr("--output", "DUMMY1", "--off")
            try eventually("it is on the other display") { try display.windows["Talkie"] == "800x600+0+0" }
            #expect(try probe.tell("picture 320x160")["picture"] == "320x160")
            try plug()
            try eventually("it has returned") { try display.windows["Talkie"] == "640x480+800+0" }
            #expect(try probe.tell("picture 320x180")["fullscreen"] == "true")
        }
        #expect(try probe.quit() == 0)
    }

    @Test func aWindowOfAUserStaysWhileOtherDisplaysComeAndGo() throws {
        let display = try SwitchingDisplay()
        try display.randr("--addmode", "DUMMY1", "640x480")
        let probe = try Probe(on: display.name, "follow=1", "placed=1")
        #expect(try probe.tell("picture 320x180")["area"] == "320x180")
        let place = try display.windows["Talkie"]
        for change in [["--mode", "640x480", "--right-of", "DUMMY0"], ["--off"]] {
            try display.randr(["--output", "DUMMY1"] + change)
            try display.randr()
            try probe.tell("rest")
            #expect(try display.windows["Talkie"] == place)
        }
        #expect(!probe.inputs.contains { $0.contains("remade") || $0.contains("away") }, "\(probe.inputs)")
        #expect(try probe.quit() == 0)
    }

    @Test func aProgramOfAUserWithoutADisplaySaysSo() throws {
        let display = try SwitchingDisplay()
        try display.randr("--output", "DUMMY0", "--off")
        let probe = try Probe(on: display.name, "follow=1", "placed=1")
        try probe.tell("picture 320x180")
        try probe.waitForInput("lost(no display can be reached (none is connected and on)")
        #expect(try probe.quit() == 0)
    }

    // feature: screen, fs
    @Test func thePictureOfAFilmReturnsWithItsDisplay() throws {
        let display = try SwitchingDisplay()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("film-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (film, log) = (folder.path + "/film.mkv", folder.path + "/log")
        try PlayedFilm.make([
            "-f", "lavfi", "-i", "color=red:s=320x200:d=5:r=25", "-f", "lavfi", "-i", "sine=frequency=440:duration=5",
            "-c:v", "mpeg4", "-q:v", "2", "-c:a", "pcm_s16le", film,
        ])
        let player = Process()
        player.executableURL = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("talkie")
        player.arguments = [
            "play", "--no-config", "--really-quiet", "--fs", "--audio-device", "null", "--loop-file=inf", "--log-file",
            log, film,
        ]
        player.environment = ["DISPLAY": display.name, "PATH": "/usr/bin:/bin", "HOME": folder.path]
        player.standardInput = FileHandle.nullDevice
        try player.run()
        defer {
            kill(player.processIdentifier, SIGKILL)
            player.waitUntilExit()
        }
        func count(_ words: String) -> Int {
            ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").ranges(of: words).count
        }
        // xwininfo cannot print the dash of the title.
        func isShown() throws -> Bool { try display.windows.values.contains("800x600+0+0") }
        try eventually("the film is shown") { try isShown() }
        for number in 1...2 {
            try display.randr("--output", "DUMMY0", "--off")
            try eventually("it continues") { count("its picture returns with a display") == number }
            #expect(try !isShown() && player.isRunning)
            try display.randr("--output", "DUMMY0", "--mode", "800x600")
            try eventually("its picture has returned") { try count("picture has returned") == number && isShown() }
        }
    }

    @Test func aStoppedServerIsReportedAsLostPermanently() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "fs=1", "follow=1")
        try probe.tell("picture 640x360")
        display.stop()
        try probe.waitForInput("lost(the display was disconnected")
        #expect(try probe.tell("picture 320x160")["shown"] == "2")
        let rested = try probe.tell("rest").line.split(separator: " ").last.flatMap { Double($0) }
        #expect(try #require(rested) < 20, "milliseconds of processor time in a second")
        #expect(try probe.quit() == 0)
    }

    @Test func anObserverOfDisplaysWaitsForTheFirst() throws {
        let display = try SwitchingDisplay()
        try display.randr("--output", "DUMMY0", "--off")
        let probe = try Probe(on: display.name, "fs=1", "follow=1")
        try probe.waitForInput("away(")
        try probe.tell("picture 320x180")
        try display.randr("--output", "DUMMY0", "--mode", "640x480")
        try probe.waitForInput("back")
        #expect(try probe.tell("picture 320x160")["area"] == "640x480")
    }
}

/// A display that is switched off by command.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(2)))
struct DisplayPowerTests {
    @Test func theServerIsAskedToSwitchItsDisplaysOffAndOn() throws {
        let display = try VirtualDisplay("640x360")
        let recorder = try RecordingServer(before: display)
        let probe = try Probe(on: recorder.name, "size=640x360", "presentation=surface")
        try probe.tell("picture 640x360")
        let lit = try display.picture().lit
        #expect(lit == [0, 0, 640, 360])
        func powers() -> [String] { recorder.requests.filter { $0.hasPrefix("DPMS") } }
        #expect(powers().isEmpty, "an ordinary window leaves the server's timers alone")
        try probe.tell("power 0")
        // After QueryExtension, DPMSCapable and DPMSInfo: DPMSEnable (4), and DPMSForceLevel off (6 3).
        #expect(powers().suffix(2) == ["DPMS 4", "DPMS 6 3"])
        #expect(try display.picture().lit[2] == 0)
        // Playback continues invisibly.
        #expect(try probe.tell("picture 640x360")["shown"] == "2")
        #expect(try display.picture().lit[2] == 0)
        try probe.tell("power 1")
        #expect(powers().suffix(2) == ["DPMS 6 0", "DPMS 5"])
        #expect(try display.picture().lit == lit)
        let count = powers().count
        try probe.tell("power 1")
        #expect(powers().count == count)
        // Closing the window switches the display on again.
        try probe.tell("power 0")
        #expect(try probe.quit() == 0)
        #expect(powers().suffix(2) == ["DPMS 6 0", "DPMS 5"])
    }

    @Test func aDisplayThatCannotBeSwitchedOffIsBlackAndReportedOnce() throws {
        let display = try VirtualDisplay("640x360")
        let probe = try Probe(on: display.name, "size=640x360")
        try probe.tell("power 0")
        try probe.tell("picture 640x360")
        #expect(try display.picture().lit[2] == 0)
        try probe.waitForInput("the display cannot be turned off from this program (x11)")
        try probe.tell("mark Corner")
        #expect(try display.picture().lit[2] == 0)
        try probe.tell("power 1")
        try eventually("the picture is back") { try display.picture().lit == [0, 0, 640, 360] }
        probe.forgetInputs()
        try probe.tell("power 0")
        try probe.tell("rest")
        #expect(try display.picture().lit[2] == 0)
        #expect(!probe.inputs.contains { $0.contains("switched off") })
    }

    @Test func theScreensaverIsHeldOffForAsLongAsThereIsAWindow() throws {
        let display = try VirtualDisplay("640x360")
        let recorder = try RecordingServer(before: display)
        let probe = try Probe(on: recorder.name, "size=640x360", "presentation=surface", "awake=1")
        try probe.tell("open 640x360")
        // ScreenSaverSuspend of MIT-SCREEN-SAVER 1.1 suspends DPMS timers too.
        try eventually("the server was asked") { recorder.requests.contains("MIT-SCREEN-SAVER 5") }
        #expect(try probe.quit() == 0)
    }

    @Test func aHiddenPointerStaysHiddenWhenItMoves() throws {
        let display = try VirtualDisplay("640x360")
        try display.run("xdotool", "mousemove", "300", "100")
        let hidden = try Probe(on: display.name, "size=640x360", "nocursor=1")
        try hidden.tell("open 640x360")
        try eventually("no pointer is there") { try display.picture().lit[2] == 0 }
        try display.run("xdotool", "mousemove", "320", "120")
        try hidden.tell("fullscreen 1")
        try display.run("xdotool", "mousemove", "330", "130")
        try hidden.tell("rest")
        #expect(try display.picture().lit[2] == 0)
    }
}
