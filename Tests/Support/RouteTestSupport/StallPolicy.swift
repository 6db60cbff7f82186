import MediaCore
import Testing

/// Repeats a real-time test that failed while the machine stalled (`StallWatch`), at most twice. The bounds stay
/// unchanged. A failure without a stall, and the third failure, count.
///
/// A run that passes has passed, stalled or not. Each excused failure is reported as a known issue.
struct StallPolicy: SuiteTrait, TestTrait, TestScoping {
    static let attempts = 3

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        try await Self.run(test.name, body) {
            let watch = StallWatch()
            return { watch.stalls }
        }
    }

    /// Runs a test body up to three times.
    ///
    /// - Parameter watch: starts watching the machine and returns a function that reports the stalls since then.
    static func run(
        _ name: String, _ body: () async throws -> Void, watchedBy watch: () -> @Sendable () -> Stalls
    ) async throws {
        for attempt in 1..<attempts {
            let stalls = watch()
            let verdict = Lock((isExcused: false, isFinal: false))
            try await withKnownIssue("the machine stalled", isIntermittent: true) {
                try await body()
            } matching: { _ in
                let isStalled = stalls().isStalled
                verdict.withLock { if isStalled { $0.isExcused = true } else { $0.isFinal = true } }
                return isStalled
            }
            let (isExcused, isFinal) = verdict.withLock { $0 }
            guard isExcused || isFinal else { return }
            let stood = stalls()
            print(
                "\(name) failed in run \(attempt) of \(attempts), in which the machine stood still for",
                "\(stood.worst.inMilliseconds) ms at worst, \(stood.altogether.inMilliseconds) ms altogether:",
                isFinal ? "that counts" : "again")
            if isFinal { return }
        }
        try await body()
    }
}

extension Trait where Self == StallPolicy {
    /// A failure during a stall is inconclusive: the run is repeated, at most twice.
    static var repeatedWhenTheMachineStalls: Self { StallPolicy() }
}
