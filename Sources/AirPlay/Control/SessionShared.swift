internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Synchronization

/// State shared by the threads of one session: the sender, the clock, and the event stream. Any thread.
final class SessionShared: Sendable {
    let events: AsyncStream<AirPlaySession.Event>
    private let continuation: AsyncStream<AirPlaySession.Event>.Continuation
    private let stream = Lock<(any StreamWriter)?>(nil)
    private let clockState = Lock<SessionClock?>(nil)
    private let statedLatency = Lock<Duration?>(nil)
    private let group = Lock(false)
    private let commandRate = Lock(CommandRateLimit())
    /// The first failure; set once.
    private let failure = Lock<AirPlayError?>(nil)
    /// When the last request was answered, in nanoseconds of the machine's clock.
    private let answered = Atomic<Int64>(HostInstant.now.nanoseconds)

    /// A speaker without any sign of life for this long is unresponsive.
    private static let answerTimeout: Duration = .seconds(5)

    init() {
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    var writer: (any StreamWriter)? { stream.withLock { $0 } }

    func setWriter(_ writer: (any StreamWriter)?) { stream.withLock { $0 = writer } }

    /// Publishes a command of the speaker, unless it sends too many or the session has failed: the stream drops its
    /// oldest event first, which would be the failure.
    func publish(_ command: RemoteCommand) {
        if !isLost, commandRate.withLock({ $0.admit(at: .now) }) { continuation.yield(.command(command)) }
    }

    /// Marks the session as failed. Only the first cause is reported.
    func fail(_ error: AirPlayError) {
        let isFirst = failure.withLock { failure in
            guard failure == nil else { return false }
            failure = error
            return true
        }
        if isFirst { continuation.yield(.lost(error)) }
    }

    /// The clock of the speaker; nil until connected.
    var clock: SessionClock? { clockState.withLock { $0 } }

    func setClock(_ clock: SessionClock?) { clockState.withLock { $0 = clock } }

    /// The output latency that the speaker states; nil if it states none.
    var outputLatency: Duration? { statedLatency.withLock { $0 } }

    func noteOutputLatency(_ latency: Duration?) { statedLatency.withLock { $0 = latency } }

    var isLost: Bool { failure.withLock { $0 != nil } }

    /// Marks the session as ended by us, so that the closed connection is not reported.
    func expectEnd() {
        failure.withLock { $0 = $0 ?? AirPlayError(.outOfOrder, "The session has ended.") }
    }

    /// Records the instant of the last response, on the machine's clock.
    func noteAnswer(at instant: HostInstant) { answered.store(instant.nanoseconds, ordering: .relaxed) }

    /// Whether the speaker has sent no response, no timing request and read no audio for `answerTimeout`. Any thread.
    var isUnresponsive: Bool {
        let signs = [HostInstant(nanoseconds: answered.load(ordering: .relaxed)), clock?.lastSign, writer?.lastRead]
        return signs.compactMap { $0 }.max().map { .now - $0 >= Self.answerTimeout } ?? false
    }

    /// Whether the speaker has announced our group.
    var tellsGroup: Bool { group.withLock { $0 } }

    func noteGroup() { group.withLock { $0 = true } }

    func finish() { continuation.finish() }
}
