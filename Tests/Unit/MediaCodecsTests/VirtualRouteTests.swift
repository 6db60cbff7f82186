import Testing

@testable import RouteTestSupport

/// The renderers' contract in virtual time; the same bodies run on ALSA (`SoundCardTests`) and on speakers
/// (`AirPlayLabTests`).
@Suite struct VirtualRouteTests {
    @Test func theRendererRequestsTheDesiredDepthUntilStopped() throws {
        try RouteContract.theRendererRequestsTheDesiredDepthUntilStopped(.virtualCard)
    }

    @Test func startsSpeedsAndRemovalsAreHeardWhereTheTimebaseSays() throws {
        try RouteContract.startsSpeedsAndRemovalsAreHeardWhereTheTimebaseSays(.virtualCard)
    }

    @Test func whatIsTakenBackIsNotHeardAndWhatFollowsJoins() throws {
        try RouteContract.whatIsTakenBackIsNotHeardAndWhatFollowsJoins(.virtualCard)
    }

    @Test func tooCloseNothingChangesAndTheLeadIsNamed() throws {
        try RouteContract.tooCloseNothingChangesAndTheLeadIsNamed(.virtualCard)
    }

    @Test func piecesOfManyFormatsAreHeardAsOne() throws {
        try RouteContract.piecesOfManyFormatsAreHeardAsOne(.virtualCard)
    }
}
