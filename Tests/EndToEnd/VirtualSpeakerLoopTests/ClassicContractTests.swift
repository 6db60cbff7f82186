import Testing

@testable import RouteTestSupport

extension LoopTests {
    /// The renderers' contract on classic AirPlay; the bodies also run in virtual time, on the card and on AirPlay 2.
    @Suite(.serialized, .timeLimit(.minutes(2))) struct ClassicContractTests {
        @Test func theRendererRequestsTheDesiredDepthUntilStopped() throws {
            try RouteContract.theRendererRequestsTheDesiredDepthUntilStopped(.softwareClassic)
        }

        @Test func startsSpeedsAndRemovalsAreHeardWhereTheTimebaseSays() throws {
            try RouteContract.startsSpeedsAndRemovalsAreHeardWhereTheTimebaseSays(.softwareClassic)
        }

        @Test func piecesOfManyFormatsAreHeardAsOne() throws {
            try RouteContract.piecesOfManyFormatsAreHeardAsOne(.softwareClassic)
        }

        @Test func whatIsTakenBackIsNotHeardAndWhatFollowsJoins() throws {
            try RouteContract.whatIsTakenBackIsNotHeardAndWhatFollowsJoins(.softwareClassic)
        }

        @Test func tooCloseNothingChangesAndTheLeadIsNamed() throws {
            try RouteContract.tooCloseNothingChangesAndTheLeadIsNamed(.softwareClassic)
        }
    }
}
