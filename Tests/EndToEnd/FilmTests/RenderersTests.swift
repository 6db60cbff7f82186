import Foundation
import Testing

/// Programs that feed renderers themselves show and sound a film as a player would, seen and heard from outside.
@Suite(.serialized) struct RenderersTests {
    /// The package in Examples, and the first sample of the library's reference as it stands there. `make test` builds both
    /// beside the test bundle.
    private static let programs = ["Renderers", "SyncRendering1"]

    @Test(.timeLimit(.minutes(4)), arguments: programs)
    func aFilmIsSeenAndHeardTogether(_ program: String) throws {
        let path = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: program).path
        try #require(
            FileManager.default.isExecutableFile(atPath: path),
            "build it: Tools/samples, and swift build --package-path Examples/Renderers (or .build/samples) --scratch-path .build"
        )
        let clip = Program.media("flash-and-beep.mp4")
        // It ends by itself, with the film.
        let measured = try MeterRun(of: clip, player: [path, clip])
        print("\(program): \(measured.figure)")
        // Wide enough for a busy machine and a build without optimisation; docs/performance.md has the real figures.
        #expect(abs(try #require(measured.number("offset_ms", "median"))) < 15)
        #expect(try #require(measured.number("events", "heard")) >= 6)
        #expect(try #require(measured.number("frames", "shown")) >= 225)
        #expect(measured.number("frames", "backward") == 0)
    }
}
