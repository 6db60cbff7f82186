internal import MediaCore
internal import Sockets

/// The progress of a control connection, in ascending order.
enum Standing: Int, Comparable, Sendable {
    /// Not paired; the sender's identity is unknown.
    case stranger
    case paired
    /// SETUP has succeeded; the connection has had a session.
    case begun

    static func < (left: Standing, right: Standing) -> Bool { left.rawValue < right.rawValue }
}

/// Selects the connection to close when all slots are occupied and another one arrives.
enum ConnectionSlots {
    struct Slot {
        let source: NetworkAddress
        let standing: Standing
    }

    /// Returns the index of the slot to vacate, or nil if all have a session. `slots` is in order of arrival.
    ///
    /// An unpaired sender never interrupts a session. The address with the most connections loses one, so that a flood
    /// from one address displaces only its own connections. Unpaired connections go first, then the oldest.
    static func vacated(_ slots: [Slot]) -> Int? {
        let open = slots.indices.filter { slots[$0].standing < .begun }
        let counts = Dictionary(grouping: open) { slots[$0].source }.mapValues(\.count)
        guard let highest = counts.values.max() else { return nil }
        return open.filter { counts[slots[$0].source] == highest }
            .min { (slots[$0].standing, $0) < (slots[$1].standing, $1) }
    }
}

/// The timeouts of a control connection: one for a complete request, one between requests.
///
/// Bytes alone do not extend a timeout. Used by the connection's thread only.
struct RequestTimeouts: Sendable {
    /// Maximum time from the first to the last byte of a request without a session. Pairing takes a few hundred bytes.
    static let requestLimit: Duration = .seconds(10)
    /// Maximum time between two complete requests, as in shairport-sync. The largest body of a session (artwork) fits.
    static let idleLimit: Duration = .seconds(60)

    private var lastComplete: HostInstant
    private var began: HostInstant?

    init(now: HostInstant) { lastComplete = now }

    /// Updates the timeouts after bytes arrived.
    ///
    /// - Parameters:
    ///   - completed: Whether they completed a request.
    ///   - isPartial: Whether they end in an incomplete request.
    mutating func heard(completed: Bool, isPartial: Bool, at now: HostInstant) {
        if completed {
            lastComplete = now
            began = nil
        }
        began = isPartial ? began ?? now : nil
    }

    /// Restarts the timeouts after a delay caused by the speaker.
    mutating func restart(at now: HostInstant) {
        lastComplete = now
        if began != nil { began = now }
    }

    /// Returns the reason to close the connection, or nil if no timeout has expired.
    func verdict(_ standing: Standing, at now: HostInstant) -> String? {
        if standing < .begun, let began, now - began > Self.requestLimit { return "a request took too long" }
        return now - lastComplete > Self.idleLimit ? "the sender sent no data" : nil
    }
}
