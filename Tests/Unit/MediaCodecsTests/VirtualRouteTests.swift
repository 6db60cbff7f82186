import Testing

@testable import RouteTestSupport

/// The renderers' contract in virtual time; the same bodies run on ALSA (`SoundCardTests`) and on speakers
/// (`AirPlayLabTests`).
@Suite struct VirtualRouteTests {
    @Test func theRendererRequestsTheDesiredDepthUntilStopped() throws {
        try RouteContract.rendererRequestsDesiredDepth(RouteUnderTest.virtualCard)
    }

    @Test func startsSpeedsAndRemovalsAreHeardWhereTheTimebaseSays() throws {
        try RouteContract.startsSpeedsAndRemovalsFollowTimebase(RouteUnderTest.virtualCard)
    }

    @Test func whatIsTakenBackIsNotHeardAndWhatFollowsJoins() throws {
        try RouteContract.flushedAudioIsSilentAndReplacementJoins(RouteUnderTest.virtualCard)
    }

    @Test func tooCloseNothingChangesAndTheLeadIsNamed() throws {
        try RouteContract.lateFlushIsRefused(RouteUnderTest.virtualCard)
    }

    @Test func piecesOfManyFormatsAreHeardAsOne() throws {
        try RouteContract.formatsJoinWithoutGaps(RouteUnderTest.virtualCard)
    }
}
