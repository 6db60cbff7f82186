import Foundation
import Testing

/// A film with picture and sound over a slow web server, on an X server.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(2)))
struct SlowServerOnScreenTests {
    /// A server of twice the film's rate needs half a second for each frame of this one.
    @Test func thePictureSaysThatASeekTakesLongAndNothingOnceItIsThere() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("slow-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let (path, seconds) = (folder.appendingPathComponent("film.mkv").path, 80)
        // Dark noise is large and has no pixel as bright as letters.
        try PlayedFilm.make([
            "-f", "lavfi", "-i", "color=c=0x300000:s=320x200:r=1:d=\(seconds),noise=alls=20:allf=t",
            "-f", "lavfi", "-i", "sine=d=\(seconds)", "-c:v", "ffv1", "-c:a", "aac", path,
        ])
        let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
        let server = try SlowServer(folder.path, bytesPerSecond: size / seconds * 2)
        let played = try PlayedFilm(
            "http://127.0.0.1:\(server.port)/film.mkv", ["--audio-device", "null"], on: VirtualDisplay("640x400"),
            home: folder.path)
        try eventually("the film is seen") { try played.display.picture().color(10, 100).red > 20 }
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
