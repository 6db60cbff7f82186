import Testing

@testable import RouteTestSupport

extension SoundCardTests {
    /// The renderers' contract on ALSA with a recorded null sink; the bodies also run in virtual time and on speakers.
    @Suite(
        .serialized, .timeLimit(.minutes(2)),
        .enabled(if: PulseServer.isWanted, "needs pulseaudio, python3 and ALSA's pulse plugin"))
    struct ContractTests {
        @Test func theRendererRequestsTheDesiredDepthUntilStopped() throws {
            try RouteContract.rendererRequestsDesiredDepth(RouteUnderTest.soundCard)
        }

        @Test func startsSpeedsAndRemovalsAreHeardWhereTheTimebaseSays() throws {
            try RouteContract.startsSpeedsAndRemovalsFollowTimebase(RouteUnderTest.soundCard)
        }

        @Test func whatIsTakenBackIsNotHeardAndWhatFollowsJoins() throws {
            try RouteContract.flushedAudioIsSilentAndReplacementJoins(RouteUnderTest.soundCard)
        }

        @Test func tooCloseNothingChangesAndTheLeadIsNamed() throws {
            try RouteContract.lateFlushIsRefused(RouteUnderTest.soundCard)
        }

        @Test func piecesOfManyFormatsAreHeardAsOne() throws {
            try RouteContract.formatsJoinWithoutGaps(RouteUnderTest.soundCard)
        }
    }
}
