internal import MediaCore
internal import PTP
internal import Sockets

/// The clock that a session's speaker plays by: the one that it is served, and by whom, or its own.
enum SessionClock: Sendable {
    case ptp(PTPInstance, peer: IPv4Address)
    case ntp(TimingResponder)

    /// How far the speaker is with it, and from when on it is ready as far as that can be said.
    var state: (readiness: ClockReadiness, ready: HostInstant?) {
        switch self {
        case .ptp(let instance, let address):
            guard let peer = instance.peer(address) else { return (.cold, nil) }
            return peer.clock(at: instance.served.clock.now)
        case .ntp(let responder): return responder.state(at: responder.served.clock.now)
        }
    }

    /// The instant, on the machine's clock, at which the speaker last asked for the time or sent its own; nil before.
    var lastSign: HostInstant? {
        let (clock, signs): (any HostClock, [HostInstant?]) =
            switch self {
            case .ptp(let instance, let address):
                (
                    instance.served.clock,
                    instance.peer(address).map { [$0.readiness.lastProbe, $0.master?.lastTime] } ?? []
                )
            case .ntp(let responder): (responder.served.clock, [responder.lastQuestion])
            }
        return signs.compactMap { $0 }.max().map(clock.machineInstant(of:))
    }

    /// What moments given to the speaker are written on; nil while it insists on a clock that is not known yet, or that
    /// cannot be followed.
    var timeline: PTPTimeline? {
        switch self {
        case .ptp(let instance, let address): instance.timeline(for: address)
        case .ntp(let responder): responder.served.timeline
        }
    }

    /// The speaker insists on its own clock.
    var isFollowed: Bool {
        guard case .ptp(let instance, let address) = self else { return false }
        return instance.peer(address)?.isFollowed ?? false
    }

    /// Times come in the speaker's name that are not believed.
    var isDoubted: Bool {
        guard case .ptp(let instance, let address) = self else { return false }
        return instance.peer(address)?.isDoubted(at: instance.served.clock.now) ?? false
    }

    /// Whether the speaker measures our clock by asking, now or in an earlier session, or needs no clock of ours.
    var isAsked: Bool {
        guard case .ptp(let instance, let address) = self else { return true }
        guard let peer = instance.peer(address) else { return false }
        return peer.isFollowed || peer.readiness.probes > 0 || peer.readiness.isKnownToProbe
    }

    /// What the speaker is told to add to our time for the way it takes.
    var pathCorrection: Duration {
        guard case .ptp(let instance, let address) = self else { return .zero }
        return instance.peer(address)?.correctionInForce ?? .zero
    }
}
