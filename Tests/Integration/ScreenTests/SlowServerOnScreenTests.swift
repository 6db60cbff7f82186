import Foundation
import Testing

/// A film with picture and sound over a web server that is too slow for it, because each track is read by itself, on an X server.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(2)))
struct SlowServerOnScreenTests {
    @Test func thePictureSaysThatTheFilmWaitsForTheNetworkAndForHowMuch() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("slow-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("film.mkv").path
        // Dark noise: large, and without a pixel as bright as letters.
        try PlayedFilm.make([
            "-f", "lavfi", "-i", "color=c=0x300000:s=320x200:r=25:d=8,noise=alls=20:allf=t", "-f", "lavfi", "-i",
            "sine=d=8", "-c:v", "ffv1", "-c:a", "aac", path,
        ])
        let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
        let server = try SlowServer(folder.path, bytesPerSecond: size / 8)
        let played = try PlayedFilm(
            "http://127.0.0.1:\(server.port)/film.mkv", ["--audio-device", "null"], on: VirtualDisplay("640x400"),
            home: folder.path)
        func isWaiting() throws -> Bool {
            try played.display.picture().bright.count { $0.x > 320 && $0.y > 300 } > 50
        }
        func isFilm() throws -> Bool {
            let color = try played.display.picture().color(10, 100)
            return color.red > 20
        }
        try eventually("the film is seen") { try isFilm() }
        try eventually("it waits, and says so in the corner") { try isWaiting() }
        try eventually("it plays on, and says nothing") { try !isWaiting() }
        try eventually("it waits again") { try isWaiting() }
    }
}
