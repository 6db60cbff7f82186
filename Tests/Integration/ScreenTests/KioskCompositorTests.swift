import Foundation
import Testing

@testable import ProgramTestSupport

/// Playback in compositors that show one program.
@Suite(.serialized, .enabled(if: KioskCompositor.isWanted, "no cage, weston or Xvfb here"), .timeLimit(.minutes(2)))
struct KioskCompositorTests {
    private static let red = DisplayPicture.Color(red: 200, green: 30, blue: 40)
    private static let grey = DisplayPicture.Color(red: 128, green: 128, blue: 128)

    /// cage leaves decorations to clients; a bug of SDL 2.26 then removed the window from the screen permanently.
    @Test(arguments: [KioskCompositor.Kind.cage, .weston])
    func picturesFillTheGlassUprightAndTurned(kind: KioskCompositor.Kind) throws {
        let display = try VirtualDisplay(KioskCompositor.size)
        let compositor = try KioskCompositor(kind, on: display)
        let probe = try Probe(in: compositor.environment, "fs=1")
        #expect(try probe.tell("picture 1024x768").line.hasSuffix("on wayland"))
        func isThere(_ red: (Int, Int), _ grey: (Int, Int)) throws -> Bool {
            let picture = try display.picture()
            return picture.color(red.0, red.1).distance(to: Self.red) <= 4
                && picture.color(grey.0, grey.1).distance(to: Self.grey) <= 4
        }
        try eventually("the picture is there") { try isThere((5, 25), (1018, 740)) }
        try probe.tell("arrange rotate=180")
        try eventually("it is turned") { try isThere((1018, 740), (5, 25)) }
        #expect(try probe.quit() == 0)
    }

    /// SDL before 2.30 crashes there.
    @Test func missingInputDevicesAreReported() throws {
        let compositor = try KioskCompositor(.bareWeston, on: nil)
        let probe = try Probe(in: compositor.environment, "fs=1")
        // Playback continues.
        #expect(try probe.tell("picture 640x360")["shown"] == "1")
        try probe.waitForInput("the compositor there has no keyboard or pointer")
        #expect(try probe.quit() == 0)
    }
}
