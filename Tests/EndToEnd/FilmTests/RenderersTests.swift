import Foundation
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// Programs that feed the renderers themselves play in step, measured externally.
@Suite(.serialized, .repeatedWhenTheMachineStalls) struct RenderersTests {
    /// The package in Examples, and the first sample of the library reference, extracted from it. `make test` builds
    /// both next to the test bundle.
    private static let programs = ["Renderers", "SyncRendering1"]

    // feature: README: Library
    @Test(.timeLimit(.minutes(4)), arguments: programs)
    func aFilmIsSeenAndHeardTogether(_ program: String) throws {
        let path = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: program).path
        try #require(
            FileManager.default.isExecutableFile(atPath: path),
            "build it: Tools/samples, and swift build --package-path Examples/Renderers (or .build/samples) --scratch-path .build"
        )
        let clip = Program.media("flash-and-beep.mp4")
        // The program exits at the end of the film.
        let measured = try MeterRun(of: clip, player: [path, clip])
        print("\(program): \(measured.figure)")
        #expect(measured.isWhole, "\(measured.figure)")
        #expect(measured.number("frames", "backward") == 0)
    }
}
