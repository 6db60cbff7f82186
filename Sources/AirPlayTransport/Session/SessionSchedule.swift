package import MediaCore

/// When the periodic work of a session is due: keep-alive requests, address checks, and updates of the playback.
package struct SessionSchedule {
    /// Receivers end a session that is idle for longer.
    package static let keepAliveInterval: Duration = .seconds(2)
    private static let addressInterval: Duration = .milliseconds(250)
    private static let never = HostInstant(nanoseconds: .max)

    /// Whether keep-alive requests and address checks are due at all.
    package private(set) var isAlive = false
    private var keepAlive = never
    private var addressCheck = never
    private var attention = never

    package init() {}

    /// When the next work is due; the last possible instant if none is.
    package var next: HostInstant { min(isAlive ? min(keepAlive, addressCheck) : Self.never, attention) }

    /// Begins keep-alive requests and address checks after the session was set up.
    package mutating func begin(at now: HostInstant) {
        isAlive = true
        addressCheck = now
        deferKeepAlive(at: now)
    }

    /// Ends keep-alive requests and address checks.
    package mutating func end() { isAlive = false }

    /// Sets when the playback is updated next; nil: not scheduled.
    package mutating func setAttention(at instant: HostInstant?) { attention = instant ?? Self.never }

    package func isAttentionDue(at now: HostInstant) -> Bool { now >= attention }

    package func isKeepAliveDue(at now: HostInstant) -> Bool { isAlive && now >= keepAlive }

    /// Records a keep-alive request.
    package mutating func deferKeepAlive(at now: HostInstant) { keepAlive = now.advanced(by: Self.keepAliveInterval) }

    /// Returns whether an address check is due, and schedules the next one.
    package mutating func takesAddressCheck(at now: HostInstant) -> Bool {
        guard isAlive, now >= addressCheck else { return false }
        addressCheck = now.advanced(by: Self.addressInterval)
        return true
    }
}
