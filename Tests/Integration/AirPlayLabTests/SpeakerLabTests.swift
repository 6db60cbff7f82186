import Testing

@testable import RouteTestSupport

/// Everything that plays to the lab's speaker: one test at a time, because there is one speaker and one set of ports.
@Suite(
    .serialized, .enabled(if: Lab.isWanted, "no speaker lab: \(Lab.obstacle ?? "")"), .repeatedWhenTheMachineStalls
) struct SpeakerLabTests {}
