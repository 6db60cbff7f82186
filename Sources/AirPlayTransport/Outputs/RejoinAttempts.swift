package import MediaCore

/// The schedule of the attempts to reconnect to a lost speaker: the address, the time, and when to leave it to another
/// sender.
package struct RejoinAttempts {
    /// Intervals of the attempts. Each uses a new connection and our own timers, since TCP's grow past a minute during
    /// an outage.
    private static let eager: (pause: Duration, span: Duration) = (.milliseconds(500), .seconds(120))
    private static let patient: [Duration] = [.seconds(5), .seconds(10), .seconds(20), .seconds(40)]
    /// The time in which a busy speaker is not taken over, because it may still be ending our previous session.
    private static let farewell: Duration = .seconds(1)
    /// The time for which a busy speaker is retried.
    ///
    /// `announced`: its announcements show that another sender owns it. `unknown`: the owner is unknown and may be our
    /// own session, which shairport-sync and others end 60 s after our last message.
    private static let busyTimeout: (announced: Duration, unknown: Duration) = (.seconds(3), .seconds(130))

    /// Whether the speaker ended the session: it belongs to another sender then.
    private let isEvicted: Bool
    private let lostAddress: SpeakerAddress
    /// Whether the speaker announced our group while we played to it.
    private let tellsGroup: Bool
    private let began: HostInstant
    private var tries = 0
    private var busySince: HostInstant?
    private var pauses = patient[...]

    package init(isEvicted: Bool, from lostAddress: SpeakerAddress, tellsGroup: Bool, at began: HostInstant) {
        self.isEvicted = isEvicted
        self.lostAddress = lostAddress
        self.tellsGroup = tellsGroup
        self.began = began
    }

    /// Returns the next address to try, in rotation, and whether a busy speaker there is left to its sender.
    ///
    /// - Parameter announcesOurs: Whether the speaker announces our group now. An unresponsive speaker that
    ///   still does has not noticed the end of our session.
    package mutating func next(
        of addresses: [SpeakerAddress], announcesOurs: Bool, at now: HostInstant
    ) -> (address: SpeakerAddress, isYielding: Bool) {
        let address = addresses[tries % addresses.count]
        tries += 1
        let isOurs = announcesOurs && !isEvicted
        let isLeftAlone = address == lostAddress && busySince.map { now - $0 < Self.farewell } ?? true
        return (address, !isOurs || isLeftAlone)
    }

    /// Records that the speaker is busy. Returns true if it is left to the sender that took it over.
    package mutating func recordBusy(announcesOurs: Bool, at now: HostInstant) -> Bool {
        let since = busySince ?? now
        busySince = since
        if isEvicted { return true }
        let timeout = tellsGroup && !announcesOurs ? Self.busyTimeout.announced : Self.busyTimeout.unknown
        return now - since >= timeout
    }

    /// Returns the instant of the next attempt.
    ///
    /// - Parameter attempt: The start of the failed one.
    package mutating func nextAttempt(after attempt: HostInstant) -> HostInstant {
        let isEager = attempt - began < Self.eager.span
        return attempt.advanced(by: isEager ? Self.eager.pause : pauses.popFirst() ?? Self.patient.last!)
    }
}

/// Counts sessions that the speaker ended soon after they began.
package struct EvictionCounter {
    /// This number of consecutive sessions, each shorter than `span`, shows that another sender competes for the
    /// speaker.
    private static let limit: (span: Duration, count: Int) = (.seconds(5), 6)

    private var began = HostInstant(nanoseconds: 0)
    private var count = 0

    package init() {}

    /// Whether another sender competes for the speaker.
    package var isUnwelcome: Bool { count >= Self.limit.count }

    /// Records the start of a session.
    package mutating func begin(at now: HostInstant) { began = now }

    /// Records the loss of the session.
    package mutating func end(at now: HostInstant) { count = now - began < Self.limit.span ? count + 1 : 0 }
}
