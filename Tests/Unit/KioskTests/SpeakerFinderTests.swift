import MediaCore
import Routing
import SyncRendering
import TalkieTestKit
import Testing

@testable import Kiosk

/// The searches for missing speakers.
@Suite struct SpeakerFinderTests {
    /// A provider without speakers. Each search adds a handler to its interruption.
    private final class EmptyProvider: OutputProvider {
        private final class Token: Sendable {}
        private struct Search { weak var token: Token? }

        let name = "empty"
        let began = Signal()
        private let searches = Lock<[Search]>([])
        private let timeout: Duration

        /// - Parameter timeout: How long a search waits for its cancellation.
        init(timeout: Duration = .zero) { self.timeout = timeout }

        /// For each search, whether its handler still exists.
        var hasHandler: [Bool] { searches.withLock { $0.map { $0.token != nil } } }

        func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {}
        func match(_ name: String) -> NameMatch { .possible }
        func find(
            _ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void
        ) throws(TalkieError) -> [OutputDestination] {
            let (token, over) = (Token(), Signal())
            interruption.onRaise { withExtendedLifetime(token) { over.raise() } }
            searches.withLock { $0.append(Search(token: token)) }
            began.raise()
            over.wait(until: .now.advanced(by: timeout))
            throw TalkieError(.unavailable, "there is no speaker")
        }
        func outputs(at place: OutputDestination) -> [any AudioOutput] { [] }
        func identity(of output: any AudioOutput) -> OutputIdentity? { nil }
    }

    @Test func nothingOfAFinishedSearchIsRetained() {
        let (clock, provider) = (ManualClock(), EmptyProvider())
        let finder = SpeakerFinder(OutputRegistry([provider]), clock: clock) { _ in }
        finder.find(["kitchen"])
        for _ in 1...2 {
            finder.runDueWork()
            clock.advance(by: .seconds(60))
        }
        #expect(provider.hasHandler == [false, false])
        finder.stop()
    }

    @Test func aStopCancelsTheCurrentSearch() throws {
        let provider = EmptyProvider(timeout: .seconds(60))
        let finder = SpeakerFinder(OutputRegistry([provider]), clock: MonotonicClock()) { _ in }
        try finder.start()
        finder.find(["kitchen"])
        provider.began.wait()
        let stopped = HostInstant.now
        finder.stop()
        #expect(HostInstant.now - stopped < .seconds(30))
    }
}
