import MediaCore
import Testing

/// What a test against real time does when the machine stalls. The bounds stay: a run that fails is done again when the
/// machine stalled meanwhile (`StallWatch`), at most twice; otherwise, and the third time, it has failed.
///
/// A run that passes has passed, stalled or not. What is excused stays visible as a known issue.
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

    /// - Parameter watch: begins to watch the machine, and gives what says how it has been since.
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
    /// A failure while the machine stalled is no answer: such a run is repeated, at most twice.
    static var repeatedWhenTheMachineStalls: Self { StallPolicy() }
}
