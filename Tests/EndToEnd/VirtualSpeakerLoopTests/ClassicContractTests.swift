import Testing

@testable import RouteTestSupport

extension LoopTests {
    /// The renderers' contract on classic AirPlay; the bodies also run in virtual time, on the card and on AirPlay 2.
    @Suite(.serialized, .timeLimit(.minutes(2))) struct ClassicContractTests {
        @Test func theRendererRequestsTheDesiredDepthUntilStopped() throws {
            try RouteContract.rendererRequestsDesiredDepth(RouteUnderTest.softwareClassic)
        }

        @Test func startsSpeedsAndRemovalsAreHeardWhereTheTimebaseSays() throws {
            try RouteContract.startsSpeedsAndRemovalsFollowTimebase(RouteUnderTest.softwareClassic)
        }

        @Test func piecesOfManyFormatsAreHeardAsOne() throws {
            try RouteContract.formatsJoinWithoutGaps(RouteUnderTest.softwareClassic)
        }

        @Test func whatIsTakenBackIsNotHeardAndWhatFollowsJoins() throws {
            try RouteContract.flushedAudioIsSilentAndReplacementJoins(RouteUnderTest.softwareClassic)
        }

        @Test func tooCloseNothingChangesAndTheLeadIsNamed() throws {
            try RouteContract.lateFlushIsRefused(RouteUnderTest.softwareClassic)
        }
    }
}
