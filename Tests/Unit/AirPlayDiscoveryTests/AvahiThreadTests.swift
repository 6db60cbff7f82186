import MediaCore
import Testing

@testable import Discovery

/// The thread of libavahi-client, without a daemon.
@Suite struct AvahiThreadTests {
    private final class Owner: Sendable {
        let thread: AvahiThread
        init() throws { thread = try AvahiThread() }
    }

    @Test func requestsRunInOrderAndBeforeTheFirstCall() throws {
        let (thread, log, started, done) = (try AvahiThread(), Lock<[Int]>([]), Signal(), Signal())
        thread.perform { log.withLock { $0.append(1) } }
        try thread.start(
            {
                log.withLock { $0.append(2) }
                started.raise()
            }, atEnd: { log.withLock { $0.append(4) } })
        started.wait()
        thread.perform {
            log.withLock { $0.append(3) }
            done.raise()
        }
        done.wait()
        thread.stop()
        #expect(log.withLock { $0 } == [1, 2, 3, 4])
    }

    @Test func requestsThatAreNotCarriedOutAreReleased() throws {
        let (isBlocked, mayReturn) = (Signal(), Signal())
        let thread = try AvahiThread()
        var owner: Owner? = try Owner()
        weak let former = owner
        try thread.start(
            {
                isBlocked.raise()
                mayReturn.wait()
            }, atEnd: {})
        isBlocked.wait()
        thread.perform { [owner] in withExtendedLifetime(owner) {} }
        thread.cancel()
        mayReturn.raise()
        thread.stop()
        thread.perform { [owner] in withExtendedLifetime(owner) {} }
        owner = nil
        #expect(former == nil)
    }

    @Test func aThreadThatWaitsForAnAnswerIsAbandonedAndEndsWithIt() throws {
        let (isBlocked, mayReturn, hasEnded) = (Signal(), Signal(), Signal())
        let thread = try AvahiThread()
        try thread.start(
            {
                isBlocked.raise()
                mayReturn.wait()
            }, atEnd: { hasEnded.raise() })
        isBlocked.wait()
        thread.stop()
        #expect(!hasEnded.tryWait())
        mayReturn.raise()
        hasEnded.wait()
    }
}
