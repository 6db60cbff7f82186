import MediaCore
import Testing

@testable import RouteTestSupport

/// The policy of real-time tests when the machine stalls.
@Suite struct StallPolicyTests {
    private static let calm = Stalls()
    private static let stalled = Stalls(worst: .milliseconds(200), altogether: .milliseconds(200))

    /// Returns how often a body runs that fails a number of times, and whether the last failure counts.
    private func runs(failing failures: Int, _ stalls: Stalls) async throws -> (runs: Int, hasFailed: Bool) {
        let (runs, hasFailed) = (Lock(0), Lock(false))
        // Only a failure that counts is recorded here.
        try await withKnownIssue("it fails", isIntermittent: true) {
            try await StallPolicy.run(
                "a body",
                {
                    let run = runs.withLock {
                        $0 += 1
                        return $0
                    }
                    if run <= failures { Issue.record("run \(run)") }
                }, watchedBy: { { stalls } })
        } matching: { _ in
            hasFailed.withLock { $0 = true }
            return true
        }
        return (runs.withLock { $0 }, hasFailed.withLock { $0 })
    }

    @Test func whatPassesIsRunOnceWhateverTheMachineDid() async throws {
        for stalls in [Self.calm, Self.stalled] { #expect(try await runs(failing: 0, stalls) == (1, false)) }
    }

    @Test func aFailureOnACalmMachineCountsAtOnce() async throws {
        #expect(try await runs(failing: 1, Self.calm) == (1, true))
    }

    @Test func aFailureOnAStalledMachineIsRepeatedTwiceAndThenCounts() async throws {
        #expect(try await runs(failing: 1, Self.stalled) == (2, false))
        #expect(try await runs(failing: 2, Self.stalled) == (3, false))
        #expect(try await runs(failing: 9, Self.stalled) == (3, true))
    }

    @Test func anErrorThatIsThrownIsAFailureToo() async throws {
        struct Refused: Error {}
        let runs = Lock(0)
        try await StallPolicy.run(
            "a body",
            {
                let run = runs.withLock {
                    $0 += 1
                    return $0
                }
                if run == 1 { throw Refused() }
            }, watchedBy: { { Self.stalled } })
        #expect(runs.withLock { $0 } == 2)
    }

    @Test func oneLongStallOrManyShortOnesAreAStall() {
        var stalls = Stalls()
        for _ in 0..<1000 { stalls.record(.milliseconds(20)) }
        #expect(!stalls.isStalled)
        for _ in 0..<4 { stalls.record(.milliseconds(40)) }
        #expect(stalls.isStalled)
        stalls = Stalls()
        stalls.record(.milliseconds(61))
        #expect(stalls.isStalled)
    }
}
