import Testing

@testable import RouteTestSupport

/// All tests that play to the lab's speaker. They run serially, because there is one set of PTP ports.
@Suite(
    .serialized, .enabled(if: Lab.isWanted, "no speaker lab: \(Lab.obstacle ?? "")"), .repeatedWhenTheMachineStalls
) struct SpeakerLabTests {}
