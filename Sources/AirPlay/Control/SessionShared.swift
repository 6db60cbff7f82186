internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Synchronization

/// What the threads of one session share: the way to its stream, and the way out for news.
final class SessionShared: Sendable {
    let news: AsyncStream<AirPlaySession.News>
    private let continuation: AsyncStream<AirPlaySession.News>.Continuation
    private let stream = Lock<(any StreamWriter)?>(nil)
    private let clockState = Lock<SessionClock?>(nil)
    private let group = Lock(false)
    private let failure = Lock<AirPlayError?>(nil)
    private let answered = Atomic<Int64>(HostInstant.now.nanoseconds)

    /// A speaker without any sign of life for so long does not answer.
    private static let answerTimeout: Duration = .seconds(5)

    init() {
        (news, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    var writer: (any StreamWriter)? { stream.withLock { $0 } }

    func setWriter(_ writer: (any StreamWriter)?) { stream.withLock { $0 = writer } }

    func tell(_ news: AirPlaySession.News) { continuation.yield(news) }

    /// The session cannot go on. Only the first cause is told.
    func fail(_ error: AirPlayError) {
        let isFirst = failure.withLock { failure in
            guard failure == nil else { return false }
            failure = error
            return true
        }
        if isFirst { continuation.yield(.lost(error)) }
    }

    /// Which of our clocks the speaker listens to; nil until connected.
    var clock: SessionClock? { clockState.withLock { $0 } }

    func setClock(_ clock: SessionClock?) { clockState.withLock { $0 = clock } }

    var isLost: Bool { failure.withLock { $0 != nil } }

    /// From now on an ended connection is what was asked for, and no news.
    func expectEnd() {
        failure.withLock { $0 = $0 ?? AirPlayError(.outOfOrder, "The session has been ended.") }
    }

    /// Notes the instant of the last answer to a request, on the machine's clock.
    func noteAnswer(at instant: HostInstant) { answered.store(instant.nanoseconds, ordering: .relaxed) }

    /// Returns true when the speaker has not answered a request, asked for the time or read sound for `answerTimeout`. Any thread.
    var isUnresponsive: Bool {
        let signs = [HostInstant(nanoseconds: answered.load(ordering: .relaxed)), clock?.lastSign, writer?.lastRead]
        return signs.compactMap { $0 }.max().map { .now - $0 >= Self.answerTimeout } ?? false
    }

    /// Whether the speaker has announced our group.
    var tellsGroup: Bool { group.withLock { $0 } }

    func noteGroup() { group.withLock { $0 = true } }

    func finish() { continuation.finish() }
}
