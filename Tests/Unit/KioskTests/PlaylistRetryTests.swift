import MediaCore
import Testing

@testable import Kiosk

/// When and how a playlist without playable items is opened again.
@Suite struct PlaylistRetryTests {
    private let start = HostInstant(nanoseconds: 1_000_000_000)

    @Test func anAttemptIsTakenOnce() {
        var retry = PlaylistRetry()
        var attempts = [retry.begin()]
        retry.schedule(.skip, at: start)
        #expect(retry.due == start.advanced(by: PlaylistRetry.delay))
        retry.makeDue(at: start)
        #expect(retry.due == start)
        attempts.append(retry.begin())
        #expect(retry.due == nil)
        attempts.append(retry.begin())
        #expect(attempts == [.reopen, .skip, .reopen])
    }

    /// A kiosk of a wall starts at the wall's position instead of taking the attempt.
    @Test func anAttemptIsDueOnce() {
        var retry = PlaylistRetry()
        retry.schedule(.startOver, at: start)
        let isDue = [Duration.zero, PlaylistRetry.delay, PlaylistRetry.delay].map {
            retry.consumeDue(at: start.advanced(by: $0))
        }
        #expect(isDue == [false, true, false])
        let attempt = retry.begin()
        #expect(attempt == .startOver)
    }

    @Test func aCancelledAttemptIsNotDueButTheNextOpeningIsTheSame() {
        var retry = PlaylistRetry()
        retry.schedule(.startOver, at: start)
        retry.cancel()
        #expect(retry.due == nil)
        let attempt = retry.begin()
        #expect(attempt == .startOver)
    }

    @Test func pausesBetweenPassesGrowUntilAnItemPlays() {
        var retry = PlaylistRetry()
        var pauses: [Duration?] = []
        for plays in [false, false, true] {
            if plays { retry.resetDelay() }
            retry.scheduleNextPass(at: start)
            pauses.append(retry.due.map { $0 - start })
        }
        #expect(pauses == [.milliseconds(100), .milliseconds(200), .milliseconds(100)])
    }
}
