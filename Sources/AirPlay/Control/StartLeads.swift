/// How early a start command must be sent for an exactly timed first frame.
struct StartLeads: Equatable, Sendable {
    /// From clock readiness to the start command; the speaker reads its stream meanwhile.
    let look: Duration
    /// From the start command to the first frame.
    let request: Duration
    /// Minimum lead for a speaker that joins an existing start; with less, its audio begins later.
    let join: Duration
    /// Minimum lead of a start whose own anchor has passed.
    let late: Duration

    /// Selects the times for a kind of speaker.
    ///
    /// - Parameters:
    ///   - isAsking: Whether the speaker measures our clock and schedules by it. Others behave like shairport-sync:
    ///     started less than 0.4 s ahead, it begins up to 9 ms late and takes seconds to correct that. With more, it is
    ///     within 0.3 ms (measured).
    ///   - outputLatency: How much earlier than it is perceived a sample is scheduled.
    init(isAsking: Bool, outputLatency: Duration = .zero) {
        look = isAsking ? .milliseconds(30) : .milliseconds(150)
        // A tenth of a second of margin: a pause and a flush may precede the start.
        request = outputLatency + (isAsking ? .milliseconds(250) : .milliseconds(500))
        join = outputLatency + (isAsking ? .milliseconds(150) : .milliseconds(400))
        late = outputLatency + .milliseconds(100)
    }

    /// Selects the times for a session's clock; nil: not connected yet.
    init(_ clock: SessionClock?) {
        self.init(isAsking: clock?.isAsked ?? false, outputLatency: clock?.outputLatency ?? .zero)
    }
}
