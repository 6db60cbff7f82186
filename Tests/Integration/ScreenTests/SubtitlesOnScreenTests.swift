import Foundation
import Testing

@testable import ProgramTestSupport

/// The program on an X server, with films that have subtitles of every kind.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(3)))
struct SubtitlesOnScreenTests {
    private static let lines = """
        1
        00:00:01,000 --> 00:00:03,000
        Hello, Größe, Москва, שלום

        """

    /// Creates a grey film with additional arguments for ffmpeg in a new folder.
    private func film(_ name: String, _ arguments: [String], beside files: [String: String] = [:]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("subtitles-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appendingPathComponent(name).path
        try Self.lines.write(toFile: folder.path + "/lines.txt", atomically: true, encoding: .utf8)
        let inputs = ["-f", "lavfi", "-i", "color=c=0x406080:s=640x360:r=25:d=4"]
        try PlayedFilm.make(
            inputs
                + arguments.map { $0 == "LINES" ? folder.path + "/lines.txt" : $0 } + [path])
        for (name, text) in files {
            try text.write(toFile: folder.path + "/" + name, atomically: true, encoding: .utf8)
        }
        return path
    }

    /// Shows a film paused at a position and waits until the bright pixels of the screen satisfy a condition.
    private func show(
        _ film: String, at moment: String, _ options: String..., environment: [String: String] = [:],
        until isSo: ([(x: Int, y: Int)]) -> Bool
    ) throws {
        let home = URL(fileURLWithPath: film).deletingLastPathComponent().path
        let played = try PlayedFilm(
            film, ["--no-audio", "--pause", "--start", moment] + options, on: VirtualDisplay("640x400"), home: home,
            environment: environment)
        try eventually("the film is there") { try played.display.picture().color(10, 100) != .black }
        try eventually("its words are as wanted") { isSo(try played.display.picture().bright) }
    }

    private func isLine(_ pixels: [(x: Int, y: Int)]) -> Bool {
        guard pixels.count > 300, let left = pixels.map(\.x).min(), let right = pixels.map(\.x).max(),
            let top = pixels.map(\.y).min()
        else { return false }
        return top > 330 && abs(left + right - 640) <= 8
    }

    @Test(arguments: [
        ("film.mkv", ["-i", "LINES", "-c:v", "ffv1", "-c:s", "srt", "-disposition:s:0", "default"]),
        ("film.mp4", ["-i", "LINES", "-c:v", "mpeg4", "-c:s", "mov_text", "-disposition:s:0", "default"]),
    ])
    func aLineIsShownBottomCentreForItsDuration(_ name: String, _ arguments: [String]) throws {
        let film = try film(name, arguments)
        try show(film, at: "2", until: isLine)
        try show(film, at: "3.2") { $0.isEmpty }
        try show(film, at: "2", "--sid", "no") { $0.isEmpty }
    }

    @Test func secondSubtitlesStandAtTheTop() throws {
        let film = try film(
            "film.mkv", ["-i", "LINES", "-c:v", "ffv1", "-c:s", "srt", "-disposition:s:0", "default"])
        try show(film, at: "2", "--sid", "no", "--secondary-sid", "1") { pixels in
            guard pixels.count > 300, let bottom = pixels.map(\.y).max() else { return false }
            return bottom < 70
        }
        try show(film, at: "2", "--sid", "no", "--secondary-sid", "1", "--no-secondary-sub-visibility") { $0.isEmpty }
    }

    // feature: --slang
    @Test func theFileBesideTheFilmInTheLanguageOfTheSessionIsShown() throws {
        let later = Self.lines.replacing("00:00:01,000 --> 00:00:03,000", with: "00:00:03,000 --> 00:00:04,000")
        let film = try film(
            "film.mkv", ["-c:v", "ffv1"],
            beside: ["film.en.srt": later, "film.de.srt": Self.lines, "film.de.forced.srt": later])
        try show(film, at: "2", environment: ["LANGUAGE": "de"], until: isLine)
        try show(film, at: "2", environment: ["LANG": "en_GB.UTF-8"]) { $0.isEmpty }
        try show(film, at: "3.2", environment: ["LANG": "en_GB.UTF-8"], until: isLine)
        try show(film, at: "3.2", "--slang", "en", environment: ["LANGUAGE": "de"], until: isLine)
        // Without a language of the session the first file is shown.
        try show(film, at: "2", environment: ["LC_ALL": "C.UTF-8"], until: isLine)
    }

    @Test func aFileBesideTheFilmIsShownAndADelayMovesIt() throws {
        let film = try film("film.mkv", ["-c:v", "ffv1"], beside: ["film.srt": Self.lines])
        try show(film, at: "2", until: isLine)
        try show(film, at: "2", "--sub-auto", "no") { $0.isEmpty }
        try show(film, at: "3.2", "--sub-delay", "1", until: isLine)
        try show(film, at: "2", "--vo=gpu-next", until: isLine)
        try show(film, at: "3.2", "--vo=gpu-next") { $0.isEmpty }
    }
}
