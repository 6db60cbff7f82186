internal import MediaCore
internal import PTP

/// The clock that a session's speaker is served, and by whom.
enum SessionClock: Sendable {
    case ptp(PTPInstance, peer: IPv4Address)
    case ntp(TimingResponder)

    /// How far the speaker is with it, and from when on it is ready as far as that can be said.
    var state: (readiness: ClockReadiness, ready: HostInstant?) {
        let now = HostInstant.now
        switch self {
        case .ptp(let instance, let address):
            guard let peer = instance.peer(address) else { return (.cold, nil) }
            return (peer.readiness.state(at: now), peer.readiness.readyInstant)
        case .ntp(let responder): return responder.state(at: now)
        }
    }

    /// Whether the speaker measures our clock by asking, now or in an earlier session.
    var isAsked: Bool {
        guard case .ptp(let instance, let address) = self else { return true }
        guard let readiness = instance.peer(address)?.readiness else { return false }
        return readiness.probes > 0 || readiness.isKnownToProbe
    }

    /// What the speaker is told to add to our time for the way it takes.
    var pathCorrection: Duration {
        guard case .ptp(let instance, let address) = self else { return .zero }
        return instance.peer(address)?.correctionInForce ?? .zero
    }
}
