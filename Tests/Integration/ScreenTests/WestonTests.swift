import Foundation
import Testing

/// What weston's shell for kiosks shows.
@Suite(
    .serialized, .enabled(if: Weston.isWanted && VirtualDisplay.isWanted, "no weston or Xvfb here"),
    .timeLimit(.minutes(2)))
struct WestonTests {
    private static let red = DisplayPicture.Color(red: 200, green: 30, blue: 40)
    private static let grey = DisplayPicture.Color(red: 128, green: 128, blue: 128)

    @Test func picturesFillTheGlassUprightAndTurned() throws {
        let display = try VirtualDisplay("640x400")
        let weston = try Weston(on: display)
        let probe = try Probe(in: weston.environment, "fs=1")
        #expect(try probe.tell("picture 640x400").line.hasSuffix("on wayland"))
        func isThere(_ red: (Int, Int), _ grey: (Int, Int)) throws -> Bool {
            let picture = try display.picture()
            return picture.color(red.0, red.1).distance(to: Self.red) <= 4
                && picture.color(grey.0, grey.1).distance(to: Self.grey) <= 4
        }
        try eventually("the picture is there") { try isThere((5, 25), (634, 374)) }
        try probe.tell("arrange rotate=180")
        try eventually("it is turned") { try isThere((634, 374), (5, 25)) }
        #expect(try probe.quit() == 0)
    }

    /// SDL before 2.30 crashes there.
    @Test func aComputerWithoutKeyboardAndPointerIsToldWhatIsMissing() throws {
        let weston = try Weston(on: nil)
        let probe = try Probe(in: weston.environment, "fs=1")
        try probe.waitForInput("the compositor there knows no keyboard or pointer")
        // The film goes on.
        #expect(try probe.tell("picture 640x360")["shown"] == "1")
        #expect(try probe.quit() == 0)
    }
}
