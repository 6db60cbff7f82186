package import AirPlayWire
package import MediaCore
internal import Synchronization

/// An event of a session with a speaker.
package enum SenderSessionEvent: Sendable {
    /// A command from the speaker: a button, or its remote control.
    case command(RemoteCommand)
    /// The session has failed; sent once. The owner calls `end`.
    case lost(AirPlayError)
}

/// The events of a session, its failure, and when it was answered last. Any thread.
package final class SessionStatus: Sendable {
    /// At most 256 unread events are kept, the newest ones. One consumer.
    package let events: AsyncStream<SenderSessionEvent>
    private let continuation: AsyncStream<SenderSessionEvent>.Continuation
    private let commandRate = Lock(CommandRateLimit())
    /// The first failure; set once.
    private let failure = Lock<AirPlayError?>(nil)
    /// When the last request was answered, in nanoseconds of the machine's clock.
    private let answered = Atomic<Int64>(HostInstant.now.nanoseconds)

    /// A speaker without any sign of life for this long is unresponsive.
    private static let answerTimeout: Duration = .seconds(5)

    package init() { (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256)) }

    /// Publishes a command of the speaker, unless it sends too many or the session has failed: the stream drops its
    /// oldest event first, which would be the failure.
    package func publish(_ command: RemoteCommand) {
        if !isLost, commandRate.withLock({ $0.admit(at: .now) }) { continuation.yield(.command(command)) }
    }

    /// Marks the session as failed. Only the first cause is reported.
    package func fail(_ error: AirPlayError) {
        let isFirst = failure.withLock { failure in
            defer { failure = failure ?? error }
            return failure == nil
        }
        if isFirst { continuation.yield(.lost(error)) }
    }

    /// Marks the session as ended by us, so that the closed connection is not reported.
    package func expectEnd() {
        failure.withLock { $0 = $0 ?? AirPlayError(.outOfOrder, "The session has ended.") }
    }

    /// Whether the session has failed or ended.
    package var isLost: Bool { failure.withLock { $0 != nil } }

    /// Records the instant of the last response, on the machine's clock.
    package func recordResponse(at instant: HostInstant) { answered.store(instant.nanoseconds, ordering: .relaxed) }

    /// Returns whether the speaker has sent no response and no other sign of life for `answerTimeout`.
    package func isUnresponsive(lastSign: HostInstant?) -> Bool {
        let answer = HostInstant(nanoseconds: answered.load(ordering: .relaxed))
        return .now - max(answer, lastSign ?? answer) >= Self.answerTimeout
    }

    /// Ends the events.
    package func finish() { continuation.finish() }
}
