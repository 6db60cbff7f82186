import AirPlay
import AirPlayTransport
import Testing

@Suite struct RouteMemoryTests {
    @Test func whatWasHeardIsTakenAgainAndARouteThatNeverGotAClockIsNotChanged() throws {
        let heard = try #require(
            RouteMemory.after(
                [.played, .probed], on: .buffered, sourceVersion: "366.0", before: nil))
        #expect(heard == RouteMemory(route: .buffered, hasProbed: true, sourceVersion: "366.0"))
        // `hasProbed` stays true, although the speaker did not probe in this session.
        #expect(
            RouteMemory.after(.played, on: .buffered, sourceVersion: "366.0", before: heard) == nil)
        let stuck = try #require(
            RouteMemory.after(.clockless, on: .buffered, sourceVersion: "366.0", before: heard))
        #expect(stuck.route == nil, "the user is offered another one")
        #expect(!stuck.hasProbed, "the next session does not wait for questions that may never come")
        let mended = RouteMemory.after(
            [.played, .clockless], on: .buffered, sourceVersion: "366.0", before: stuck)
        #expect(mended?.route == .buffered)
    }

    @Test func whoseClockItPlaysByIsRememberedUntilItTurnsOutOtherwise() throws {
        let heard = try #require(
            RouteMemory.after(
                [.played, .insisted], on: .realtime, isGrouped: true, sourceVersion: "980.1", before: nil))
        #expect(heard.role == .follower && heard.isRoleOfGroup == true)
        #expect(RouteMemory.after(.played, on: .realtime, sourceVersion: "980.1", before: heard) == nil)
        let served = RouteMemory.after(
            [.played, .declinedToServe], on: .realtime, sourceVersion: "980.1", before: heard)
        #expect(served?.role == .grandmaster && served?.isRoleOfGroup == false)
    }

    @Test func nothingIsLearnedFromASessionThatPlayedNothing() {
        #expect(RouteMemory.after([], on: .realtime, sourceVersion: nil, before: nil) == nil)
        // A request for the best route ends an earlier one, also if that route does not play.
        let wanted = RouteMemory(route: .buffered, sourceVersion: "1", wanted: .realtime)
        let reset = RouteMemory(route: .buffered, sourceVersion: "1")
        #expect(RouteMemory.after([], on: .realtime, sourceVersion: "1", before: wanted) == reset)
        #expect(RouteMemory.after(.clockless, on: .realtime, sourceVersion: "1", before: wanted) == reset)
        #expect(RouteMemory.after([], on: .realtime, sourceVersion: "1", wanted: .realtime, before: wanted) == nil)
        #expect(RouteMemory.after(.probed, on: .realtime, sourceVersion: nil, before: nil) == nil)
    }

    @Test func anUpdateOfTheSpeakerMakesWhatWasLearnedVoid() {
        let old = RouteMemory(route: .realtime, hasProbed: true, sourceVersion: "366.0")
        #expect(
            RouteMemory.after(.played, on: .buffered, sourceVersion: "400.0", before: old)
                == RouteMemory(route: .buffered, sourceVersion: "400.0"))
    }
}
