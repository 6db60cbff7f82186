import MediaCore
import Testing

@testable import ScreenOutput

/// When the screen's loop runs the main queue.
@Suite struct MainQueueTurnTests {
    private let now = HostInstant(nanoseconds: 1_000_000_000)

    private func later(_ milliseconds: Int) -> HostInstant { now.advanced(by: .milliseconds(milliseconds)) }

    private func isDue(_ turn: inout MainQueueTurn, at now: HostInstant, before picture: HostInstant?) -> Bool {
        turn.isDue(at: now, before: picture)
    }

    @Test func workIsDoneAtOnceWhenNoPictureIsNear() {
        var turn = MainQueueTurn()
        #expect(!isDue(&turn, at: now, before: nil), "there is none")
        turn.markPending(at: now)
        #expect(isDue(&turn, at: now, before: later(20)))
        #expect(!isDue(&turn, at: now, before: later(20)), "it is done")
        turn.markPending(at: now)
        #expect(isDue(&turn, at: now, before: nil))
    }

    @Test func shortlyBeforeAPictureItWaitsUntilThatIsShown() {
        var turn = MainQueueTurn()
        turn.markPending(at: now)
        #expect(!isDue(&turn, at: now, before: later(5)))
        #expect(turn.latest == later(50), "the loop comes back even if nothing else happens")
        #expect(isDue(&turn, at: later(6), before: later(46)))
    }

    @Test func aFilmThatIsAlwaysLateDoesNotStarveIt() {
        var turn = MainQueueTurn()
        turn.markPending(at: now)
        for milliseconds in 0..<50 {
            turn.markPending(at: later(milliseconds))
            #expect(!isDue(&turn, at: later(milliseconds), before: later(milliseconds)))
        }
        #expect(isDue(&turn, at: later(50), before: later(50)))
    }
}
