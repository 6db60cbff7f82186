internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import PTP

/// State shared by the threads of one session: the sender, the clock, and the event stream. Any thread.
final class SessionShared: Sendable {
    let status = SessionStatus()
    private let stream = Lock<(any StreamWriter)?>(nil)
    private let clockState = Lock<SessionClock?>(nil)
    private let statedLatency = Lock<Duration?>(nil)
    private let group = Lock(false)

    var writer: (any StreamWriter)? { stream.withLock { $0 } }

    func setWriter(_ writer: (any StreamWriter)?) { stream.withLock { $0 = writer } }

    /// The clock of the speaker; nil until connected.
    var clock: SessionClock? { clockState.withLock { $0 } }

    func setClock(_ clock: SessionClock?) { clockState.withLock { $0 = clock } }

    /// The output latency that the speaker states; nil if it states none.
    var outputLatency: Duration? { statedLatency.withLock { $0 } }

    func setOutputLatency(_ latency: Duration?) { statedLatency.withLock { $0 = latency } }

    /// Whether the speaker has sent no response, no timing request and read no audio for a while. Any thread.
    var isUnresponsive: Bool {
        let (sign, read) = (clock?.lastSign, writer?.lastRead)
        return status.isUnresponsive(lastSign: sign.map { max($0, read ?? $0) } ?? read)
    }

    /// Whether the speaker has announced our group.
    var tellsGroup: Bool { group.withLock { $0 } }

    func markGrouped() { group.withLock { $0 = true } }
}
