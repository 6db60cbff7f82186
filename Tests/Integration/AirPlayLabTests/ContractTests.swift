import Testing

@testable import RouteTestSupport

/// The renderers' contract on speakers; the bodies also run in virtual time and on the sound card.
extension SpeakerLabTests {
    @Suite struct ContractTests {
        @Test(.timeLimit(.minutes(2)), arguments: RouteUnderTest.buffered)
        func theRendererRequestsTheDesiredDepthUntilStopped(route: RouteUnderTest) throws {
            try RouteContract.rendererRequestsDesiredDepth(route)
        }

        @Test(.timeLimit(.minutes(2)), arguments: RouteUnderTest.buffered)
        func startsSpeedsAndRemovalsAreHeardWhereTheTimebaseSays(route: RouteUnderTest) throws {
            try RouteContract.startsSpeedsAndRemovalsFollowTimebase(route)
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: RouteUnderTest.buffered + RouteUnderTest.realtime)
        func piecesOfManyFormatsAreHeardAsOne(route: RouteUnderTest) throws {
            try RouteContract.formatsJoinWithoutGaps(route)
        }
    }
}
