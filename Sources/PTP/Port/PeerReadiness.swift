package import MediaCore

/// The progress of a receiver's synchronization to the served time.
package enum ClockReadiness: String, Hashable, Sendable, BitwiseCopyable {
    /// No delay requests were received, and `silentStart` has not passed.
    case cold = "cold"
    /// The receiver sends delay requests, but has not done so for long enough.
    case probing = "probing"
    /// The receiver can schedule audio.
    case ready = "ready"
    /// The receiver sent delay requests in this session and has stopped.
    case stalled = "stalled"
}

/// Infers from a receiver's delay requests whether it is synchronized to the served time.
///
/// Some receivers send Delay_Req or Pdelay_Req; they are ready after an uninterrupted series of requests. Others only
/// listen; they count as ready a fixed time after their stream's SETUP.
package struct PeerReadiness: Hashable, Sendable, BitwiseCopyable {
    /// The kind of clock servo in the receiver, which determines its lock time.
    package enum Manner: Hashable, Sendable, BitwiseCopyable {
        /// Locked 2.3 s after its first request (measured by others on Sonos and WiiM).
        case thirdParty
        /// Locked a quarter of a second after its third request (measured by others on HomePods).
        case apple
    }

    /// Time from the stream's SETUP to readiness of a receiver without delay requests. nqptp accepts the served time
    /// from the SETUP on and needs 0.4 s.
    static let silentStart: Duration = .seconds(1)
    static let thirdPartyLock: Duration = .milliseconds(2300)
    static let appleLock: Duration = .milliseconds(250)
    /// A gap of this length ends a series of requests.
    static let streakGap: Duration = .seconds(3)
    /// A receiver that has sent requests and then none for this long is stalled.
    static let stallGap: Duration = .seconds(5)

    var manner: Manner
    /// The receiver sent delay requests in an earlier session, so elapsed time alone does not make it ready.
    package var isKnownToProbe: Bool
    private(set) var streamSetUp: HostInstant?
    /// The number of delay requests in this session.
    package private(set) var probes = 0
    package private(set) var lastProbe: HostInstant?
    private var streakStart: HostInstant?
    private var thirdProbe: HostInstant?
    private var streakCount = 0

    package init(manner: Manner = .thirdParty, isKnownToProbe: Bool = false) {
        self.manner = manner
        self.isKnownToProbe = isKnownToProbe
    }

    /// Records that the receiver has answered its stream's SETUP.
    mutating func recordStreamSetUp(at instant: HostInstant) { streamSetUp = instant }

    /// Records a delay request.
    mutating func recordDelayRequest(at instant: HostInstant) {
        if let lastProbe, instant - lastProbe < Self.streakGap {
            streakCount &+= 1
        } else {
            streakStart = instant
            streakCount = 1
            thirdProbe = nil
        }
        if streakCount == 3 { thirdProbe = instant }
        lastProbe = instant
        probes &+= 1
    }

    /// The instant of readiness if requests continue; nil if it cannot be predicted.
    var readyInstant: HostInstant? {
        if let streakStart {
            switch manner {
            case .thirdParty: return streakStart.advanced(by: Self.thirdPartyLock)
            case .apple: return thirdProbe?.advanced(by: Self.appleLock)
            }
        }
        guard !isKnownToProbe, let streamSetUp else { return nil }
        return streamSetUp.advanced(by: Self.silentStart)
    }

    /// Returns the state at an instant. A receiver that became ready by elapsed time and then sends requests is
    /// `probing` until their series is long enough. Playback need not stop for that.
    func state(at now: HostInstant) -> ClockReadiness {
        if let lastProbe, now - lastProbe >= Self.stallGap { return .stalled }
        if let readyInstant, now >= readyInstant { return .ready }
        return probes > 0 ? .probing : .cold
    }
}
