import Foundation
import Testing

/// The program on an X server, with films that have subtitles of every kind.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(3)))
struct SubtitlesOnScreenTests {
    private static let lines = """
        1
        00:00:01,000 --> 00:00:03,000
        Hello, Größe, Москва, שלום

        """

    /// A grey film in a folder of its own, with what `arguments` add to it.
    private func film(_ name: String, _ arguments: [String], beside files: [String: String] = [:]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("subtitles-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appendingPathComponent(name).path
        try Self.lines.write(toFile: folder.path + "/lines.txt", atomically: true, encoding: .utf8)
        let inputs = ["-f", "lavfi", "-i", "color=c=0x406080:s=640x360:r=25:d=4"]
        try run(
            "/usr/bin/ffmpeg",
            ["-nostdin", "-v", "error", "-y"] + inputs
                + arguments.map { $0 == "LINES" ? folder.path + "/lines.txt" : $0 } + [path])
        for (name, text) in files {
            try text.write(toFile: folder.path + "/" + name, atomically: true, encoding: .utf8)
        }
        return path
    }

    @discardableResult
    private func run(_ program: String, _ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(program) \(arguments)")
        return process.terminationStatus
    }

    /// Pixels as bright as letters are.
    private func bright(_ picture: DisplayPicture) -> [(x: Int, y: Int)] {
        var found: [(Int, Int)] = []
        for y in 0..<picture.height {
            for x in 0..<picture.width {
                let color = picture.color(x, y)
                if min(color.red, color.green, color.blue) > 220 { found.append((x, y)) }
            }
        }
        return found
    }

    /// Shows a film paused at a moment and waits until what is bright on the screen satisfies a condition.
    private func show(
        _ film: String, at moment: String, _ options: String..., until isSo: ([(x: Int, y: Int)]) -> Bool
    ) throws {
        let display = try VirtualDisplay("640x400")
        let player = Process()
        player.executableURL = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("talkie")
        player.arguments =
            ["play", "--really-quiet", "--fs", "--no-audio", "--pause", "--start", moment, film] + options
        let home = URL(fileURLWithPath: film).deletingLastPathComponent().path
        player.environment = ["DISPLAY": display.name, "PATH": "/usr/bin:/bin", "HOME": home]
        player.standardInput = FileHandle.nullDevice
        try player.run()
        defer {
            player.terminate()
            kill(player.processIdentifier, SIGKILL)
            player.waitUntilExit()
        }
        try eventually("the film is there") { try display.picture().color(10, 100) != .black }
        try eventually("its words are as wanted") { isSo(bright(try display.picture())) }
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
    func aLineStandsBelowInTheMiddleForItsTimeAndNoLonger(_ name: String, _ arguments: [String]) throws {
        let film = try film(name, arguments)
        try show(film, at: "2", until: isLine)
        try show(film, at: "3.2") { $0.isEmpty }
        try show(film, at: "2", "--sid", "no") { $0.isEmpty }
    }

    @Test func aFileBesideTheFilmIsShownAndADelayMovesIt() throws {
        let film = try film("film.mkv", ["-c:v", "ffv1"], beside: ["film.srt": Self.lines])
        try show(film, at: "2", until: isLine)
        try show(film, at: "2", "--sub-auto", "no") { $0.isEmpty }
        try show(film, at: "3.2", "--sub-delay", "1", until: isLine)
    }
}
