import MediaCore
import Testing

@testable import RouteTestSupport

@Suite struct BestOfThreeTests {
    /// How many runs it takes when only the run of this number is good, and whether the measurement has failed.
    private func runs(goodAt good: Int) throws -> (runs: Int, hasFailed: Bool) {
        let (runs, hasFailed) = (Lock(0), Lock(false))
        try withKnownIssue("no run was good", isIntermittent: true) {
            try BestOfThree.measure("a figure") {
                let run = runs.withLock {
                    $0 += 1
                    return $0
                }
                return .init(figure: "run \(run)", isGood: run == good)
            }
        } matching: { _ in
            hasFailed.withLock { $0 = true }
            return true
        }
        return (runs.withLock { $0 }, hasFailed.withLock { $0 })
    }

    @Test(arguments: 1...3) func aGoodRunIsEnough(number: Int) throws {
        #expect(try runs(goodAt: number) == (number, false))
    }

    @Test func threeBadRunsAreAFailure() throws {
        #expect(try runs(goodAt: 4) == (3, true))
    }
}
