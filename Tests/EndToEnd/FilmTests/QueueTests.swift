import Foundation
import TalkieTestKit
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// The tutorial's player with a film that was cut into items, measured externally.
@Suite(.serialized, .repeatedWhenTheMachineStalls) struct QueueTests {
    /// Built next to the test bundle (`make test` does so).
    private static let player = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "Player").path

    @Test(.timeLimit(.minutes(4))) func aFilmCutIntoItemsIsSeenAndHeardAsIfItHadNotBeenCut() throws {
        try #require(
            FileManager.default.isExecutableFile(atPath: Self.player),
            "build it: swift build --package-path Examples/Player --scratch-path .build")
        let scratch = try Scratch()
        let clip = Program.media("flash-and-beep.mp4")
        let cut = try Program.run(MeterRun.meter, ["cut", clip, "3", scratch.path("items")], atMost: 60)
        try #require(cut.status == 0, "\(cut.errors)")
        let items = cut.output.split(separator: "\n").map(String.init)
        let measured = try MeterRun(of: clip, player: [Self.player] + items)
        print("items: \(measured.figure)")
        #expect(measured.isWhole, "\(measured.figure)")
        #expect(measured.number("frames", "backward") == 0)
    }

    @Test func withoutADisplayTheSoundPlaysToItsEnd() throws {
        try #require(FileManager.default.isExecutableFile(atPath: Self.player))
        let scratch = try Scratch()
        let film = try TestClips.make(
            "film.mp4", TestClips.arguments("-f lavfi -i testsrc=s=64x64:r=25:d=1 -f lavfi -i sine=d=1"))
        // ALSA's null device as the default card.
        let card = try scratch.file("asound.conf", Data("pcm.!default { type null }\n".utf8))
        let result = try Program.run(
            Self.player, [film, film],
            environment: [
                "DISPLAY": nil, "WAYLAND_DISPLAY": nil, "SDL_VIDEODRIVER": "none-such", "ALSA_CONFIG_PATH": card,
            ], atMost: 20)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(result.output.components(separatedBy: "playing \(film)").count == 3)
    }
}
