import Foundation
import Testing

@testable import ProgramTestSupport

/// The control bar on an X server, operated by the pointer only.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(2)))
struct BarOnScreenTests {
    /// Creates a film of two seconds of red and two of blue, with a subtitle.
    private func film() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bar-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let words = "1\n00:00:00,000 --> 00:00:04,000\nWords\n"
        try words.write(toFile: folder.path + "/film.srt", atomically: true, encoding: .utf8)
        let path = folder.appendingPathComponent("film.mkv").path
        func colour(_ name: String) -> [String] { ["-f", "lavfi", "-i", "color=c=\(name):s=640x400:r=25:d=2"] }
        try PlayedFilm.make(
            colour("0xA00000") + colour("0x0000A0") + ["-filter_complex", "[0][1]concat=n=2", "-c:v", "ffv1", path])
        return path
    }

    @Test func thePointerBringsTheBarWindsTheFilmAndTheBarLeaves() throws {
        let played = try PlayedFilm(film(), ["--no-audio", "--pause"])
        let display = played.display
        try eventually("the film stands, with its words") {
            let picture = try display.picture()
            return picture.color(10, 100).red > 120 && picture.bright.contains { $0.y > 345 }
        }
        let words = try display.picture().bright.map(\.y).max() ?? 0
        #expect(words > 360, "near the lower edge")

        // The bar darkens the whole width of the lower edge. The pointer keeps moving, because on a busy machine the
        // bar may disappear before it is drawn.
        var column = 320
        try eventually("the bar is there") {
            column = column == 320 ? 322 : 320
            try display.run("xdotool", "mousemove", "\(column)", "100")
            return try display.picture().color(2, 398).red < 80
        }
        // The bar's own text is not in the middle.
        try eventually("the film's words have made room for it") {
            !(try display.picture().bright.contains { (290..<350).contains($0.x) && $0.y > words - 4 && $0.y < words })
        }

        // Three quarters along the seek line, which is a sixth of the bar's height below its upper edge. The bar stays
        // while the pointer is on it, but may have disappeared meanwhile.
        try eventually("the pointer is on the bar") {
            column = column == 480 ? 482 : 480
            try display.run("xdotool", "mousemove", "\(column)", "364")
            return try display.picture().color(2, 398).red < 80
        }
        try display.run("xdotool", "click", "1")
        try eventually("the film is in its second half") { try display.picture().color(10, 100).blue > 120 }
        try display.run("xdotool", "mousemove", "320", "100")
        try eventually("the bar has left") {
            let color = try display.picture().color(2, 398)
            return color.blue > 120 && color.red < 40
        }
    }
}
