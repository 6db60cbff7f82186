import Foundation
import Testing

/// A film with picture and sound over a web server that is too slow for it, because each track is read by itself, on an X server.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(2)))
final class SlowServerOnScreenTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("slow-\(UUID().uuidString)")
    private let server = Process()

    deinit {
        if server.isRunning {
            kill(server.processIdentifier, SIGKILL)
            server.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Plays a film of dark noise, which is large and has no pixel as bright as letters.
    ///
    /// - Parameter share: bytes that the server sends in a second, as a share of a second of the film.
    private func play(seconds: Int, framesPerSecond: Int, share: Double) throws -> PlayedFilm {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appendingPathComponent("film.mkv").path
        try PlayedFilm.make([
            "-f", "lavfi", "-i", "color=c=0x300000:s=320x200:r=\(framesPerSecond):d=\(seconds),noise=alls=20:allf=t",
            "-f", "lavfi", "-i", "sine=d=\(seconds)", "-c:v", "ffv1", "-c:a", "aac", path,
        ])
        let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        server.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        server.arguments = [
            root.appendingPathComponent("Tools/lab/slow-server").path, folder.path,
            String(Int(Double(size / seconds) * share)),
        ]
        let output = Pipe()
        server.standardOutput = output
        try server.run()
        let words = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let port = try #require(Int(words.trimmingCharacters(in: .whitespacesAndNewlines)))
        let played = try PlayedFilm(
            "http://127.0.0.1:\(port)/film.mkv", ["--audio-device", "null"], on: VirtualDisplay("640x400"),
            home: folder.path)
        try eventually("the film is seen") { try played.display.picture().color(10, 100).red > 20 }
        return played
    }

    @Test func thePictureSaysThatTheFilmWaitsForTheNetworkAndForHowMuch() throws {
        let played = try play(seconds: 8, framesPerSecond: 25, share: 1)
        func isWaiting() throws -> Bool {
            try played.display.picture().bright.count { $0.x > 320 && $0.y > 300 } > 50
        }
        try eventually("it waits, and says so in the corner") { try isWaiting() }
        try eventually("it plays on, and says nothing") { try !isWaiting() }
        try eventually("it waits again") { try isWaiting() }
    }

    /// A server of twice the film's rate needs half a second for each frame of this one.
    @Test func thePictureSaysThatASeekTakesLongAndNothingOnceItIsThere() throws {
        let played = try play(seconds: 80, framesPerSecond: 1, share: 2)
        /// Words in the corner, which keep above the bar while that is shown.
        func isWaiting() throws -> Bool {
            try played.display.picture().bright.count { $0.x > 320 && (300..<335).contains($0.y) } > 50
        }
        for _ in 0..<100 {
            try #require(try !isWaiting(), "the server is fast enough")
            usleep(10_000)
        }
        try played.display.run("xdotool", "key", "Up")
        try eventually("it says so in the corner") { try isWaiting() }
        try eventually("it plays on, and says nothing") { try !isWaiting() }
    }
}
