internal import AirPlayTransport
internal import MediaCore
internal import PTP
internal import Sockets

/// The clock that synchronizes a session's speaker: ours by PTP or NTP, or the speaker's own.
enum SessionClock: Sendable {
    case ptp(PTPInstance, peer: NetworkAddress)
    /// NTP names no instant of perception: the receiver's own output latency follows the instants sent to it.
    case ntp(TimingResponder, outputLatency: Duration)

    /// The synchronization state, and the instant from which the speaker is ready, if known.
    var state: (readiness: ClockReadiness, ready: HostInstant?) {
        switch self {
        case .ptp(let instance, let address):
            guard let peer = instance.peer(address) else { return (.cold, nil) }
            return peer.clock(at: instance.served.clock.now)
        case .ntp(let responder, _): return responder.state(at: responder.served.clock.now)
        }
    }

    /// When the speaker last sent a timing request or its own time, on the machine's clock; nil before the first.
    var lastSign: HostInstant? {
        switch self {
        case .ptp(let instance, let address):
            guard let peer = instance.peer(address) else { return nil }
            let (probe, time) = (peer.readiness.lastProbe, peer.master?.lastTime)
            let last = probe.map { max($0, time ?? $0) } ?? time
            return last.map(instance.served.clock.machineInstant(of:))
        case .ntp(let responder, _): return responder.lastQuestion.map(responder.served.clock.machineInstant(of:))
        }
    }

    /// Maps instants of perception to those sent to the speaker; nil while its own clock is unknown or cannot be
    /// followed.
    var timeline: PTPTimeline? { outputTimeline?.earlier(by: outputLatency) }

    /// Maps instants at which the speaker outputs its samples to those sent to it; nil as above.
    var outputTimeline: PTPTimeline? {
        switch self {
        case .ptp(let instance, let address): instance.timeline(for: address)
        case .ntp(let responder, _): responder.served.timeline
        }
    }

    /// How much earlier than it is perceived a sample is scheduled; zero if the speaker does that itself.
    var outputLatency: Duration {
        switch self {
        case .ptp: .zero
        case .ntp(_, let latency): latency
        }
    }

    /// The time that this computer serves.
    var served: ServedTimeline {
        switch self {
        case .ptp(let instance, _): instance.served
        case .ntp(let responder, _): responder.served
        }
    }

    /// Whether the speaker's own clock is followed.
    var isFollowed: Bool {
        guard case .ptp(let instance, let address) = self else { return false }
        return instance.peer(address)?.isFollowed ?? false
    }

    /// Whether time messages in the speaker's name are rejected because they do not match its known clock.
    var isDoubted: Bool {
        guard case .ptp(let instance, let address) = self else { return false }
        return instance.peer(address)?.isDoubted(at: instance.served.clock.now) ?? false
    }

    /// Whether the speaker can never start: it requires its own clock while another speaker's clock is followed.
    var isTurnedAway: Bool {
        guard case .ptp(let instance, let address) = self else { return false }
        return instance.isTurnedAway(address)
    }

    /// Leaves the speaker to its own clock because it accepts no start on ours, unless that was tried before.
    func yield() { if case .ptp(let instance, let address) = self { _ = instance.yield(to: address) } }

    /// Whether the speaker measures our clock by requests, now or in an earlier session, or does not use our clock.
    var isAsked: Bool {
        guard case .ptp(let instance, let address) = self else { return true }
        guard let peer = instance.peer(address) else { return false }
        return peer.isFollowed || peer.readiness.probes > 0 || peer.readiness.isKnownToProbe
    }

    /// The path delay sent to the speaker, which adds it to our time.
    var pathCorrection: Duration {
        guard case .ptp(let instance, let address) = self else { return .zero }
        return instance.peer(address)?.correctionInForce ?? .zero
    }
}
