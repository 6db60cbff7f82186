package import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import PTP

/// What sessions with a speaker have revealed.
package struct SpeakerExperience: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// It accepted an anchor and played.
    package static let played = SpeakerExperience(rawValue: 1)
    /// It sent timing requests.
    package static let probed = SpeakerExperience(rawValue: 2)
    /// It accepted a stream but was never synchronized with our clock.
    package static let clockless = SpeakerExperience(rawValue: 4)
    /// It required its own clock.
    package static let insisted = SpeakerExperience(rawValue: 8)
    /// It was left to its own clock and did not serve one.
    package static let declinedToServe = SpeakerExperience(rawValue: 16)
}

extension SpeakerExperience {
    /// Returns what a session revealed about a speaker's PTP behaviour.
    ///
    /// `insisted` requires that the speaker refused our starts: Sync messages are unauthenticated, and only count for
    /// one session.
    init(of peer: PTPPeer) {
        self = []
        if peer.readiness.probes > 0 { insert(.probed) }
        if peer.isFollowed, peer.hasRefusedOurTime, peer.master != nil { insert(.insisted) }
        if peer.declinedToServe, peer.master == nil { insert(.declinedToServe) }
    }

    /// The clock role it implies; nil if unknown.
    var clockRole: ClockRole? {
        if contains(.declinedToServe) { return .grandmaster }
        return contains(.insisted) ? .follower : nil
    }
}

/// Collects the experience of all sessions with one speaker. Any thread.
final class SpeakerObservations: Sendable {
    /// Why the speaker refused the attempts to connect since the last successful one.
    struct Refusals: Sendable {
        /// The error of the authentication; nil if there was none.
        var rejection: AirPlayError?
        /// The flags that showed another sender; empty if there was none.
        var busyFlags: StatusFlags = []
        /// Whether the last attempt failed after the authentication: the speaker does not accept the session or the
        /// stream of the route.
        var isStreamRefused = false
    }

    private let state = Lock(SpeakerExperience())
    private let refused = Lock(Refusals())
    private let latency = Lock(StatedLatency())
    /// Whether the route has played in an earlier process.
    private let isProven: Lock<Bool>

    init(isProven: Bool = false) { self.isProven = Lock(isProven) }

    /// The union of all experience so far.
    var learned: SpeakerExperience { state.withLock { $0 } }

    func record(_ experience: SpeakerExperience) { state.withLock { $0.formUnion(experience) } }

    var refusals: Refusals { refused.withLock { $0 } }

    /// What the speaker stated about its own delay, in the last session with a stream.
    var statedLatency: StatedLatency { latency.withLock { $0 } }

    func record(_ stated: StatedLatency) { latency.withLock { $0 = stated } }

    /// Records that a session has connected.
    func recordConnection() { refused.withLock { $0 = Refusals() } }

    /// Records that an authenticated session or its stream was refused, was not answered, or was closed. A route that
    /// has played fails so only for a moment, while the network or the speaker is away.
    func recordStreamRefusal(_ error: AirPlayError) {
        var codes: [AirPlayError.Code] = [.refused, .protocolViolation]
        if !learned.contains(.played), !isProven.withLock({ $0 }) { codes += [.timedOut, .lost, .ended] }
        refused.withLock { $0.isStreamRefused = codes.contains(error.code) }
    }

    /// Forgets the experience, which is that of another route.
    func forget() {
        state.withLock { $0 = [] }
        isProven.withLock { $0 = false }
    }

    /// Records that a session has failed to connect.
    ///
    /// - Parameter busy: The flags to which the session yielded.
    func recordFailure(_ error: AirPlayError, yieldingTo busy: StatusFlags) {
        refused.withLock { refused in
            refused.isStreamRefused = false
            if error.isMistrust { refused.rejection = error }
            if error.code == .busy { refused.busyFlags.formUnion(busy) }
        }
    }
}

extension RouteMemory {
    /// Returns the knowledge to store after a use of a route; nil if nothing changed.
    ///
    /// - Parameter isGrouped: Whether the speaker was in a pair or a home theatre.
    package static func after(
        _ experience: SpeakerExperience, on route: Route, isGrouped: Bool = false, sourceVersion: String?,
        wanted: Route? = nil, stated: StatedLatency = StatedLatency(), before: RouteMemory?
    ) -> RouteMemory? {
        // A request for the best route counts although it has not played. A software update invalidates earlier
        // knowledge.
        let isReset = wanted == nil && before?.wanted != nil
        var memory = before.flatMap { $0.sourceVersion == sourceVersion ? $0 : nil } ?? RouteMemory()
        if experience.contains(.played) {
            memory.route = route
            // A role that only followed from the group is decided again.
            if let role = experience.clockRole { (memory.role, memory.isRoleOfGroup) = (role, isGrouped) }
            memory.hasProbed = memory.hasProbed || experience.contains(.probed)
            memory.stated = stated
            memory.wanted = wanted
        } else if experience.contains(.clockless) {
            // The route stays: the cause may be a firewall, and the user is offered another one.
            if memory.route == route { memory.route = nil }
            // Without requests in this session, the next one treats the speaker as one that never sends any, instead of
            // refusing it.
            memory.hasProbed = experience.contains(.probed)
        } else if !isReset {
            return nil
        }
        if isReset { memory.wanted = nil }
        memory.sourceVersion = sourceVersion
        return memory == before ? nil : memory
    }
}
