import MediaCore
import Testing

@Suite struct PollingThreadTests {
    @Test func stoppingWakesTheThreadAndWaitsForItsEnd() throws {
        let thread = try PollingThread(name: "polling")
        let hasEnded = Lock(false)
        try thread.start {
            while !thread.isStopping { _ = thread.wake.wait(until: nil) }
            hasEnded.withLock { $0 = true }
        }
        thread.stop()
        #expect(hasEnded.withLock { $0 } && thread.isStopping)
        thread.stop()
    }

    @Test func aThreadThatWasStoppedBeforeItsStartEndsAtOnce() throws {
        let thread = try PollingThread(name: "polling")
        thread.stop()
        try thread.start { while !thread.isStopping { _ = thread.wake.wait(until: nil) } }
        thread.stop()
    }
}
