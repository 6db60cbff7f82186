package import MediaCore

/// How far a speaker is with our clock.
package enum ClockReadiness: String, Hashable, Sendable, BitwiseCopyable {
    /// Nothing was heard from it, and it has not been given the time a silent one needs.
    case cold
    /// It measures our clock and has not done so for long enough.
    case probing
    /// It can place sound.
    case ready
    /// It measured our clock in this session and has stopped.
    case stalled
}

/// Judges from a speaker's questions, or from its silence, whether it knows our time.
///
/// Some speakers ask (Delay_Req, Pdelay_Req) and are judged by their streak; others never ask, listen only, and are
/// taken as ready a fixed time after they were told of their stream.
package struct PeerReadiness: Hashable, Sendable, BitwiseCopyable {
    /// What kind of servo sits in the speaker.
    package enum Manner: Hashable, Sendable, BitwiseCopyable {
        /// Locked 2.3 s after its first question (measured by others on Sonos and WiiM).
        case thirdParty
        /// Locked a quarter of a second after its third question (measured by others on HomePods).
        case apple
    }

    /// A speaker that stays silent is started this long after its stream's SETUP. nqptp accepts our clock from then
    /// on and needs 0.4 s.
    package static let silentStart: Duration = .seconds(1)
    static let thirdPartyLock: Duration = .milliseconds(2300)
    static let appleLock: Duration = .milliseconds(250)
    /// A gap this long ends a streak.
    static let streakGap: Duration = .seconds(3)
    /// Silence this long, from a speaker that has asked before, is a stall.
    static let stallGap: Duration = .seconds(5)

    package var manner: Manner
    /// It asked in an earlier session, so its silence means something: it is not started by time alone.
    package var isKnownToProbe: Bool
    package private(set) var streamSetUp: HostInstant?
    /// Questions since the session began.
    package private(set) var probes = 0
    package private(set) var lastProbe: HostInstant?
    private var streakStart: HostInstant?
    private var thirdProbe: HostInstant?
    private var streakCount = 0

    package init(manner: Manner = .thirdParty, isKnownToProbe: Bool = false) {
        self.manner = manner
        self.isKnownToProbe = isKnownToProbe
    }

    /// The speaker has answered its stream's SETUP.
    package mutating func noteStreamSetUp(at instant: HostInstant) { streamSetUp = instant }

    /// The speaker has asked for our time.
    package mutating func noteProbe(at instant: HostInstant) {
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

    /// From when on it is ready, should nothing change; nil while that cannot be said.
    package var readyInstant: HostInstant? {
        if let streakStart {
            switch manner {
            case .thirdParty: return streakStart.advanced(by: Self.thirdPartyLock)
            case .apple: return thirdProbe?.advanced(by: Self.appleLock)
            }
        }
        guard !isKnownToProbe, let streamSetUp else { return nil }
        return streamSetUp.advanced(by: Self.silentStart)
    }

    /// The state at a moment. A speaker whose first question comes after it was started by time alone is `probing`
    /// until its streak is long enough; sound that is playing need not stop for that.
    package func state(at now: HostInstant) -> ClockReadiness {
        if let lastProbe, now - lastProbe >= Self.stallGap { return .stalled }
        if let readyInstant, now >= readyInstant { return .ready }
        return probes > 0 ? .probing : .cold
    }
}
