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
        let (thread, log) = (try AvahiThread(), Lock<[Int]>([]))
        let (started, done, ended) = (Signal(), Signal(), Signal())
        thread.perform { log.withLock { $0.append(1) } }
        try thread.start(
            {
                log.withLock { $0.append(2) }
                started.raise()
            },
            atEnd: {
                log.withLock { $0.append(4) }
                ended.raise()
            })
        started.wait()
        thread.perform {
            log.withLock { $0.append(3) }
            done.raise()
        }
        done.wait()
        thread.stop()
        // `stop` waits for two seconds.
        ended.wait()
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
        // `stop` waits for two seconds.
        let deadline = HostInstant.now.advanced(by: .seconds(120))
        while former != nil, HostInstant.now < deadline { HostInstant.now.advanced(by: .milliseconds(1)).sleep() }
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
